// Elementwise choice between two values.
#pragma once
#include "rill/ops/array/constant.hpp"
#include "rill/ops/base/elementwise.hpp"
#include "rill/ops/sum/sum.hpp"

#include "rill/ops/base/string_kernels.hpp"

namespace rill::ops {

struct select_op : elementwise<select_op, 3> {
  using library = void;
  static constexpr std::string_view name = "select", doc = "x where the condition is true, else y; all three broadcast";
  static constexpr dtypes elements = dtypes::any_element;
  static constexpr bool wide_gradient = false;
  static constexpr bool takes_mask(std::size_t operand) { return operand == 0; }
  static constexpr type infer(no_attributes, type const& condition, type const& x, type const& y, checks expects = {}) {
    expects(condition.element == dtype::boolean, "select: the condition is not a bool");
    expects(x.element == y.element, "select: the two values have different element types");
    expects(elements.contains(x.element), "the operation does not support this element type");
    return broadcast(condition, broadcast(x, y, expects), expects).with(x.element);
  }
  template <class M, class S> static S apply(M condition, S x, S y) { return select(condition, x, y); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V condition = r.in(0), dz = r.dy();
    std::vector<gradient> all(3);
    if (r.wanted[1]) all[1] = sum_like(select(condition, dz, zero(dz)), r.in(1));
    if (r.wanted[2]) all[2] = sum_like(select(condition, zero(dz), dz), r.in(2));
    return all;
  }
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    return r.outputs[0].element == dtype::string ? rill::detail::select_strings(r) : elementwise<select_op, 3>::cpu(r);
  }
#endif
};

}  // namespace rill::ops

namespace rill {

/// Returns x where the condition is true, else y; all three broadcast.
template <operand C, operand X, operand Y> auto select(C condition, X x, Y y) {
  return record<ops::select_op>(condition, x, y);
}
template <operand C, operand X, number N> auto select(C condition, X x, N n) {
  return select(condition, x, like(x, n));
}
template <operand C, number N, operand Y> auto select(C condition, N n, Y y) {
  return select(condition, like(y, n), y);
}

}  // namespace rill
