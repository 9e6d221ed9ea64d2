// Fuses the arithmetic of an optimizer with the assignments that follow it: one program that works on the variables in
// place.
#pragma once
#include "rill/pass/rewriter.hpp"

#if RILL_RUNTIME
#include <map>
#include <utility>

#include "rill/ops/state/fused_update.hpp"
#include "rill/pass/elementwise_program.hpp"
#endif

namespace rill {

/// Fuses updates of variables with the elementwise node that computes their new values, if it has the same place.
/// Returns whether it changed the subgraph.
bool fuse_updates(subgraph& sub, pass_report* report, join_predicate const& can_run = {});

#if RILL_RUNTIME
namespace detail {

class update_fusion {
 public:
  update_fusion(subgraph& sub, pass_report* report, join_predicate const& can_run)
      : subgraph_(sub),
        can_run_(can_run),
        rewriter_(sub, "fuse updates", report),
        consumers_(consumers(sub)),
        waiters_(sub),
        updates_of_(sub.size()),
        seen_(waiters_.of.size()) {
    std::vector<bool> fetched(sub.size());
    for (auto e : sub.outputs) fetched[e.node] = true;
    fetched_ = std::move(fetched);
    for (std::uint32_t i = 0; i < sub.size(); ++i)
      for (std::size_t k = 0; k < sub[i].inputs.size(); ++k)
        if (updates_reference(sub[i], k)) ++updates_of_[sub[i].inputs[k].node];
  }

  bool run() {
    auto const count = static_cast<std::uint32_t>(subgraph_.size());
    for (std::uint32_t i = 0; i < count; ++i) try_fuse(i);
    return rewriter_.finish();
  }

 private:
  static constexpr std::size_t most_variables = 8, most_inputs = 56;

  // Returns the function that an update adds to the program: null for assign; nullopt if the node is another operation.
  static std::optional<scalar_function const*> line_of(node const& n) {
    if (n.op == &definition<ops::assign_op>()) return nullptr;
    if (n.op == &definition<ops::assign_add_op>()) return definition<ops::add_op>().elementwise;
    if (n.op == &definition<ops::assign_sub_op>()) return definition<ops::sub_op>().elementwise;
    return std::nullopt;
  }

  // Returns the consumers of an elementwise node if all are updates that can be fused with it; otherwise an empty list.
  std::vector<std::uint32_t> updates(std::uint32_t i) {
    auto const& n = subgraph_[i];
    if (!elementwise_program::takes(subgraph_, i) || fetched_[i] || !n.controls.empty() ||
        elementwise_program::size_of(n) > elementwise_program::most_registers ||
        (can_run_ && !can_run_(n, definition<ops::fused_update_op>())))
      return {};
    std::vector<std::uint32_t> found;
    for (auto c : consumers_[i]) {
      auto const& u = subgraph_[c];
      if (!same_place(u, n)) return {};
      if (!line_of(u) || u.inputs[1].node != i || fetched_[c] || !consumers_[c].empty()) return {};
      if (!is_variable(subgraph_[u.inputs[0].node]) || updates_of_[u.inputs[0].node] != 1) return {};
      if (subgraph_.type_of(u.inputs[0]) != subgraph_.type_of(u.inputs[1])) return {};
      bool const reads_it = std::find(n.inputs.begin(), n.inputs.end(), u.inputs[0]) != n.inputs.end();
      if (*line_of(u) == nullptr && !reads_it)
        return {};  // the variable may have no value yet, so there is no memory to work in
      found.push_back(c);
    }
    if (found.size() != n.outputs.size() || found.size() > most_variables ||
        n.inputs.size() + found.size() > most_inputs || one_waits_for_another(found))
      return {};
    return found;
  }

  // Whether an update comes after another one: a fused node would wait for itself. Updates that were fused before count
  // as one node.
  bool one_waits_for_another(std::vector<std::uint32_t> const& updates) {
    if (updates.size() < 2) return false;
    ++searches_;
    std::vector<std::uint32_t> todo;
    auto const go_on = [&](std::uint32_t i) { todo.insert(todo.end(), waiters_[i].begin(), waiters_[i].end()); };
    for (auto u : updates) go_on(u);
    while (!todo.empty()) {
      auto const i = todo.back();
      todo.pop_back();
      if (std::exchange(seen_[i], searches_) == searches_) continue;
      auto const one = one_node_.find(i);
      if (one == one_node_.end()) go_on(i);
      else std::for_each(one->second.begin(), one->second.end(), go_on);
    }
    return std::any_of(updates.begin(), updates.end(), [&](auto u) { return seen_[u] == searches_; });
  }

  void try_fuse(std::uint32_t i) {
    auto const found = updates(i);
    if (found.empty()) return;
    node made;
    elementwise_program p(subgraph_);
    std::vector<endpoint> results;
    for (auto u : found) {
      for (auto c : subgraph_[u].controls)
        if (std::find(made.controls.begin(), made.controls.end(), c) == made.controls.end()) made.controls.push_back(c);
      made.inputs.push_back(subgraph_[u].inputs[0]);
      made.outputs.push_back(subgraph_.type_of(subgraph_[u].inputs[0]));
      p.add_input(subgraph_[u].inputs[0]);
      results.push_back({u, 0});
    }
    for (auto e : subgraph_[i].inputs)
      if (p.find(e) == p.none)
        p.add_input(e), made.inputs.push_back(e);  // it is found if it is the variable, which has no other update
    p.add(i);
    for (auto u : found) {
      auto const from = p.find(subgraph_[u].inputs[1]);
      if (auto const* function = *line_of(subgraph_[u]))
        p.add_line({u, 0}, {function, {p.find(subgraph_[u].inputs[0]), from}, subgraph_[u].outputs[0].element});
      else p.alias({u, 0}, from);
    }
    if (!in_place(p, results)) return;
    made.op = &definition<ops::fused_update_op>();
    made.name = subgraph_[found[0]].name;
    made.device = subgraph_[i].device;
    made.hops = subgraph_[i].hops;
    made.colocated = subgraph_[i].colocated;
    made.attributes = encode(ops::fused_update_op::attributes{std::make_shared<program const>(p.finish(results)),
                                                              static_cast<std::int64_t>(found.size())});
    auto const at = rewriter_.add(std::move(made), subgraph_.origin[found[0]]);
    for (std::uint32_t v = 0; v < found.size(); ++v) {
      rewriter_.replace({found[v], 0}, {at, v}, "works in place");
      one_node_[found[v]] = found;
    }
  }

  // Whether the program can write each result over its variable: each result is computed by a line of its own, and no
  // line reads a variable after its result is written. The variables are the first inputs.
  static bool in_place(elementwise_program const& p, std::vector<endpoint> const& results) {
    auto const& lines = p.so_far().instructions;
    auto const inputs = p.so_far().inputs.size();
    for (std::size_t v = 0; v < results.size(); ++v) {
      auto const out = p.find(results[v]);
      if (out >= immediate_mark || out < inputs) return false;
      if (std::count_if(results.begin(), results.end(), [&](auto r) { return p.find(r) == out; }) != 1) return false;
      for (std::size_t s = 0; s < lines.size(); ++s)
        for (std::size_t k = 0; k < lines[s].function->arity; ++k)
          if (lines[s].operands[k] == v && inputs + s > out) return false;
    }
    return true;
  }

  subgraph& subgraph_;
  join_predicate const& can_run_;
  rewriter rewriter_;
  std::vector<std::vector<std::uint32_t>> consumers_;
  waiters waiters_;
  std::vector<bool> fetched_;
  std::vector<std::uint32_t> updates_of_;  // the number of updates of each variable
  std::vector<std::uint32_t> seen_;        // of each node the number of the last search that met it
  std::uint32_t searches_ = 0;
  std::map<std::uint32_t, std::vector<std::uint32_t>> one_node_;  // of each fused update, all updates of its fused node
};

}  // namespace detail

RILL_INLINE bool fuse_updates(subgraph& sub, pass_report* report, join_predicate const& can_run) {
  return detail::update_fusion(sub, report, can_run).run();
}
#endif

}  // namespace rill
