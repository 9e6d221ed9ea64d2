// Computes the extents of a subgraph from the types of the feeds. A named axis has one extent in a step.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/graph/axis_binding.hpp"
#include "rill/graph/subgraph.hpp"
#include "rill/state/container.hpp"

namespace rill {

/// Sets the types of all outputs for inputs of the given types. A variable with open extents gets the extents of its
/// present value. The bound names are stored in the subgraph, and stay bound when the subgraph is bound again.
void bind_extents(subgraph& sub, std::vector<type> const& fed, container& state);

/// Infers again the types of a bound subgraph that still have unknown extents, after a pass has made inputs more
/// specific.
void bind_open_extents(subgraph& sub);

/// Returns which nodes are variables whose extents the subgraph may change.
std::vector<bool> nodes_resized(subgraph const& sub);

#if RILL_RUNTIME
namespace detail {

// Whether a node may change the extents of a variable.
inline bool may_resize(node const& n) {
  auto const within = [](subgraph const& body) {
    return std::any_of(body.nodes.begin(), body.nodes.end(), may_resize);
  };
  if (auto const* const f = called_by(n)) return !f->body || f->recursive || within(*f->body);
  bool found = n.op->resizes;
  for_each_body(n, [&](subgraph const& body) { found = found || within(body); });
  return found;
}

// Whether a node is compiled for the extents that its input k, a variable, has when the step begins.
inline bool meets_present(node const& n, std::size_t k, std::vector<bool> const& resized) {
  if (!takes_reference(n, k)) return true;
  return (n.op->reference_or_value || n.op->uses_value_extents) && !resized[n.inputs[k].node];
}

// Returns the type of input k: of a variable that the step may resize the declared type, otherwise the inferred type
// with bound names replaced.
inline type bound_input(subgraph const& sub, node const& n, std::size_t k, std::vector<bool> const& resized,
                        axis_binding const& axes) {
  auto const& from = sub[n.inputs[k].node];
  if (is_variable(from) && !meets_present(n, k, resized)) return declared_type(from);
  return axes.resolved(sub.type_of(n.inputs[k]));
}

// Returns which nodes' values are read; a node that takes the variable itself does not read its value.
inline std::vector<bool> nodes_read(subgraph const& sub, std::vector<bool> const& resized) {
  std::vector<bool> read(sub.size());
  for (auto const& n : sub.nodes)
    for (std::size_t k = 0; k < n.inputs.size(); ++k)
      if (meets_present(n, k, resized)) read[n.inputs[k].node] = true;
  for (auto e : sub.outputs) read[e.node] = true;
  return read;
}

// Gives a variable with open extents the extents of its value, and if it is read, binds its names to them.
inline void bind_variable(node& n, bool read, axis_binding& axes, container& state) {
  auto const& declared = declared_type(n);
  if (declared.is_known() || !state.has_values()) return;
  auto const v = state.variable(n.name, declared);
  if (read) v->expect_value();
  auto const extents = v->value_extents();
  if (!extents) return;
  n.outputs[0] = type(declared.element, *extents);
  if (read) axes.bind(declared, n.outputs[0], n.name);
}

// Binds the names in the type that a node declares.
inline void bind_names(node const& n, axis_binding& axes) {
  if (!declares_type(n) || n.outputs.size() != 1) return;
  if (auto const& declared = declared_type(n); n.outputs[0].rank == declared.rank)
    axes.bind(declared, n.outputs[0], n.name);
}

// Checks that the numbers of elements and of bytes do not overflow.
inline void check_size(type const& t, std::string const& node) {
  try {
    if (t.is_known()) (void)checked_product(elements(t.shape()), static_cast<std::int64_t>(size_of(t.element)));
  } catch (error const& e) {
    throw error(e.kind(), "its result is too large, " + with_article(t) + ": " + e.message(), node);
  }
}

// Infers the types of a node's outputs.
inline void bind_outputs(subgraph const& sub, node& n, std::vector<bool> const& resized, axis_binding& axes) {
  std::vector<type> inputs;
  for (std::size_t k = 0; k < n.inputs.size(); ++k) inputs.push_back(bound_input(sub, n, k, resized, axes));
  infer_final_outputs(n, inputs, n.outputs);
  bind_names(n, axes);
  if (!n.op->dynamic_output_shape)  // otherwise names are bound when the kernel has run
    for (auto& t : n.outputs) t = axes.resolved(t);
  for (auto const& t : n.outputs) check_size(t, n.name);
}

}  // namespace detail

RILL_INLINE std::vector<bool> nodes_resized(subgraph const& sub) {
  std::vector<bool> resized(sub.size());
  for (auto const& n : sub.nodes)
    for (std::size_t k = 0; k < n.inputs.size(); ++k)
      if (auto const& from = sub[n.inputs[k].node];
          updates_reference(n, k) && is_variable(from) && !declared_type(from).is_known())
        resized[n.inputs[k].node] = resized[n.inputs[k].node] || detail::may_resize(n);
  return resized;
}

RILL_INLINE void bind_extents(subgraph& sub, std::vector<type> const& fed, container& state) {
  axis_binding axes(std::move(sub.axes));
  for (std::size_t i = 0; i < fed.size(); ++i) {
    auto& n = sub[sub.inputs[i]];
    if (!accepts(n.outputs[0], fed[i]))
      throw error(code::invalid_argument,
                  "it is " + with_article(n.outputs[0]) + " and was fed " + with_article(fed[i]), n.name);
    axes.bind(n.outputs[0], fed[i], n.name);
    n.outputs[0] = fed[i];
  }
  auto const resized = nodes_resized(sub), read = detail::nodes_read(sub, resized);
  for (auto& n : sub.nodes) {
    if (n.op == &fed_op) continue;
    if (n.op->kind == op_kind::placeholder) throw error(code::invalid_argument, "this placeholder must be fed", n.name);
    if (is_variable(n)) {
      infer_outputs(n, {}, n.outputs);
      detail::bind_variable(n, read[static_cast<std::size_t>(&n - sub.nodes.data())], axes, state);
      detail::check_size(n.outputs[0], n.name);
    } else detail::bind_outputs(sub, n, resized, axes);
  }
  sub.axes = axes.bound();
}

RILL_INLINE void bind_open_extents(subgraph& sub) {
  axis_binding axes(std::move(sub.axes));
  auto const resized = nodes_resized(sub);
  for (auto& n : sub.nodes)
    if (n.op != &fed_op && !is_variable(n) && !all_known(n.outputs)) detail::bind_outputs(sub, n, resized, axes);
  sub.axes = axes.bound();
}
#endif

}  // namespace rill
