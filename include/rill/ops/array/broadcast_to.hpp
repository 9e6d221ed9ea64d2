// Arrays broadcast to given extents.
#pragma once
#include "rill/ops/sum/sum.hpp"

namespace rill::ops {

struct broadcast_to_op {
  using library = void;
  static constexpr std::string_view name = "broadcast_to", doc = "x broadcast to the given extents, as in NumPy";
  static constexpr std::string_view declared_type = "to";
  static constexpr std::int8_t arity = 1;
  static constexpr dtypes elements = dtypes::numeric_or_bool;
  struct attributes {
    type to;  ///< only its extents count
    static constexpr auto fields(auto const& take) { return take(field{"to", &attributes::to}); }
  };
  static constexpr type infer(attributes const& a, type const& x, checks expects = {}) {
    expects(elements.contains(x.element), "broadcast_to: strings are not supported");
    expects(a.to.has_rank(), "broadcast_to: the rank to broadcast to is not known");
    likeness{}.check(x, a.to, "broadcast_to: the operand does not broadcast to the extents", expects);
    return a.to.with(x.element);
  }
  static cost work(attributes const&, std::span<type const> in, std::span<type const> out) {
    return {0, rill::detail::bytes_of(in) + rill::detail::bytes_of(out)};
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return {sum_like(V(r.dy()), r.in(0))};
  }
  static kernel cpu(kernel_request const& r);
};

}  // namespace rill::ops

namespace rill {

/// Returns x broadcast to the given extents: `broadcast_to<4, 3>(x)` of a row of 3 has 4 such rows.
template <dim... Extents, operand X> auto broadcast_to(X x) {
  return record<ops::broadcast_to_op, ops::broadcast_to_op::attributes{type{dtype::float32, {Extents...}}}>(x);
}
/// Returns the same with extents known only at run time: `broadcast_to(x, {4, 3})`.
inline value broadcast_to(value x, shape const& extents) {
  for (auto extent : extents) expects(extent >= 0, "broadcast_to: an extent is negative");
  return record_erased<ops::broadcast_to_op>(detail::graph_of(x), {type(x.type().element, extents)}, {x});
}

}  // namespace rill

#if RILL_DEFINITIONS
#include "rill/program/interpreter.hpp"

namespace rill::ops {

inline kernel broadcast_to_op::cpu(kernel_request const& r) {
  program p;
  p.inputs = {r.inputs[0].element};
  p.outputs = {0};
  auto bound = std::make_shared<bound_program const>(p, std::vector<shape>{r.inputs[0].shape()}, r.outputs[0].shape());
  return kernel([bound](kernel_call const& call) { (*bound)(call.pointers, call.threads); });
}

}  // namespace rill::ops
#endif
