// Computes nodes that depend only on constants when the step is compiled (white paper §5.1). A constant that is fed is
// not a constant in the subgraph.
#pragma once
#include "rill/device/step.hpp"
#include "rill/pass/rewriter.hpp"
#include "rill/state/container.hpp"

#if RILL_RUNTIME
#include "rill/ops/array/constant.hpp"
#endif

namespace rill {

/// Replaces nodes whose inputs are all constants by constants. A node whose kernel throws stays, and fails in the step.
/// Returns whether it changed the subgraph.
bool fold_constants(subgraph& sub, container& state, pass_report* report);

#if RILL_RUNTIME
namespace detail {

inline constexpr std::int64_t largest_folded =
    1 << 16;  // bytes: computing a larger result again is cheaper than keeping it

// Whether a node is a constant without control edges.
inline bool is_free_constant(node const& n) { return is_constant(n) && n.controls.empty(); }

inline bool can_fold(subgraph const& sub, node const& n) {
  if (n.op->effect != effect::none || has_bodies(n) || n.op->cpu == nullptr || n.inputs.empty() ||
      !n.controls.empty() || n.outputs.size() != 1)
    return false;
  auto const& t = n.outputs[0];
  if (!t.is_known() || t.element == dtype::string ||
      elements(t.shape()) * static_cast<std::int64_t>(size_of(t.element)) > largest_folded)
    return false;
  for (std::size_t k = 0; k < n.inputs.size(); ++k)
    if (!is_free_constant(sub[n.inputs[k].node]) && !reads_extents_alone(n, k)) return false;
  return true;
}

/// Returns the value of a node whose inputs are constants.
inline tensor evaluate(subgraph const& sub, node const& n, container& state) {
  std::vector<type> inputs;
  std::vector<void*> pointers;
  for (auto e : n.inputs) {
    inputs.push_back(sub.type_of(e));
    auto const& from = sub[e.node];
    pointers.push_back(is_free_constant(from) ? const_cast<void*>(constant_value(from).raw()) : nullptr);
  }
  std::vector<std::shared_ptr<variable_state>> const none(n.inputs.size());
  auto const run = n.op->cpu({n, inputs, n.outputs, none, state, 0});
  tensor result(n.outputs[0].element, n.outputs[0].shape());
  pointers.push_back(result.mutable_raw());
  buffer const scratch = run.scratch() ? buffer::allocate(run.scratch()) : buffer();
  pointers.push_back(scratch.data());
  step_context step;
  run(kernel_call{pointers.data(), n.inputs.size(), 1, parallel{}, step, nullptr});
  return result;
}

}  // namespace detail

RILL_INLINE bool fold_constants(subgraph& sub, container& state, pass_report* report) {
  rewriter r(sub, "fold constants", report);
  for (std::uint32_t i = 0; i < sub.size(); ++i) {
    r.refresh(i);
    auto& n = sub[i];
    if (n.op->aliases_input && n.inputs.size() > 0 && n.controls.empty() &&
        detail::is_free_constant(sub[n.inputs[0].node]) && n.outputs[0].is_known()) {
      auto const value = constant_value(sub[n.inputs[0].node]).reshaped(n.outputs[0].shape());
      n.inputs.clear();
      n.op = &definition<ops::constant_op>();
      n.attributes = encode(ops::constant_op::attributes{value});
      r.log("reshaped", i);
      continue;
    }
    if (!detail::can_fold(sub, n)) continue;
    try {
      auto value = detail::evaluate(sub, n, state);
      n.inputs.clear();
      n.op = &definition<ops::constant_op>();
      n.attributes = encode(ops::constant_op::attributes{std::move(value)});
      r.log("computed", i);
    } catch (error const&) {
    }
  }
  return r.finish();
}
#endif

}  // namespace rill
