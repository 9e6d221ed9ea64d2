// Cuts the nodes that a step needs out of a graph: backwards from the fetches, up to the feeds (white paper §4.2).
#pragma once
#include <algorithm>
#include <unordered_map>
#include <vector>

#include "rill/device/step.hpp"
#include "rill/graph/subgraph.hpp"

namespace rill {

/// Returns the nodes of `g` that compute `fetched` and run `targets`, with `fed` as its inputs, in their order. Throws
/// if `step`, which may be null, is cancelled or late.
subgraph prune(graph const& g, std::vector<endpoint> const& fed, std::vector<endpoint> const& fetched,
               std::vector<std::uint32_t> const& targets, step_context const* step = nullptr);

#if RILL_RUNTIME
namespace detail {

/// Finds the feed that stands for an output. A feed also stands for the copies of its node that derivatives compute
/// again.
class feed_finder {
 public:
  feed_finder(graph const& g, std::vector<endpoint> const& fed) : g_(g) {
    for (std::uint32_t i = 0; i < fed.size(); ++i) places_.try_emplace(key(fed[i]), i);
  }
  /// Returns the number of the feed that stands for `e`; -1: none.
  std::ptrdiff_t of(endpoint e) const {
    if (places_.empty()) return -1;
    for (;;) {
      if (auto const at = places_.find(key(e)); at != places_.end()) return at->second;
      auto const original = g_[e.node].copy_of;
      if (original < 0) return -1;
      e.node = static_cast<std::uint32_t>(original);
    }
  }

  /// Returns the number of the feed from which a control edge of node `from` comes; -1: the node must run. As in
  /// TensorFlow, a placeholder that is fed need not run.
  std::ptrdiff_t of_control(std::uint32_t from) const {
    return g_[from].op->kind == op_kind::placeholder ? of({from, 0}) : -1;
  }

 private:
  static std::uint64_t key(endpoint e) { return std::uint64_t{e.node} << 32 | e.port; }
  graph const& g_;
  std::unordered_map<std::uint64_t, std::uint32_t> places_;
};

inline std::vector<std::uint32_t> needed(graph const& g, feed_finder const& fed, std::vector<endpoint> const& fetched,
                                         std::vector<std::uint32_t> const& targets,
                                         step_context const* step = nullptr) {
  std::vector<bool> seen(g.size());
  std::vector<std::uint32_t> todo, found;
  auto const is_fed = [&](endpoint e) { return fed.of(e) >= 0; };
  auto const visit = [&](std::uint32_t n) {
    if (seen[n]) return;
    seen[n] = true;
    todo.push_back(n);
  };
  for (auto e : fetched)
    if (!is_fed(e)) visit(e.node);
  for (auto t : targets) visit(t);
  auto const follow = [&] {
    while (!todo.empty()) {
      auto const i = todo.back();
      todo.pop_back();
      found.push_back(i);
      if (found.size() % checked_each == 0) check(step);
      auto const& n = g[i];
      for (std::size_t k = 0; k < n.inputs.size(); ++k)
        if (means_variable(n, k) || !is_fed(n.inputs[k])) visit(n.inputs[k].node);
      for (auto c : n.controls)
        if (fed.of_control(c) < 0) visit(c);
    }
  };
  follow();
  // A node that passes a value to the next iteration of a needed loop is needed too; that may need further nodes.
  if (auto const back = g.back_edges(); !back.empty())
    for (bool more = true; more; follow()) {
      more = false;
      for (auto i : back)
        if (!seen[i] && seen[g[i].inputs[1].node]) visit(i), more = true;
    }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace detail

RILL_INLINE subgraph prune(graph const& g, std::vector<endpoint> const& fed, std::vector<endpoint> const& fetched,
                           std::vector<std::uint32_t> const& targets, step_context const* step) {
  subgraph sub;
  detail::feed_finder const places(g, fed);
  auto const wanted = detail::needed(g, places, fetched, targets, step);
  sub.nodes.reserve(fed.size() + wanted.size());
  for (auto e : fed) {
    node n;
    n.op = &fed_op;
    n.name = g[e.node].name;
    n.outputs = {g[e.node].outputs.at(e.port)};
    sub.inputs.push_back(static_cast<std::uint32_t>(sub.nodes.size()));
    sub.nodes.push_back(std::move(n));
    sub.origin.push_back(e.node);
  }
  std::vector<std::uint32_t> place(g.size());
  auto const mapped = [&](endpoint e) {
    auto const at = places.of(e);
    return at >= 0 ? endpoint{static_cast<std::uint32_t>(at), 0} : endpoint{place[e.node], e.port};
  };
  for (auto i : wanted) {
    if (i % checked_each == 0) check(step);
    node n = g[i];
    n.copy_of = -1;  // only feeds need it, and they are in their places now
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      n.inputs[k] = means_variable(n, k) ? endpoint{place[n.inputs[k].node], n.inputs[k].port} : mapped(n.inputs[k]);
    }
    for (auto& c : n.controls) {
      auto const at = places.of_control(c);
      c = at >= 0 ? static_cast<std::uint32_t>(at) : place[c];
    }
    place[i] = static_cast<std::uint32_t>(sub.nodes.size());
    sub.nodes.push_back(std::move(n));
    sub.origin.push_back(i);
  }
  for (auto e : fetched) sub.outputs.push_back(mapped(e));
  for (auto t : targets) sub.targets.push_back(place[t]);
  return sub;
}
#endif

}  // namespace rill
