// How a graph becomes what runs: prune → bind → rewrite → order → plan.
#pragma once
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "rill/graph/first_draws.hpp"
#include "rill/graph/prune.hpp"
#include "rill/pass/bind.hpp"
#include "rill/pass/passes.hpp"
#include "rill/run/compiled_step.hpp"
#include "rill/run/plan/deferred.hpp"
#include "rill/run/plan/make_plan.hpp"
#include "rill/run/plan/primitive_region.hpp"
#include "rill/run/run_request.hpp"

#if RILL_RUNTIME
namespace rill::detail {

/// A subgraph that can be planned, and what was cut off it because it can't be yet.
struct rewritten_subgraph {
  rill::subgraph subgraph;
  std::optional<deferred_subgraph> deferred;
  step_names names;
};

/// What a subgraph is compiled as. Only a step may have primitives, and deferred pieces that begin alone, because one
/// thread goes through a body.
enum class compiled_as : bool { body, step };

/// Binds and rewrites a subgraph for inputs of the given types. Functions are inlined before what is deferred is cut
/// off, and loops trimmed, because less is deferred then.
inline rewritten_subgraph bind_and_rewrite(subgraph sub, std::vector<type> const& fed, plan_request const& with,
                                           compiled_as what, pass_report* report = nullptr) {
  bind_extents(sub, fed, with.state);
  auto names = step_names::of(sub);
  if (what == compiled_as::step && has_primitives(sub))
    return {as_primitive_region(std::move(sub)), {}, std::move(names)};
  if (with.passes.functions) inline_functions(sub, with.state, report, with.step);
  std::optional<deferred_subgraph> deferred;
  if (!std::all_of(sub.nodes.begin(), sub.nodes.end(), [](node const& n) { return all_known(n.outputs); })) {
    order_sections(sub, report);
    if (with.passes.loops) trim_loops(sub, with.state, report);
    bool const begin_alone = what == compiled_as::step && with.execution != execution::sequential;
    deferred = cut_deferred(sub, begin_alone ? join_deferred_pieces(sub, report) : deferred_nodes(sub));
  }
  auto rest = with.passes;
  rest.functions = false;  // that was all
  rewrite(sub, rest, with.state, report, with.step);
  return {std::move(sub), std::move(deferred), std::move(names)};
}

/// Compiles a subgraph of a step for inputs of the given types: bind → rewrite → order → plan.
inline std::shared_ptr<compiled_step> compile_pruned(subgraph sub, std::vector<type> const& fed,
                                                     plan_request const& with, pass_report* report = nullptr,
                                                     bool first_values = false) {
  // A node takes the variables of its bodies as inputs, so the subgraph's own nodes are all to look at.
  step_variables const variables{
      std::any_of(sub.nodes.begin(), sub.nodes.end(), [](node const& n) { return is_variable(n); }), first_values};
  check(with.step);
  auto ready = bind_and_rewrite(std::move(sub), fed, with, compiled_as::step, report);
  return std::make_shared<compiled_step>(make_plan(ready.subgraph, with), std::move(ready.deferred),
                                         std::move(ready.names), variables);
}

/// Compiles a step: prune → bind → rewrite → order → plan.
inline std::shared_ptr<compiled_step> compile_step(graph const& g, run_request const& r, plan_request const& with,
                                                   pass_report* report = nullptr) {
  std::vector<type> fed;
  for (auto const& t : r.with) fed.push_back(t.type());
  auto pruned = prune(g, r.feeds, r.fetches, r.targets, with.step);
  bool const first_values = key_first_draws(g, pruned);
  return compile_pruned(std::move(pruned), fed, with, report, first_values);
}

}  // namespace rill::detail
#endif
