// Arrays with equal elements.
#pragma once
#include "rill/ops/sum/sum.hpp"

namespace rill::ops {

struct fill_op {
  using library = void;
  static constexpr std::string_view name = "fill", doc = "an array of the given extents, with x as every element";
  static constexpr std::string_view declared_type = "to";
  static constexpr std::int8_t arity = 1;
  static constexpr dtypes elements = dtypes::numeric_or_bool;
  struct attributes {
    type to;  ///< only its extents count
    static constexpr auto fields(auto const& take) { return take(field{"to", &attributes::to}); }
  };
  static constexpr type infer(attributes const& a, type const& x, checks expects = {}) {
    expects(elements.contains(x.element), "fill: strings are not supported");
    expects(!x.has_rank() || x.is_scalar(), "fill: the element is not a scalar");
    return a.to.with(x.element);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) { return {sum(V(r.dy()))}; }
  static kernel cpu(kernel_request const& r);
};

}  // namespace rill::ops

namespace rill {

/// Returns an array of the given extents with x as every element: `fill<3, 4>(constant(g, 1.f))`.
template <dim... Extents, operand X> auto fill(X x) {
  return record<ops::fill_op, ops::fill_op::attributes{type{dtype::float32, {Extents...}}}>(x);
}
/// Returns the same with extents known only at run time.
inline value fill(value x, shape const& extents) {
  return record_erased<ops::fill_op>(detail::graph_of(x), {type(x.type().element, extents)}, {x});
}

}  // namespace rill

#if RILL_DEFINITIONS
#include "rill/program/interpreter.hpp"

namespace rill::ops {

inline kernel fill_op::cpu(kernel_request const& r) {
  program p;
  p.inputs = {r.inputs[0].element};
  p.outputs = {0};
  auto bound = std::make_shared<bound_program const>(p, std::vector<shape>{shape{}}, r.outputs[0].shape());
  return kernel([bound](kernel_call const& call) { (*bound)(call.pointers, call.threads); });
}

}  // namespace rill::ops
#endif
