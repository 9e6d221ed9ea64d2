// Compiles a graph to a step: prune → bind → rewrite → order → plan.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rill/base/float_environment.hpp"
#include "rill/graph/first_draws.hpp"
#include "rill/graph/prune.hpp"
#include "rill/pass/bind.hpp"
#include "rill/pass/bind_worker.hpp"
#include "rill/pass/passes.hpp"
#include "rill/run/compiled_step.hpp"
#include "rill/run/explain.hpp"
#include "rill/run/lanes/form_regions.hpp"
#include "rill/run/lanes/place_nodes.hpp"
#include "rill/run/plan/deferred.hpp"
#include "rill/run/plan/make_plan.hpp"
#include "rill/run/plan/primitive_region.hpp"
#include "rill/run/run_request.hpp"
#include "rill/run/tasks/place_on_tasks.hpp"
#include "rill/run/tasks/remote_step.hpp"
#include "rill/run/tasks/share_stages.hpp"

#if RILL_RUNTIME
namespace rill::detail {

/// A subgraph that can be planned now, and the subgraph that was cut off because it can be planned only in the step.
struct rewritten_subgraph {
  rill::subgraph subgraph;
  std::optional<deferred_subgraph> deferred;
  step_names names;
  std::string placement = {};  ///< where each node of a body runs, and why; empty: there is only the host
};

/// Whether a subgraph is compiled as a step or as a body. Only a step may have primitives, and deferred pieces that
/// begin before the rest has run, because one thread runs a body.
enum class compiled_as : bool { body, step };

/// Throws error(invalid_argument) if a node asks for a device that is not there. Some that do are never placed, because
/// they are folded, run nothing or belong to tagged execution: so all that the step needs are looked at before.
inline void check_wishes(subgraph const& pruned, plan_request const& with) {
  if (with.devices == nullptr || with.devices->placement().soft) return;
  check_wishes(pruned, with.tasks ? place_targets(*with.tasks) : place_targets(*with.devices));
}
/// Throws error(invalid_argument) if a node of a step with primitives asks for another device than the host, which runs
/// all of them.
inline void check_primitives(subgraph const& sub, plan_request const& with) {
  if (with.devices == nullptr || with.devices->placement().soft) return;
  auto const targets = place_targets(*with.devices);
  wished_devices wished(targets);
  std::vector<type> types;
  for (auto const& n : sub.nodes) {
    input_types(sub, n, types);
    auto const why = host_reason(n, types);
    if (n.device.empty() || is_variable(n) || (why && has_no_place(*why) && !is_primitive(n))) continue;
    if (!wished.called(n.device).contains(0))
      throw error(code::invalid_argument,
                  "it asks for '" + n.device +
                      "', and stands among primitives of control flow, which the host runs with all that the step has: "
                      "use cond and while_loop, or permit soft placement",
                  n.name);
  }
}

/// Binds and rewrites a subgraph for inputs of the given types. Functions are inlined and loops trimmed before deferred
/// nodes are cut off, because then fewer nodes are deferred.
inline rewritten_subgraph bind_and_rewrite(subgraph sub, std::vector<type> const& fed, plan_request const& with,
                                           compiled_as what, compile_record* record = nullptr) {
  auto* const report = record ? &record->rewrites : nullptr;
  bind_extents(sub, fed, with.state);
  if (record) record->bound = sub;
  auto names = step_names::of(sub);
  if (what == compiled_as::step && has_primitives(sub)) {
    check_primitives(sub, with);
    return {.subgraph = as_primitive_region(std::move(sub)), .deferred = {}, .names = std::move(names)};
  }
  if (with.passes.functions) inline_functions(sub, with.state, report, with.step);
  std::optional<deferred_subgraph> deferred;
  // Where a share of a body knows all extents and others don't, its nodes keep to the order of the stages as well: it
  // waits for these in no other order than they for it.
  bool const keeps_stages = what == compiled_as::body && has_stages(sub);
  auto const is_known = [](node const& n) { return all_known(n.outputs); };
  if (keeps_stages || !std::all_of(sub.nodes.begin(), sub.nodes.end(), is_known)) {
    order_sections(sub, report);
    if (with.passes.loops && !has_stages(sub)) trim_loops(sub, with.state, report);
    bool const begin_alone = what == compiled_as::step && with.execution != execution::sequential;
    auto const nodes = [&] {
      if (has_stages(sub)) return later_stages(sub);  // as all tasks count them
      return begin_alone ? join_deferred_pieces(sub, report) : deferred_nodes(sub);
    };
    deferred = cut_deferred(sub, nodes());
  }
  auto rest = with.passes;
  rest.functions = false;  // that was all
  bool const places = with.devices && (!with.devices->empty() || asks_for_devices(sub));
  std::string placement;
  if (!places) {
    rewrite(sub, rest, with.state, report, with.step);
  } else {
    std::vector<bool> stays;
    auto const put = [&](subgraph& placed) {
      if (what == compiled_as::step && !deferred) stays = outputs_put_on_devices(placed);
      auto* const text = what == compiled_as::body ? &placement : record ? &record->placement : nullptr;
      place_nodes(placed, with, text, what == compiled_as::body);
    };
    auto const can_run = [&](node const& placed, op_def const& op) {
      return can_run_as(*with.devices, sub, placed, op);
    };
    rewrite(sub, rest, with.state, report, with.step, {put, can_run});
    stays.resize(sub.outputs.size());
    form_regions(sub, devices_of(sub, *with.devices), *with.devices, stays, report);
  }
  return {std::move(sub), std::move(deferred), std::move(names), std::move(placement)};
}

/// Compiles a step whose nodes run on tasks. All of it is one node of what the session runs.
inline std::shared_ptr<compiled_step> compile_for_tasks(subgraph sub, std::vector<type> const& fed,
                                                        plan_request const& with, compile_record* record,
                                                        step_uses uses) {
  bind_extents(sub, fed, with.state);
  if (record) record->bound = sub;
  auto names = step_names::of(sub);
  return std::make_shared<compiled_step>(make_plan(as_remote_step(std::move(sub)), with), std::nullopt,
                                         std::move(names), uses);
}

/// Compiles a subgraph of a step for inputs of the given types: bind → rewrite → order → plan.
inline std::shared_ptr<compiled_step> compile_pruned(subgraph sub, std::vector<type> const& fed,
                                                     plan_request const& with, compile_record* record = nullptr,
                                                     step_uses uses = {}) {
  if (with.salt != 0 && !uses.first_values) {
    auto salted = with;
    salted.seed = random_stream::key_of(with.seed, std::exchange(salted.salt, 0));
    return compile_pruned(std::move(sub), fed, salted, record, uses);
  }
  // A node takes the variables of its bodies as inputs, so this sees all variables.
  uses.variables =
      !with.tasks && std::any_of(sub.nodes.begin(), sub.nodes.end(), [](node const& n) { return is_variable(n); });
  check(with.step);
  default_float_environment const environment;  // constants are folded
  if (with.tasks) return compile_for_tasks(std::move(sub), fed, with, record, uses);
  auto ready = bind_and_rewrite(std::move(sub), fed, with, compiled_as::step, record);
  return std::make_shared<compiled_step>(make_plan(ready.subgraph, with), std::move(ready.deferred),
                                         std::move(ready.names), uses);
}

/// Returns the compiled deferred subgraph of a step for inputs of these types.
inline std::shared_ptr<compiled_step> compile_deferred(compiled_step& first, std::span<tensor const> given,
                                                       plan_request const& with) {
  return first.deferred_steps().find(given, [&](std::vector<type> const& types) {
    return compile_pruned(first.deferred()->subgraph, types, with, nullptr, first.uses());
  });
}

/// Compiles a step: prune → bind → rewrite → order → plan.
inline std::shared_ptr<compiled_step> compile_step(graph const& g, run_request const& r, plan_request const& with,
                                                   compile_record* record = nullptr) {
  std::vector<type> fed;
  for (auto const& t : r.with) fed.push_back(t.type());
  auto pruned = prune(g, r.feeds, r.fetches, r.targets, with.step);
  bind_worker(pruned, with.worker);
  check_wishes(pruned, with);
  if (record) record->graph = g.size(), record->pruned = pruned;
  step_uses uses;
  uses.first_values = key_first_draws(g, pruned);
  uses.draws = has_draws(pruned);
  uses.trains = trains(g, pruned);
  return compile_pruned(std::move(pruned), fed, with, record, uses);
}

}  // namespace rill::detail
#endif
