// Settles every extent of a subgraph for the types that are fed: named axes get their one extent for the step.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/graph/subgraph.hpp"
#include "rill/state/container.hpp"

namespace rill {

/// Named axes and the extents that a step's feeds give them.
class axis_binding {
 public:
  using extents_of_names = std::vector<std::pair<dim, std::int64_t>>;

  explicit axis_binding(extents_of_names bound = {}) : bound_(std::move(bound)) {}
  extents_of_names const& bound() const { return bound_; }

  /// Binds the names in `declared` to the extents of what came; error(invalid_argument) names the axis and both
  /// extents.
  void bind(type const& declared, type const& came, std::string const& node) {
    if (!declared.has_rank()) return;
    for (std::size_t i = 0; i < declared.rank; ++i) {
      if (!declared[i].named() || !came[i].known()) continue;
      if (auto const* known = find(declared[i]); known == nullptr) bound_.emplace_back(declared[i], came[i].extent);
      else if (*known != came[i].extent)
        throw error(code::invalid_argument,
                    "axis '" + declared[i].text() + "' is " + std::to_string(*known) + " elsewhere in this step and " +
                        std::to_string(came[i].extent) + " here",
                    node);
    }
  }
  /// The type with the names replaced that are bound.
  type resolved(type t) const {
    if (t.has_rank())
      for (std::size_t i = 0; i < t.rank; ++i)
        if (t[i].named())
          if (auto const* known = find(t[i])) t[i] = dim(*known);
    return t;
  }

 private:
  std::int64_t const* find(dim const& d) const {
    for (auto const& [name, extent] : bound_)
      if (name == d) return &extent;
    return nullptr;
  }
  extents_of_names bound_;
};

/// Gives every output of the subgraph the type that it will have for inputs of the given types; a variable whose
/// declared extents are open has those of its present value. What it bound stays with the subgraph, and is kept if it
/// is bound again.
void bind_extents(subgraph& sub, std::vector<type> const& fed, container& state);

/// Does so again for what is still open in a bound subgraph, which now knows more.
void bind_open_extents(subgraph& sub);

/// Which nodes of a subgraph are variables whose extents it may change.
std::vector<bool> nodes_resized(subgraph const& sub);

#if RILL_RUNTIME
namespace detail {

// Whether a node may give variables that it updates other extents.
inline bool may_resize(node const& n) {
  auto const within = [](subgraph const& body) {
    return std::any_of(body.nodes.begin(), body.nodes.end(), may_resize);
  };
  if (auto const* const f = called_by(n)) return !f->body || f->recursive || within(*f->body);
  bool found = n.op->resizes;
  for_each_body(n, [&](subgraph const& body) { found = found || within(body); });
  return found;
}

// Whether a node is made for the extents that a variable, its input k, has when the step begins.
inline bool meets_present(node const& n, std::size_t k, std::vector<bool> const& resized) {
  if (!takes_reference(n, k)) return true;
  return (n.op->reference_or_value || n.op->uses_value_extents) && !resized[n.inputs[k].node];
}

// Others who take a variable meet its declared extents; those who read what a kernel brings, what its names mean.
inline type bound_input(subgraph const& sub, node const& n, std::size_t k, std::vector<bool> const& resized,
                        axis_binding const& axes) {
  auto const& from = sub[n.inputs[k].node];
  if (is_variable(from) && !meets_present(n, k, resized)) return declared_type(from);
  return axes.resolved(sub.type_of(n.inputs[k]));
}

// Which nodes' values the subgraph needs; who means a variable itself does not need it.
inline std::vector<bool> nodes_read(subgraph const& sub, std::vector<bool> const& resized) {
  std::vector<bool> read(sub.size());
  for (auto const& n : sub.nodes)
    for (std::size_t k = 0; k < n.inputs.size(); ++k)
      if (meets_present(n, k, resized)) read[n.inputs[k].node] = true;
  for (auto e : sub.outputs) read[e.node] = true;
  return read;
}

// A variable that is declared with open extents has those of its value, and where it is read, so have its axes' names.
inline void bind_variable(node& n, bool read, axis_binding& axes, container& state) {
  auto const& declared = declared_type(n);
  if (declared.is_known()) return;
  auto const v = state.variable(n.name, declared);
  if (read) v->expect_value();
  auto const extents = v->value_extents();
  if (!extents) return;
  n.outputs[0] = type(declared.element, *extents);
  if (read) axes.bind(declared, n.outputs[0], n.name);
}

// Names that a node gives to what it computes.
inline void bind_names(node const& n, axis_binding& axes) {
  if (!declares_type(n) || n.outputs.size() != 1) return;
  if (auto const& declared = declared_type(n); n.outputs[0].rank == declared.rank)
    axes.bind(declared, n.outputs[0], n.name);
}

// The elements of a value can be counted, and so can their bytes.
inline void check_size(type const& t, std::string const& node) {
  try {
    if (t.is_known()) (void)checked_product(elements(t.shape()), static_cast<std::int64_t>(size_of(t.element)));
  } catch (error const& e) {
    throw error(e.code(), "of its result, a " + t.text() + ", " + e.message(), node);
  }
}

// What a node computes of its inputs.
inline void bind_outputs(subgraph const& sub, node& n, std::vector<bool> const& resized, axis_binding& axes) {
  std::vector<type> inputs;
  for (std::size_t k = 0; k < n.inputs.size(); ++k) inputs.push_back(bound_input(sub, n, k, resized, axes));
  infer_final_outputs(n, inputs, n.outputs);
  bind_names(n, axes);
  if (!n.op->dynamic_output_shape)  // names in what a kernel brings are bound when that is there
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
      throw error(code::invalid_argument, "it is a " + n.outputs[0].text() + " and was fed a " + fed[i].text(), n.name);
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
