// The order of a step: each node after what it needs, reads of a variable before its updates (architecture.md,
// *State lives in containers*).
#pragma once
#include <algorithm>
#include <cstdint>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "rill/graph/subgraph.hpp"

namespace rill {

/// The nodes of a part in the order in which one thread runs them, and the edges that the order rests on.
struct step_order {
  std::vector<std::uint32_t> nodes;
  std::vector<std::vector<std::uint32_t>> after;  ///< for each node, those that must wait for it
};

/// Orders a part. Two updates of one variable that nothing orders: error(failed_precondition), unless they may race.
step_order order(subgraph const& part);

#if RILL_RUNTIME
namespace detail {

class orderer {
 public:
  explicit orderer(subgraph const& part)
      : part_(part),
        after_(part.size()),
        key_(part.size()),
        late_(part.size()),
        far_(static_cast<std::uint32_t>(2 * part.size())) {
    bool waited = false;
    for (std::uint32_t i = 0; i < part.size(); ++i) {
      set_key(i, waited);
      for (std::size_t k = 0; k < part[i].inputs.size(); ++k) {
        auto const from = part[i].inputs[k].node;
        if (takes_reference(part[i], k)) (updates_reference(part[i], k) ? updates(from) : readers(from)).push_back(i);
        else after_[from].push_back(i);
      }
      for (auto c : part[i].controls) after_[c].push_back(i);
    }
    for (auto const& v : variables_) order_variable(v);
    for (std::uint32_t i = 0; i < part.size(); ++i)
      for (std::size_t k = 0; k < part[i].inputs.size() && part[i].op->overwrites >> k != 0; ++k)
        if (part[i].op->overwrites >> k & 1) order_overwriter(i, part[i].inputs[k]);
  }

  step_order run() {
    step_order result;
    std::vector<std::uint32_t> waits(part_.size());
    for (auto const& list : after_)
      for (auto n : list) ++waits[n];
    using entry = std::pair<std::uint32_t, std::uint32_t>;  // key, node
    std::priority_queue<entry, std::vector<entry>, std::greater<>> ready;
    for (std::uint32_t i = 0; i < part_.size(); ++i)
      if (waits[i] == 0) ready.emplace(key_[i], i);
    while (!ready.empty()) {
      auto const i = ready.top().second;
      ready.pop();
      result.nodes.push_back(i);
      for (auto n : after_[i])
        if (--waits[n] == 0) ready.emplace(key_[n], n);
    }
    if (result.nodes.size() != part_.size()) cycle(waits);
    result.after = std::move(after_);
    return result;
  }

 private:
  // A node that waits comes when nothing else can: what does not depend on it has run, or has failed, before. Updates
  // stay behind the waits that they were recorded after, for a wait may end the step.
  void set_key(std::uint32_t i, bool& waited) {
    auto const& n = part_[i];
    bool const waits = may_wait(n);
    bool updates = false;
    late_[i] = waits || std::any_of(n.controls.begin(), n.controls.end(), [&](auto c) { return late_[c]; });
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      late_[i] = late_[i] || late_[n.inputs[k].node];
      updates = updates || updates_reference(n, k);
    }
    key_[i] = 2 * i + (waits || (waited && updates) ? far_ : 0);
    waited = waited || waits;
  }

  struct uses {
    std::uint32_t variable;
    std::vector<std::uint32_t> readers, updates;
  };
  uses& of(std::uint32_t variable) {
    if (place_.empty()) place_.resize(part_.size());
    if (place_[variable] == 0) {
      variables_.push_back({variable, {}, {}});
      place_[variable] = static_cast<std::uint32_t>(variables_.size());
    }
    return variables_[place_[variable] - 1];
  }
  std::vector<std::uint32_t>& readers(std::uint32_t v) { return of(v).readers; }
  std::vector<std::uint32_t>& updates(std::uint32_t v) { return of(v).updates; }

  std::vector<bool> descendants(std::uint32_t from) const {
    std::vector<bool> seen(part_.size());
    std::vector<std::uint32_t> todo{from};
    while (!todo.empty()) {
      auto const i = todo.back();
      todo.pop_back();
      for (auto n : after_[i])
        if (!seen[n]) seen[n] = true, todo.push_back(n);
    }
    return seen;
  }

  void order_variable(uses const& u) {
    std::vector<std::vector<bool>> below;
    for (auto update : u.updates) below.push_back(descendants(update));
    for (std::size_t a = 0; a < u.updates.size(); ++a)
      for (std::size_t b = a + 1; b < u.updates.size(); ++b)
        if (!below[a][u.updates[b]] && !below[b][u.updates[a]] &&
            !(part_[u.updates[a]].may_race && part_[u.updates[b]].may_race))
          throw error(code::failed_precondition,
                      "two updates of variable '" + part_[u.variable].name + "' in one step, '" +
                          part_[u.updates[a]].name + "' and '" + part_[u.updates[b]].name +
                          "', have no order: put a control edge between them",
                      part_[u.updates[b]].name);
    for (std::size_t a = 0; a < u.updates.size(); ++a) {
      auto const update = u.updates[a];
      if (!below[a][u.variable]) after_[u.variable].push_back(update);
      for (auto r : u.readers)
        if (!below[a][r]) after_[r].push_back(update);
      // Not before those that use the snapshot, where that is possible: then the update need not copy.
      for (auto consumer : std::vector(after_[u.variable]))
        if (consumer != update && !below[a][consumer])
          key_[update] = std::max(key_[update], 2 * consumer + 1 + (late_[consumer] ? far_ : 0));
    }
  }

  // What writes over a value where it lies comes after all others that read it, where that is possible.
  void order_overwriter(std::uint32_t writer, endpoint over) {
    auto const below = descendants(writer);
    for (std::uint32_t i = 0; i < part_.size(); ++i)
      for (std::size_t k = 0; k < part_[i].inputs.size(); ++k) {
        if (i == writer || part_[i].inputs[k] != over || reads_extents_alone(part_[i], k)) continue;
        if (part_[i].op->passes_through && k == 0) order_overwriter(writer, {i, 0});
        else if (!below[i]) after_[i].push_back(writer);
      }
  }

  [[noreturn]] void cycle(std::vector<std::uint32_t> const& waits) const {
    for (std::uint32_t i = 0; i < part_.size(); ++i)
      if (waits[i] != 0)
        throw error(code::invalid_argument, "the node waits for itself: the graph has a cycle through it",
                    part_[i].name);
    throw error(code::internal, "a part could not be ordered");
  }

  subgraph const& part_;
  std::vector<std::vector<std::uint32_t>> after_;
  std::vector<std::uint32_t> key_;
  std::vector<bool> late_;  // depends on a node that waits
  std::uint32_t far_;       // beyond the keys of all others
  std::vector<uses> variables_;
  std::vector<std::uint32_t> place_;  // of each node among the variables, counted from 1
};

}  // namespace detail

RILL_INLINE step_order order(subgraph const& part) { return detail::orderer(part).run(); }
#endif

}  // namespace rill
