// The edges of a graph that go from one task to another.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "rill/graph/order.hpp"
#include "rill/graph/subgraph.hpp"

#if RILL_RUNTIME
namespace rill::detail {

/// The edges between tasks of a subgraph: for each value and task that it is sent to, one.
class task_edges {
 public:
  /// The port of a control edge, which has no value.
  static constexpr std::uint32_t control = UINT32_MAX;
  static constexpr std::uint32_t none = UINT32_MAX;

  struct edge {
    endpoint of;                    ///< what is sent
    std::uint32_t from, to;         ///< the tasks
    std::uint32_t number;           ///< in the step, whose bodies have edges too
    std::int32_t stage = 0;         ///< in which it is sent
    std::uint32_t received = none;  ///< the place of the Receive in its share
  };

  /// `count`: the number of the step's edges so far.
  explicit task_edges(std::uint32_t& count) : count_(count) {}

  void add(endpoint e, std::uint32_t from, std::uint32_t to) {
    auto const [at, fresh] = index_.try_emplace({e.node, from, to, e.port}, edges_.size());
    if (!fresh) return;
    edges_.push_back({.of = e, .from = from, .to = to, .number = count_++});
    sent_[{e.node, from}].push_back(at->second);
  }
  void add_control(std::uint32_t node, std::uint32_t from, std::uint32_t to) {
    add({node, control_port(node, from, to)}, from, to);
  }
  edge& find(endpoint e, std::uint32_t from, std::uint32_t to) { return edges_[index_.at({e.node, from, to, e.port})]; }
  edge& find_control(std::uint32_t node, std::uint32_t from, std::uint32_t to) {
    return find({node, control_port(node, from, to)}, from, to);
  }
  /// Calls `f` with each edge on which a task sends a value of a node.
  template <class F> void for_each_sent(std::uint32_t node, std::uint32_t task, F const& f) {
    if (auto const at = sent_.find({node, task}); at != sent_.end())
      for (auto k : at->second) f(edges_[k]);
  }
  auto begin() { return edges_.begin(); }
  auto end() { return edges_.end(); }

 private:
  struct edge_key {
    std::uint32_t node, from, to, port;
    friend constexpr auto operator<=>(edge_key, edge_key) = default;
  };

  // The port by which a task learns that a node has run: of a value that is sent there anyway, or `control`.
  std::uint32_t control_port(std::uint32_t node, std::uint32_t from, std::uint32_t to) const {
    auto const at = index_.lower_bound({node, from, to, 0});
    bool const known = at != index_.end() && at->first.node == node && at->first.from == from && at->first.to == to;
    return known ? at->first.port : control;
  }

  std::uint32_t& count_;
  std::vector<edge> edges_;
  std::map<edge_key, std::size_t> index_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::size_t>> sent_;  // by node and task
};

/// Counts the edges between tasks on the longest path to each node. Passes join nodes of one number alone, and whatever
/// else is put behind something else has that order, so that nothing waits for itself through other tasks. Each node on
/// several tasks has a number of its own: one thread runs a body, and all tasks come to such nodes in one order.
/// `crosses(from, to)`: whether a value goes from one task to another on the way from node to node.
template <class Spans, class Crosses>
std::vector<std::uint32_t> count_hops(subgraph const& whole, step_order const& order, Spans const& spans,
                                      Crosses const& crosses) {
  std::vector<std::uint32_t> hops(whole.size());
  std::uint32_t last = 0;
  for (auto i : order.nodes) {
    for (auto e : whole[i].inputs)  // also of what may be a variable and is not
      hops[i] = std::max(hops[i], hops[e.node] + crosses(e.node, i));
    if (spans(i)) last = hops[i] = std::max(hops[i], last + 1);
    for (auto next : order.after[i]) hops[next] = std::max(hops[next], hops[i] + crosses(i, next));
  }
  return hops;
}

}  // namespace rill::detail
#endif
