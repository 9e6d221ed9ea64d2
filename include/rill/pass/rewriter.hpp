// What rewrites share: values are replaced by others, and what nobody needs any more goes.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "rill/graph/rendezvous.hpp"
#include "rill/graph/subgraph.hpp"
#include "rill/pass/options.hpp"

namespace rill {

/// A subgraph while it is rewritten. Control edges from a replaced node go on from the node that replaces it. What
/// changes state is not dropped, whoever reads it.
class rewriter {
 public:
  rewriter(rill::subgraph& sub, std::string_view pass, pass_report* report)
      : subgraph_(sub), pass_(pass), report_(report), forward_(sub.size()) {}

  rill::subgraph& subgraph() { return subgraph_; }

  /// The value that stands for `e` now.
  endpoint resolve(endpoint e) const {
    while (e.node < forward_.size() && e.port < forward_[e.node].size() && forward_[e.node][e.port].node != none)
      e = forward_[e.node][e.port];
    return e;
  }
  /// Redirects a node's inputs to what stands for them now.
  void refresh(std::uint32_t i) {
    for (auto& e : subgraph_[i].inputs) e = resolve(e);
  }
  /// Who reads `from` is to read `to`; the listing says by which rule.
  void replace(endpoint from, endpoint to, std::string_view rule) {
    if (forward_.size() < subgraph_.size()) forward_.resize(subgraph_.size());
    auto& ports = forward_[from.node];
    if (ports.size() <= from.port) ports.resize(from.port + 1, {none, 0});
    ports[from.port] = to;
    log(rule, from.node);
  }
  /// The listing says what a rule did to a node.
  void log(std::string_view rule, std::uint32_t node) {
    changed_ = true;
    if (report_) report_->lines.push_back(std::string(pass_) + ": " + std::string(rule) + ": " + subgraph_[node].name);
  }
  /// Lets go of a node, if nobody needs it, even though it changes state: another subgraph has it.
  void drop(std::uint32_t i) {
    dropped_.resize(subgraph_.size());
    dropped_[i] = true;
  }
  /// Adds a node; it may read any other, `finish` puts the nodes in order.
  std::uint32_t add(node n, std::uint32_t origin) {
    subgraph_.nodes.push_back(std::move(n));
    subgraph_.origin.push_back(origin);
    return static_cast<std::uint32_t>(subgraph_.size() - 1);
  }
  /// Applies the replacements, drops what is not needed, puts nodes after what they need. Whether anything changed.
  bool finish() {
    if (!changed_) return false;
    for (std::uint32_t i = 0; i < subgraph_.size(); ++i) refresh(i);
    for (auto& e : subgraph_.outputs) e = resolve(e);
    for (auto& n : subgraph_.nodes)
      for (auto& c : n.controls) c = resolve({c, 0}).node;
    for (auto& t : subgraph_.targets) t = resolve({t, 0}).node;
    compact();
    return true;
  }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;

  bool replaced(std::uint32_t i) const {
    return i < forward_.size() &&
           std::any_of(forward_[i].begin(), forward_[i].end(), [](endpoint e) { return e.node != none; });
  }

  // Depth first, after everything that a node needs; roots and edges in their order, so that the result is always the
  // same.
  void compact() {
    std::vector<std::uint32_t> place(subgraph_.size(), none), order;
    std::vector<std::pair<std::uint32_t, std::size_t>> stack;
    std::vector<bool> open(subgraph_.size());
    auto const need = [&](std::uint32_t i, std::size_t k) {
      auto const& n = subgraph_[i];
      return k < n.inputs.size() ? n.inputs[k].node : n.controls[k - n.inputs.size()];
    };
    auto const visit = [&](std::uint32_t root) {
      if (place[root] == none && !open[root]) stack.emplace_back(root, 0), open[root] = true;
      while (!stack.empty()) {
        auto& [i, k] = stack.back();
        if (k == subgraph_[i].inputs.size() + subgraph_[i].controls.size()) {
          place[i] = static_cast<std::uint32_t>(order.size());
          order.push_back(i);
          stack.pop_back();
          continue;
        }
        auto const next = need(i, k++);
        if (place[next] != none) continue;
        if (open[next]) throw error(code::internal, "a pass made a cycle", subgraph_[next].name);
        open[next] = true;
        stack.emplace_back(next, 0);
      }
    };
    for (auto i : subgraph_.inputs) visit(i);
    std::vector<std::uint32_t> roots(subgraph_.targets);
    for (auto e : subgraph_.outputs) roots.push_back(e.node);
    dropped_.resize(subgraph_.size());
    for (std::uint32_t i = 0; i < subgraph_.size();
         ++i)  // what is read for its extents alone may be an update's result
      if (subgraph_[i].op->effect == effect::writes && !dropped_[i] && !replaced(i)) roots.push_back(i);
    std::sort(roots.begin(), roots.end());
    for (auto r : roots) visit(r);
    rill::subgraph made;
    for (auto i : order) {
      auto n = std::move(subgraph_.nodes[i]);
      for (auto& e : n.inputs) e.node = place[e.node];
      for (auto& c : n.controls) c = place[c];
      made.nodes.push_back(std::move(n));
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

/// Who reads each output of each node, fetches and targets not counted.
inline std::vector<std::vector<std::uint32_t>> consumers(subgraph const& sub) {
  std::vector<std::vector<std::uint32_t>> all(sub.size());
  for (std::uint32_t i = 0; i < sub.size(); ++i)
    for (auto e : sub[i].inputs) all[e.node].push_back(i);
  return all;
}

/// Who may wait for each node: its consumers, those that a control edge puts after it, and those that may wait for what
/// it gives at a queue or the like, be it that another step hands that on. A pass that joins nodes must not make one
/// wait for itself by way of these.
struct waiters {
  node_edges of;                  ///< of nodes, and of hubs among them (hidden_waits)
  std::vector<bool> served = {};  ///< what may wait for something without an edge, and what comes after it; empty: none

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
