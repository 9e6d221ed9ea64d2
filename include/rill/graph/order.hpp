// The order of a step: each node after what it needs, reads of a variable before its updates
// (docs/architecture/state.md).
#pragma once
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "rill/device/step.hpp"
#include "rill/graph/growing_order.hpp"
#include "rill/graph/rendezvous.hpp"
#include "rill/graph/subgraph.hpp"

namespace rill {

/// The nodes of a subgraph in the order in which one thread runs them, and the edges that the order rests on.
struct step_order {
  std::vector<std::uint32_t> nodes;
  std::vector<std::vector<std::uint32_t>> after;  ///< for each node, those that must wait for it
  /// Nodes of one number would wait for each other, by way of queues and the like, if updates waited for all that use
  /// the snapshot; empty: none would.
  std::vector<std::uint32_t> circles = {};

  /// Whether an update may wait for one that uses the snapshot.
  bool may_wait_for(std::uint32_t user, std::uint32_t update) const {
    return circles.empty() || circles[user] != circles[update];
  }
};

/// Orders a subgraph. error(failed_precondition) for two updates of one variable that nothing orders, unless they may
/// race, and for one that takes a variable by reference, is not after an update of it and, by way of queues and the
/// like, waits for that update. Ends with `step`, if it is for one.
step_order order(subgraph const& sub, step_context const* step = nullptr);

#if RILL_RUNTIME
namespace detail {

class orderer {
 public:
  orderer(subgraph const& sub, step_context const* step)
      : subgraph_(sub),
        step_(step),
        edges_(sub.size()),
        key_(sub.size()),
        late_(sub.size()),
        far_(static_cast<std::uint32_t>(2 * sub.size())) {
    bool waited = false, updates_in_place = false;
    for (std::uint32_t i = 0; i < sub.size(); ++i) {
      if (i % checked_each == 0) check(step);
      set_key(i, waited);
      updates_in_place = updates_in_place || sub[i].op->updates_in_place != 0;
      for (std::size_t k = 0; k < sub[i].inputs.size(); ++k) {
        auto const from = sub[i].inputs[k].node;
        if (takes_reference(sub[i], k)) (updates_reference(sub[i], k) ? updates(from) : readers(from)).push_back(i);
        else edges_.put(from, i);
      }
      for (auto c : sub[i].controls) edges_.put(c, i);
    }
    if (!edges_.number_nodes()) return;  // which `run` refuses
    find_hidden_waits();
    for (auto& v : variables_)
      if (!v.updates.empty()) order_variable(v);
    if (!here_.empty()) check_readers();
    if (updates_in_place) order_overwriters();
    if (!anywhere_.empty()) order_where_no_circle_closes();
  }

  step_order run() {
    step_order result;
    result.nodes = sequence(edges_.all(), served_, key_, step_);
    if (result.nodes.size() != subgraph_.size()) cycle(result.nodes);
    result.after = std::move(edges_).take_edges();
    result.circles = std::move(circles_);
    return result;
  }

 private:
  void find_hidden_waits() {
    meetings const met(subgraph_);
    if (met.nodes().size() < 2) return;
    here_ = rill::find_hidden_waits(subgraph_, met, edges_.all(), meeting_scope::step);
    anywhere_ = rill::find_hidden_waits(subgraph_, met, edges_.all(), meeting_scope::elsewhere);
    served_ = here_.gifts(met);
  }

  // A node that reads a variable as it was before an update must not wait for what comes after the update.
  void check_readers() const {
    auto const circle = rill::circles({&edges_.all(), &here_.after});
    for (auto const& [reader, update, variable] : readings_)
      if (circle[reader] == circle[update])
        throw error(code::failed_precondition,
                    "it reads the variable '" + subgraph_[variable].name + "' as it is before '" +
                        subgraph_[update].name +
                        "' updates it, and waits, at a queue, mutex or the like, for what comes after that update: put "
                        "a control edge from the update to it, or let it read the variable before the wait",
                    subgraph_[reader].name);
  }
  // What is better done before something else, unless it would wait for itself then.
  void order_where_no_circle_closes() {
    node_edges wishes(subgraph_.size());
    for (auto const& w : wishes_) wishes[w.before].push_back(w.after);
    circles_ = rill::circles({&edges_.all(), &anywhere_.after, &wishes});
    for (auto const& w : wishes_) {
      if (circles_[w.before] == circles_[w.after]) continue;
      if (w.updates_in_place) edges_.add(w.before, w.after);
      else key_[w.after] = std::max(key_[w.after], key_behind(w.before));
    }
  }

  // A node that waits comes when nothing else can: what does not depend on it has run, or has failed, before. Updates
  // stay behind the waits that they were recorded after, for a wait may end the step.
  void set_key(std::uint32_t i, bool& waited) {
    auto const& n = subgraph_[i];
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
    if (place_.empty()) place_.resize(subgraph_.size());
    if (place_[variable] == 0) {
      variables_.push_back({variable, {}, {}});
      place_[variable] = static_cast<std::uint32_t>(variables_.size());
    }
    return variables_[place_[variable] - 1];
  }
  std::vector<std::uint32_t>& readers(std::uint32_t v) { return of(v).readers; }
  std::vector<std::uint32_t>& updates(std::uint32_t v) { return of(v).updates; }

  // Updates that may race stand in groups between those that may not; the level of a node is how many of the latter it
  // comes after. What comes after one of them comes after all that are before it.
  void order_variable(uses& u) {
    check(step_);
    std::sort(u.updates.begin(), u.updates.end(),
              [&](auto a, auto b) { return edges_.position(a) < edges_.position(b); });
    check_updates(u);
    auto const users = users_of_snapshot(u.variable);
    u.readers.push_back(u.variable);
    std::vector<std::uint32_t> firm;
    for (auto update : u.updates)
      if (!subgraph_[update].may_race) firm.push_back(update);
    find_levels(firm, u.readers, users);
    std::vector<std::vector<std::uint32_t>> readers(firm.size() + 1), of_snapshot(firm.size() + 1);
    for (auto r : u.readers) readers[level(r)].push_back(r);
    for (auto c : users) of_snapshot[level(c)].push_back(c);
    for (auto& list : of_snapshot)
      std::sort(list.begin(), list.end(), [&](auto a, auto b) { return key_behind(a) > key_behind(b); });
    std::size_t at = 0;
    std::uint32_t key = 0;
    for (auto update : u.updates) {
      edges_.add(readers[at], update);
      if (!here_.empty())
        for (auto r : readers[at])
          if (r != update) readings_.push_back({r, update, u.variable});
      // Not before those that use the snapshot, where that is possible: then the update need not copy.
      auto const& list = of_snapshot[at];
      bool const races = subgraph_[update].may_race;
      auto const comes_before = [&](auto c) { return c != update && (!races || !edges_.reaches(update, c)); };
      if (!anywhere_.empty()) {
        for (auto c : list)
          if (comes_before(c)) wishes_.push_back({c, update, false});
      } else {
        auto const last = std::find_if(list.begin(), list.end(), comes_before);
        if (last != list.end()) key_[update] = std::max(key_[update], key_behind(*last));
        key_[update] = std::max(key_[update], key);
      }
      if (races) continue;
      if (!list.empty()) key = std::max(key, key_behind(list[0]));
      ++at;
    }
  }
  // Those that come after a variable; where it matters, also by another name that it has.
  std::vector<std::uint32_t> users_of_snapshot(std::uint32_t variable) const {
    auto users = edges_.after(variable);
    if (anywhere_.empty()) return users;
    for (std::size_t at = 0; at < users.size(); ++at) {
      auto const& n = subgraph_[users[at]];
      if (!n.op->aliases_input || n.inputs.empty()) continue;
      auto const& more = edges_.after(users[at]);
      users.insert(users.end(), more.begin(), more.end());
    }
    std::sort(users.begin(), users.end());
    users.erase(std::unique(users.begin(), users.end()), users.end());
    return users;
  }
  std::uint32_t key_behind(std::uint32_t user) const { return 2 * user + 1 + (late_[user] ? far_ : 0); }

  // Sorted updates have an order if each that may not race comes after what is between it and the one before, and so
  // on.
  void check_updates(uses const& u) {
    auto const& all = u.updates;
    std::size_t first = 0;  // of the group that the next one must come after
    for (std::size_t b = 0; b < all.size(); ++b) {
      if (subgraph_[all[b]].may_race) continue;
      edges_.for_each_before(all[b], edges_.position(all[first]), [](auto) { return true; });
      for (std::size_t a = first; a < b; ++a)
        if (!edges_.was_met(all[a])) unordered(u, all[a], all[b]);
      first = b;
      auto end = b + 1;
      while (end < all.size() && subgraph_[all[end]].may_race) ++end;
      if (end == b + 1) continue;
      edges_.for_each_after(all[b], edges_.position(all[end - 1]), [](auto) { return true; });
      for (auto c = b + 1; c < end; ++c)
        if (!edges_.was_met(all[c])) unordered(u, all[b], all[c]);
      first = b + 1;
    }
  }
  [[noreturn]] void unordered(uses const& u, std::uint32_t a, std::uint32_t b) const {
    auto const &first = subgraph_[std::min(a, b)].name, &second = subgraph_[std::max(a, b)].name;
    throw error(code::failed_precondition,
                "two updates of variable '" + subgraph_[u.variable].name + "' in one step, '" + first + "' and '" +
                    second + "', have no order: put a control edge between them",
                second);
  }

  // From the last update to the first: what a later one has met comes after the earlier ones as well.
  void find_levels(std::vector<std::uint32_t> const& updates, std::vector<std::uint32_t> const& readers,
                   std::vector<std::uint32_t> const& users) {
    levels_.resize(subgraph_.size());
    for (auto n : met_) levels_[n] = 0;
    met_.clear();
    std::uint32_t last = 0;
    for (auto r : readers) last = std::max(last, edges_.position(r));
    for (auto c : users) last = std::max(last, edges_.position(c));
    for (auto level = static_cast<std::uint32_t>(updates.size()); level > 0; --level)
      edges_.for_each_after(updates[level - 1], last, [&](std::uint32_t n) {
        if (levels_[n] != 0) return false;
        levels_[n] = level;
        met_.push_back(n);
        return true;
      });
  }
  std::uint32_t level(std::uint32_t node) const { return levels_[node]; }

  // What writes over a value where it lies comes after all others that read it, where that is possible. That gains
  // nothing where another is the last already.
  void order_overwriters() {
    readers_.resize(subgraph_.size());
    for (std::uint32_t i = 0; i < subgraph_.size(); ++i)
      for (std::size_t k = 0; k < subgraph_[i].inputs.size(); ++k) {
        auto const e = subgraph_[i].inputs[k];
        bool const through = subgraph_[i].op->aliases_input && k == 0;
        if (reads_extents_alone(subgraph_[i], k)) continue;
        auto& ports = readers_[e.node];
        if (ports.size() <= e.port) ports.resize(e.port + 1);
        (through ? ports[e.port].names : ports[e.port].all).push_back(i);
      }
    for (std::uint32_t i = 0; i < subgraph_.size(); ++i)
      for (std::size_t k = 0; k < subgraph_[i].inputs.size() && subgraph_[i].op->updates_in_place >> k != 0; ++k)
        if (check(step_); subgraph_[i].op->updates_in_place >> k & 1) order_overwriter(i, subgraph_[i].inputs[k]);
  }
  void order_overwriter(std::uint32_t writer, endpoint over) {
    std::vector<std::uint32_t> others;
    std::vector<endpoint> names{over};
    for (std::size_t at = 0; at < names.size(); ++at) {
      auto const& ports = readers_[names[at].node];
      if (ports.size() <= names[at].port) continue;
      auto const& mine = ports[names[at].port];
      if (mine.written) return;
      std::copy_if(mine.all.begin(), mine.all.end(), std::back_inserter(others), [&](auto i) { return i != writer; });
      for (auto i : mine.names) names.push_back({i, 0});
    }
    if (!anywhere_.empty())
      for (auto other : others) wishes_.push_back({other, writer, true});
    else if (edges_.add(others, writer)) readers_[over.node][over.port].written = true;
  }

  [[noreturn]] void cycle(std::vector<std::uint32_t> const& ordered) const {
    std::vector<bool> placed(subgraph_.size());
    for (auto i : ordered) placed[i] = true;
    for (std::uint32_t i = 0; i < subgraph_.size(); ++i)
      if (!placed[i])
        throw error(code::invalid_argument, "the node waits for itself: the graph has a cycle through it",
                    subgraph_[i].name);
    throw error(code::internal, "a subgraph could not be ordered");
  }

  subgraph const& subgraph_;
  step_context const* step_;
  growing_order edges_;
  std::vector<std::uint32_t> key_;
  std::vector<bool> late_;  // depends on a node that waits
  std::uint32_t far_;       // beyond the keys of all others
  std::vector<uses> variables_;
  std::vector<std::uint32_t> place_;         // of each node among the variables, counted from 1
  std::vector<std::uint32_t> levels_, met_;  // of the variable that is ordered now; those that have one
  // Who reads an output, and which nodes are other names for it. Whether one comes after all the others and writes it.
  struct reading {
    std::vector<std::uint32_t> all, names;
    bool written = false;
  };
  std::vector<std::vector<reading>> readers_;
  // By way of queues and the like: in the step itself, or of what anybody may hand on; and whom each node serves.
  hidden_waits here_, anywhere_;
  node_edges served_;
  struct before_update {
    std::uint32_t reader, update, variable;
  };
  std::vector<before_update> readings_;
  struct wish {
    std::uint32_t before, after;
    bool updates_in_place;
  };
  std::vector<wish> wishes_;
  std::vector<std::uint32_t> circles_;
};

}  // namespace detail

RILL_INLINE step_order order(subgraph const& sub, step_context const* step) { return detail::orderer(sub, step).run(); }
#endif

}  // namespace rill
