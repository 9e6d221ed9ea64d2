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

/// The nodes of a subgraph in the order in which one thread runs them, and the edges of that order.
struct step_order {
  std::vector<std::uint32_t> nodes;
  std::vector<std::vector<std::uint32_t>> after;  ///< for each node, the nodes that must wait for it
  /// Nodes with one number would wait for each other, with hidden waits counted, if updates waited for all users of the
  /// snapshot. Empty: there are no hidden waits.
  std::vector<std::uint32_t> cycle_of = {};

  /// Whether an update may wait for a node that uses the snapshot.
  bool may_wait_for(std::uint32_t user, std::uint32_t update) const {
    return cycle_of.empty() || cycle_of[user] != cycle_of[update];
  }
};

/// Orders a subgraph. Throws error(failed_precondition) if two updates of one variable have no order and may not race,
/// or if a node that reads a variable in place before an update waits for that update at a queue or the like. Throws if
/// `step`, which may be null, is cancelled or late.
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
    if (!elsewhere_.empty()) add_wishes();
  }

  step_order run() {
    step_order result;
    result.nodes = sequence(edges_.all(), served_, key_, step_);
    if (result.nodes.size() != subgraph_.size()) refuse_cycle(result.nodes);
    result.after = std::move(edges_).take_edges();
    result.cycle_of = std::move(cycle_of_);
    return result;
  }

 private:
  void find_hidden_waits() {
    meetings const met(subgraph_);
    if (met.nodes().size() < 2) return;
    here_ = rill::find_hidden_waits(subgraph_, met, edges_.all(), meeting_scope::step);
    elsewhere_ = rill::find_hidden_waits(subgraph_, met, edges_.all(), meeting_scope::elsewhere);
    served_ = here_.gifts(met);
  }

  // Checks that no node that reads a variable as it was before an update waits for a node after the update.
  void check_readers() const {
    auto const cycle = rill::cycle_numbers({&edges_.all(), &here_.after});
    for (auto const& [reader, update, variable] : readings_)
      if (cycle[reader] == cycle[update])
        throw error(code::failed_precondition,
                    "it reads the variable '" + subgraph_[variable].name + "' as it is before '" +
                        subgraph_[update].name +
                        "' updates it, and waits, at a queue, mutex or the like, for what comes after that update: put "
                        "a control edge from the update to it, or let it read the variable before the wait",
                    subgraph_[reader].name);
  }
  // Adds the wished edges that close no cycle.
  void add_wishes() {
    node_edges wishes(subgraph_.size());
    for (auto const& w : wishes_) wishes[w.before].push_back(w.after);
    cycle_of_ = rill::cycle_numbers({&edges_.all(), &elsewhere_.after, &wishes});
    for (auto const& w : wishes_) {
      if (cycle_of_[w.before] == cycle_of_[w.after]) continue;
      if (w.updates_in_place) edges_.add(w.before, w.after);
      else key_[w.after] = std::max(key_[w.after], key_behind(w.before));
    }
  }

  // Sets a node's key. A node that waits comes after all that does not depend on it, so that an error is found whether
  // the wait ends or not. Updates stay behind the waits that they were recorded after, because a wait may end the step.
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

  // Orders the uses of a variable. Updates that may not race divide the uses into levels: the level of a node is the
  // number of such updates that it comes after. Racing updates are between two of them.
  void order_variable(uses& u) {
    check(step_);
    auto const by_position = [&](auto a, auto b) { return edges_.position(a) < edges_.position(b); };
    std::sort(u.updates.begin(), u.updates.end(), by_position);
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
      put_behind_readers(update, readers[at], u.variable);
      put_behind_users(update, of_snapshot[at], key);
      if (subgraph_[update].may_race) continue;
      if (!of_snapshot[at].empty()) key = std::max(key, key_behind(of_snapshot[at][0]));
      ++at;
    }
  }
  // An update comes after the nodes of its level that read the variable in place.
  void put_behind_readers(std::uint32_t update, std::vector<std::uint32_t> const& readers, std::uint32_t variable) {
    edges_.add(readers, update);
    if (here_.empty()) return;
    for (auto r : readers)
      if (r != update) readings_.push_back({r, update, variable});
  }
  // An update comes after the users of the snapshot, where that is possible: then it need not copy the variable.
  // `users` are those of its level, the last first, and `key` is behind all users of earlier levels.
  void put_behind_users(std::uint32_t update, std::vector<std::uint32_t> const& users, std::uint32_t key) {
    bool const races = subgraph_[update].may_race;
    auto const comes_before = [&](auto c) { return c != update && (!races || !edges_.reaches(update, c)); };
    if (!elsewhere_.empty()) {
      for (auto c : users)
        if (comes_before(c)) wishes_.push_back({c, update, false});
      return;
    }
    auto const last = std::find_if(users.begin(), users.end(), comes_before);
    if (last != users.end()) key_[update] = std::max(key_[update], key_behind(*last));
    key_[update] = std::max(key_[update], key);
  }
  // Returns the nodes that read a variable's value; where there are hidden waits, also through nodes that alias it.
  std::vector<std::uint32_t> users_of_snapshot(std::uint32_t variable) const {
    auto users = edges_.after(variable);
    if (elsewhere_.empty()) return users;
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

  // Checks that the sorted updates have an order: each that may not race comes after all updates since the one before
  // that may not race, and before the racing ones behind it.
  void check_updates(uses const& u) {
    auto const& all = u.updates;
    std::size_t first = 0;  // the first of the updates that the next one must come after
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

  // Sets levels from the last update to the first: a node that comes after a later one comes after the earlier ones.
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

  // Puts nodes that update a value in place behind all other readers of the value, where that is possible. One writer
  // is enough for each value.
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
    if (std::any_of(others.begin(), others.end(), [&](auto i) { return subgraph_[i].hops > subgraph_[writer].hops; }))
      return;  // another task may wait for the writer, and the reader for that task
    if (!elsewhere_.empty())
      for (auto other : others) wishes_.push_back({other, writer, true});
    else if (edges_.add(others, writer)) readers_[over.node][over.port].written = true;
  }

  [[noreturn]] void refuse_cycle(std::vector<std::uint32_t> const& ordered) const {
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
  std::vector<bool> late_;  // whether each node depends on a node that waits
  std::uint32_t far_;       // added to the keys of nodes that wait: larger than all other keys
  std::vector<uses> variables_;
  std::vector<std::uint32_t> place_;         // of each node among the variables, counted from 1
  std::vector<std::uint32_t> levels_, met_;  // of the current variable: the nodes' levels, and the nodes that have one
  // The readers of an output, the nodes that alias it, and whether a writer comes after all other readers.
  struct reading {
    std::vector<std::uint32_t> all, names;
    bool written = false;
  };
  std::vector<std::vector<reading>> readers_;
  // Hidden waits within the step, and those by way of other steps; and the nodes that each node serves with an element.
  hidden_waits here_, elsewhere_;
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
  std::vector<std::uint32_t> cycle_of_;
};

}  // namespace detail

RILL_INLINE step_order order(subgraph const& sub, step_context const* step) { return detail::orderer(sub, step).run(); }
#endif

}  // namespace rill
