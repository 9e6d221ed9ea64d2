// Joins an operation with the elementwise programs before and after it, for devices that compute them by one kernel:
// what is between them is never stored.
#pragma once
#include "rill/pass/rewriter.hpp"

#if RILL_RUNTIME
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "rill/ops/list/fuse.hpp"
#include "rill/pass/chain.hpp"
#include "rill/pass/elementwise_program.hpp"
#endif

namespace rill {

/// Joins an operation with the elementwise node that only it reads, and with the elementwise node that alone reads it,
/// if the device has a kernel for the whole chain. If `can_run` is empty, nothing is joined. Returns whether it changed
/// the subgraph.
bool fuse_chains(subgraph& sub, pass_report* report, join_predicate const& can_run);

#if RILL_RUNTIME
namespace detail {

class chain_fusion {
 public:
  chain_fusion(subgraph& sub, pass_report* report, join_predicate const& can_run)
      : subgraph_(sub),
        can_run_(can_run),
        rewriter_(sub, "fuse chains", report),
        waiters_(sub),
        fetched_(sub.size()),
        joined_(sub.size()) {
    for (auto e : sub.outputs) fetched_[e.node] = true;
    for (auto t : sub.targets) fetched_[t] = true;
  }

  bool run() {
    auto const count = static_cast<std::uint32_t>(subgraph_.size());
    for (std::uint32_t i = 0; i < count; ++i)
      if (can_be_main(i)) join(i);
    return rewriter_.finish();
  }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;

  /// A chain of nodes of the subgraph.
  struct chain {
    std::uint32_t before, main, after;
  };

  bool can_be_main(std::uint32_t i) const {
    auto const& n = subgraph_[i];
    return n.op->effect == effect::none && !n.inputs.empty() && !n.outputs.empty() && n.controls.empty() &&
           !elementwise_program::takes(subgraph_, i) && all_known(n.outputs) &&
           std::all_of(n.inputs.begin(), n.inputs.end(), [&](auto e) { return subgraph_.type_of(e).is_known(); }) &&
           can_run_(n, chain_op);
  }
  // Whether a node waits for nothing but its inputs, and only `waiter` waits for it: then no path leaves the chain and
  // comes back.
  bool is_only_for(std::uint32_t i, std::uint32_t waiter) const {
    auto const& all = waiters_[i];
    return !fetched_[i] && !joined_[i] && !all.empty() &&
           std::all_of(all.begin(), all.end(), [&](auto w) { return w == waiter; }) &&
           (waiters_.served.empty() || !waiters_.served[i]);
  }
  bool is_program(std::uint32_t i, std::uint32_t main) const {
    return !joined_[i] && subgraph_[i].controls.empty() && elementwise_program::takes(subgraph_, i) &&
           same_place(subgraph_[i], subgraph_[main]) &&
           elementwise_program::size_of(subgraph_[i]) <= elementwise_program::most_registers;
  }

  std::uint32_t find_before(std::uint32_t i) const {
    auto const x = subgraph_[i].inputs[0];
    auto const reads =
        std::count_if(subgraph_[i].inputs.begin(), subgraph_[i].inputs.end(), [&](auto e) { return e.node == x.node; });
    bool const fits = reads == 1 && subgraph_[x.node].outputs.size() == 1 && is_program(x.node, i);
    return fits && is_only_for(x.node, i) ? x.node : none;
  }
  std::uint32_t find_after(std::uint32_t i) const {
    auto const& all = waiters_[i];
    if (all.empty() || subgraph_[i].outputs.size() != 1 || all[0] >= joined_.size())
      return none;  // a hub: chains that were made stand after the first nodes
    auto const& y = subgraph_[i].outputs[0];
    auto const& z = subgraph_[all[0]].outputs;
    bool const fits = is_only_for(i, all[0]) && is_program(all[0], i) && z[0].shape() == y.shape();
    return fits ? all[0] : none;
  }

  void join(std::uint32_t i) {
    auto const before = find_before(i), after = find_after(i);
    if (before == none && after == none) return;
    if (try_make({before, i, after}) || before == none || after == none) return;
    if (!try_make({none, i, after})) try_make({before, i, none});
  }

  // The body of a chain while it is made.
  struct maker {
    subgraph const& from;
    subgraph body = {};
    std::vector<endpoint> inputs = {};  // of the chain

    std::uint32_t add(node n, std::uint32_t origin) {
      n.controls.clear();
      body.nodes.push_back(std::move(n));
      body.origin.push_back(from.origin[origin]);
      return static_cast<std::uint32_t>(body.size() - 1);
    }
    // Returns what stands for a value that is computed elsewhere. If only its extents matter, it is no input.
    endpoint fed(endpoint e, bool extents_only = false) {
      node n;
      n.op = &fed_op;
      n.name = from[e.node].name;
      n.outputs = {from.type_of(e)};
      auto const at = add(std::move(n), e.node);
      if (!extents_only) body.inputs.push_back(at), inputs.push_back(e);
      return {at, 0};
    }
    // Adds an elementwise node as a program; `given` is the value, if any, that the chain computes before it.
    std::uint32_t add_program(std::uint32_t i, std::optional<std::pair<endpoint, endpoint>> given) {
      elementwise_program p(from);
      node made;
      if (given) p.add_input(given->first), made.inputs.push_back(given->second);
      for (auto e : from[i].inputs) {
        if (p.find(e) != p.none) continue;
        if (is_constant(from[e.node]) && from.type_of(e).is_scalar()) p.add_constant(e);
        else p.add_input(e), made.inputs.push_back(fed(e));
      }
      p.add(i);
      std::vector<endpoint> results;
      for (std::uint32_t o = 0; o < from[i].outputs.size(); ++o) results.push_back({i, o});
      made.op = &definition<ops::fused_op>();
      made.name = from[i].name;
      made.outputs = from[i].outputs;
      made.attributes = encode(ops::fused_op::attributes{std::make_shared<program const>(p.finish(results))});
      return add(std::move(made), i);
    }
    void add_main(std::uint32_t i, std::optional<std::uint32_t> before) {
      auto n = from[i];
      for (std::size_t k = 0; k < n.inputs.size(); ++k)
        n.inputs[k] = k == 0 && before ? endpoint{*before, 0} : fed(n.inputs[k], (n.op->shape_only >> k & 1) != 0);
      add(std::move(n), i);
    }
  };

  bool try_make(chain const& c) {
    maker m{subgraph_};
    std::optional<std::uint32_t> before;
    if (c.before != none) before = m.add_program(c.before, {});
    m.add_main(c.main, before);
    auto last = static_cast<std::uint32_t>(m.body.size() - 1), of = c.main;
    if (c.after != none) last = m.add_program(c.after, {{{c.main, 0}, {last, 0}}}), of = c.after;
    for (std::uint32_t o = 0; o < subgraph_[of].outputs.size(); ++o) m.body.outputs.push_back({last, o});
    auto const& main = subgraph_[c.main];
    node made;
    made.op = &chain_op;
    made.name = subgraph_[of].name;
    made.device = main.device, made.hops = main.hops, made.colocated = main.colocated;
    made.inputs = std::move(m.inputs);
    made.outputs = subgraph_[of].outputs;
    made.attributes = {{"body", std::make_shared<subgraph const>(std::move(m.body))}};
    if (!can_run_(made, chain_op)) return false;
    for (auto i : {c.before, c.main, c.after})
      if (i != none) joined_[i] = true;
    auto const at = rewriter_.add(std::move(made), subgraph_.origin[of]);
    for (std::uint32_t o = 0; o < subgraph_[of].outputs.size(); ++o) rewriter_.replace({of, o}, {at, o}, "joined");
    return true;
  }

  subgraph& subgraph_;
  join_predicate const& can_run_;
  rewriter rewriter_;
  waiters waiters_;
  std::vector<bool> fetched_, joined_;
};

}  // namespace detail

RILL_INLINE bool fuse_chains(subgraph& sub, pass_report* report, join_predicate const& can_run) {
  return can_run && detail::chain_fusion(sub, report, can_run).run();
}
#endif

}  // namespace rill
