// The base of passes: replaces values, and removes nodes that are no longer needed.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "rill/graph/rendezvous.hpp"
#include "rill/graph/subgraph.hpp"
#include "rill/pass/options.hpp"

namespace rill {

/// Returns whether the device of a placed node has a kernel for the operation `fused`, with which a pass is to replace
/// the node. An empty function: it has.
using join_predicate = std::function<bool(node const& placed, op_def const& fused)>;

/// A subgraph while it is rewritten. Control edges from a replaced node come from its replacement, and nodes that run
/// beside the replaced node run beside its replacement. Nodes that change state are kept even if no node reads them.
class rewriter {
 public:
  rewriter(rill::subgraph& sub, std::string_view pass, pass_report* report)
      : subgraph_(sub), pass_(pass), report_(report), forward_(sub.size()) {}

  rill::subgraph& subgraph() { return subgraph_; }

  /// Returns the value that has replaced `e`, or `e`.
  endpoint resolve(endpoint e) const {
    while (e.node < forward_.size() && e.port < forward_[e.node].size() && forward_[e.node][e.port].node != none)
      e = forward_[e.node][e.port];
    return e;
  }
  /// Replaces the inputs of a node by the values that have replaced them.
  void refresh(std::uint32_t i) {
    for (auto& e : subgraph_[i].inputs) e = resolve(e);
  }
  /// Makes the readers of `from` read `to`, and reports it under the name of the rule.
  void replace(endpoint from, endpoint to, std::string_view rule) {
    if (forward_.size() < subgraph_.size()) forward_.resize(subgraph_.size());
    auto& ports = forward_[from.node];
    if (ports.size() <= from.port) ports.resize(from.port + 1, {none, 0});
    ports[from.port] = to;
    log(rule, from.node);
  }
  /// Reports that a rule changed a node.
  void log(std::string_view rule, std::uint32_t node) {
    changed_ = true;
    if (report_) report_->lines.push_back(std::string(pass_) + ": " + std::string(rule) + ": " + subgraph_[node].name);
  }
  /// Allows the removal of a node that changes state, because another subgraph has it, if no node needs it.
  void drop(std::uint32_t i) {
    dropped_.resize(subgraph_.size());
    dropped_[i] = true;
  }
  /// Adds a node and returns its number. It may read any node; `finish` puts the nodes in order.
  std::uint32_t add(node n, std::uint32_t origin) {
    subgraph_.nodes.push_back(std::move(n));
    subgraph_.origin.push_back(origin);
    return static_cast<std::uint32_t>(subgraph_.size() - 1);
  }
  /// Applies the replacements, removes nodes that are not needed, and puts nodes after their inputs. Returns whether
  /// the subgraph changed.
  bool finish() {
    if (!changed_) return false;
    for (std::uint32_t i = 0; i < subgraph_.size(); ++i) refresh(i);
    for (auto& e : subgraph_.outputs) e = resolve(e);
    for (auto& n : subgraph_.nodes)
      for (auto& c : n.controls) c = resolve({c, 0}).node;
    for (auto& t : subgraph_.targets) t = resolve({t, 0}).node;
    rename_neighbours();
    compact();
    return true;
  }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;

  bool replaced(std::uint32_t i) const {
    return i < forward_.size() &&
           std::any_of(forward_[i].begin(), forward_[i].end(), [](endpoint e) { return e.node != none; });
  }

  void rename_neighbours() {
    auto const has_neighbour = [](node const& n) { return !n.colocated.empty(); };
    if (std::none_of(subgraph_.nodes.begin(), subgraph_.nodes.end(), has_neighbour)) return;
    std::map<std::string, std::string> names;  // of replaced nodes and of what replaces them
    for (std::uint32_t i = 0; i < subgraph_.size(); ++i)
      if (replaced(i)) names.emplace(subgraph_[i].name, subgraph_[resolve({i, 0}).node].name);
    for (auto& n : subgraph_.nodes)
      if (auto const at = names.find(n.colocated); at != names.end()) n.colocated = at->second;
  }

  // The nodes that are needed whether or not a node reads them: inputs first, then the others in order.
  std::vector<std::uint32_t> roots() {
    auto const& sub = subgraph_;
    std::vector<std::uint32_t> others(sub.targets);
    for (auto e : sub.outputs) others.push_back(e.node);
    dropped_.resize(sub.size());
    for (std::uint32_t i = 0; i < sub.size(); ++i)  // a node may read only the extents of an update's result
      if (sub[i].op->effect == effect::writes && !dropped_[i] && !replaced(i)) others.push_back(i);
    std::sort(others.begin(), others.end());
    auto all = sub.inputs;
    all.insert(all.end(), others.begin(), others.end());
    return all;
  }
  // Sorts the needed nodes topologically, depth first from the roots. Roots and edges are visited in order, so that the
  // result is deterministic.
  std::vector<std::uint32_t> needed_nodes() {
    std::vector<std::uint32_t> order;
    std::vector<std::pair<std::uint32_t, std::size_t>> stack;  // open nodes, and the next edge of each
    std::vector<bool> seen(subgraph_.size()), done(subgraph_.size());
    auto const open = [&](std::uint32_t i) {
      seen[i] = true;
      stack.emplace_back(i, 0);
    };
    for (auto root : roots()) {
      if (!seen[root]) open(root);
      while (!stack.empty()) {
        auto& [i, k] = stack.back();
        auto const& n = subgraph_[i];
        if (k == n.inputs.size() + n.controls.size()) {
          done[i] = true;
          order.push_back(i);
          stack.pop_back();
          continue;
        }
        auto const next = k < n.inputs.size() ? n.inputs[k].node : n.controls[k - n.inputs.size()];
        ++k;
        if (!seen[next]) open(next);
        else if (!done[next]) throw error(code::internal, "a pass made a cycle", subgraph_[next].name);
      }
    }
    return order;
  }
  // Removes the nodes that are not needed, and puts each behind the nodes that it needs.
  void compact() {
    auto const order = needed_nodes();
    std::vector<std::uint32_t> place(subgraph_.size(), none);
    for (std::uint32_t at = 0; at < order.size(); ++at) place[order[at]] = at;
    rill::subgraph made;
    auto const room = order.size() + order.size() / 8;  // the next pass may add nodes; growing moves all of them
    made.nodes.reserve(room);
    made.origin.reserve(room);
    for (auto i : order) {
      made.nodes.push_back(std::move(subgraph_.nodes[i]));
      auto& n = made.nodes.back();
      for (auto& e : n.inputs) e.node = place[e.node];
      for (auto& c : n.controls) c = place[c];
      made.origin.push_back(subgraph_.origin[i]);
    }
    for (auto i : subgraph_.inputs) made.inputs.push_back(place[i]);
    for (auto e : subgraph_.outputs) made.outputs.push_back({place[e.node], e.port});
    for (auto t : subgraph_.targets) made.targets.push_back(place[t]);
    made.axes = std::move(subgraph_.axes);
    subgraph_ = std::move(made);
  }

  rill::subgraph& subgraph_;
  std::string_view pass_;
  pass_report* report_;
  std::vector<std::vector<endpoint>> forward_;
  std::vector<bool> dropped_;
  bool changed_ = false;
};

/// Returns the nodes that read each node.
inline std::vector<std::vector<std::uint32_t>> consumers(subgraph const& sub) {
  std::vector<std::vector<std::uint32_t>> all(sub.size());
  for (std::uint32_t i = 0; i < sub.size(); ++i)
    for (auto e : sub[i].inputs) all[e.node].push_back(i);
  return all;
}

/// The nodes that may wait for each node: by an edge, or at a queue or the like, by way of other steps too. A pass that
/// joins nodes must not close a cycle of these.
struct waiters {
  node_edges of;                  ///< by node, or hub (see hidden_waits)
  std::vector<bool> served = {};  ///< nodes that may wait without an edge, and their successors; empty: none

  explicit waiters(subgraph const& sub) : of(edges_of(sub)) {
    meetings const met(sub);
    if (met.nodes().size() < 2) return;
    auto const hidden = find_hidden_waits(sub, met, of, meeting_scope::elsewhere);
    if (hidden.empty()) return;
    std::vector<std::uint32_t> todo;
    of.resize(hidden.after.size());
    served.resize(of.size());
    auto const mark = [&](std::uint32_t n) {
      if (!served[n]) served[n] = true, todo.push_back(n);
    };
    for (std::uint32_t i = 0; i < of.size(); ++i) {
      of[i].insert(of[i].end(), hidden.after[i].begin(), hidden.after[i].end());
      for (auto w : hidden.after[i]) mark(w);
    }
    while (!todo.empty()) {
      auto const i = todo.back();
      todo.pop_back();
      for (auto n : of[i]) mark(n);
    }
  }
  std::vector<std::uint32_t> const& operator[](std::uint32_t node) const { return of[node]; }
};

}  // namespace rill
