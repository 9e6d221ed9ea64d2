// Finds the deferred nodes of a step or body: nodes that depend on extents which are known only when other nodes have
// run, and nodes that wait for these.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/graph/order.hpp"
#include "rill/run/plan/open_rows.hpp"

namespace rill {

/// Returns for each node whether it is deferred; empty: none is. A node is deferred if it reads extents that are not
/// known yet, or may wait at a queue or the like for a deferred node, by way of other steps too. Deferred nodes run
/// when all others have run, so the nodes that produce their extents are not deferred.
std::vector<bool> deferred_nodes(subgraph const& sub);

#if RILL_RUNTIME
namespace detail {

/// Whether the extents of a node's input k are known only when the node that makes it has run.
inline bool reads_open(subgraph const& sub, std::uint32_t i, std::size_t k) {
  return has_deferred_shape(sub, sub[i].inputs[k]) && !takes_open_rows(sub, sub[i], k);
}

/// Finds the deferred nodes of a subgraph.
class deferred_search {
 public:
  deferred_search(subgraph const& sub, std::vector<std::uint32_t> readers)
      : subgraph_(sub), readers_(std::move(readers)), after_(order(sub).after), deferred_(sub.size()) {
    for (auto r : readers_) reach(r, after_, deferred_);
  }

  std::vector<bool> run() && {
    if (std::any_of(subgraph_.nodes.begin(), subgraph_.nodes.end(), [](node const& n) { return may_wait(n); }))
      defer_waits();
    return std::move(deferred_);
  }

 private:
  using marks = std::vector<bool>;
  using edges = std::vector<std::vector<std::uint32_t>>;

  // Marks a node and all nodes that edges lead to from it.
  static void reach(std::uint32_t first, edges const& along, marks& reached) {
    std::vector<std::uint32_t> todo;
    auto const mark = [&](std::uint32_t i) {
      if (!reached[i]) reached[i] = true, todo.push_back(i);
    };
    mark(first);
    while (!todo.empty()) {
      auto const i = todo.back();
      todo.pop_back();
      for (auto n : along[i]) mark(n);
    }
  }

  // Defers the nodes that wait for a deferred node. Updates stay behind the waits that they were recorded after,
  // because a wait may end the step (order.hpp).
  void defer_waits() {
    meetings const met(subgraph_);
    auto const at_once = needed_at_once(met);
    auto const hidden = find_hidden_waits(subgraph_, met, after_, meeting_scope::elsewhere);
    for (bool more = true; more;) {
      more = false;
      auto const served = served_by(deferred_, hidden);
      bool waited = false;
      for (std::uint32_t i = 0; i < subgraph_.size(); ++i) {
        if (!deferred_[i] && !at_once[i] && (served[i] || (waited && updates(i))))
          reach(i, after_, deferred_), more = true;
        waited = waited || (deferred_[i] && may_wait(subgraph_[i]));
      }
    }
  }
  // Marks the nodes that may wait for one of `some` at a queue or the like.
  static marks served_by(marks const& some, hidden_waits const& hidden) {
    marks served(std::max(some.size(), hidden.after.size()));
    for (std::uint32_t i = 0; i < some.size() && !hidden.empty(); ++i)
      if (some[i])
        for (auto todo = hidden.after[i]; !todo.empty();) {
          auto const n = todo.back();
          todo.pop_back();
          if (served[n]) continue;
          served[n] = true;
          if (n >= some.size()) todo.insert(todo.end(), hidden.after[n].begin(), hidden.after[n].end());
        }
    return served;
  }
  bool updates(std::uint32_t i) const {
    for (std::size_t k = 0; k < subgraph_[i].inputs.size(); ++k)
      if (updates_reference(subgraph_[i], k)) return true;
    return false;
  }

  // Marks the nodes that must not be deferred: the nodes that produce deferred extents, their inputs, and the nodes for
  // which these wait. If some extents come without a wait, only their nodes: the others may wait for nodes that can be
  // planned then.
  marks needed_at_once(meetings const& met) const {
    edges before(subgraph_.size());
    for (std::uint32_t i = 0; i < subgraph_.size(); ++i)
      for (auto n : after_[i]) before[n].push_back(i);
    marks waits(subgraph_.size()), all(subgraph_.size()), at_once(subgraph_.size());
    for (std::uint32_t i = 0; i < subgraph_.size(); ++i)
      if (may_wait(subgraph_[i])) reach(i, after_, waits);
    bool some = false;
    for (auto s : producers_of_extents()) {
      reach(s, before, all);
      if (!waits[s]) reach(s, before, at_once), some = true;
    }
    if (some) return at_once;
    auto const hidden = find_hidden_waits(subgraph_, met, after_, meeting_scope::step);
    edges givers(hidden.after.size());
    for (std::uint32_t i = 0; i < hidden.after.size(); ++i)
      for (auto n : hidden.after[i]) givers[n].push_back(i);
    hidden_waits const serving{std::move(givers)};
    for (bool more = true; more;) {
      more = false;
      auto const wanted = served_by(all, serving);
      for (std::uint32_t i = 0; i < subgraph_.size(); ++i)
        if (wanted[i] && !all[i] && !deferred_[i]) reach(i, before, all), more = true;
    }
    return all;
  }
  // Returns the nodes that produce extents which others read, and are not deferred themselves.
  std::vector<std::uint32_t> producers_of_extents() const {
    std::vector<std::uint32_t> all;
    for (auto r : readers_)
      for (std::size_t k = 0; k < subgraph_[r].inputs.size(); ++k)
        if (auto const e = subgraph_[r].inputs[k]; reads_open(subgraph_, r, k) && !deferred_[e.node])
          all.push_back(e.node);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  subgraph const& subgraph_;
  std::vector<std::uint32_t> readers_;  // the nodes that read open extents
  edges after_;
  marks deferred_;
};

}  // namespace detail

RILL_INLINE std::vector<bool> deferred_nodes(subgraph const& sub) {
  std::vector<std::uint32_t> readers;
  for (std::uint32_t i = 0; i < sub.size(); ++i)
    for (std::size_t k = 0; k < sub[i].inputs.size(); ++k)
      if (detail::reads_open(sub, i, k) && (readers.empty() || readers.back() != i)) readers.push_back(i);
  if (readers.empty()) return {};
  return detail::deferred_search(sub, std::move(readers)).run();
}
#endif

}  // namespace rill
