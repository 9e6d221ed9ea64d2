// The rectified linear unit.
#pragma once
#include "rill/ops/base/elementwise.hpp"
#include "rill/ops/sum/sum.hpp"

namespace rill::ops {

struct relu_op : elementwise<relu_op, 1> {
  using library = void;
  static constexpr std::string_view name = "relu", doc = "max(x, 0); the derivative at 0 is 0";
  static constexpr bool wide_gradient = false;
  static constexpr dtypes elements = dtypes::reals;
  template <class S> static S apply(S x) { return maximum(x, S(0)); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return {relu_gradient(V(r.out()), V(r.dy()))};
  }
};

// One function rather than a comparison and a select, which would write and read a bool for each element.
struct relu_gradient_op : elementwise<relu_gradient_op, 2> {
  using library = void;
  static constexpr std::string_view name = "relu_gradient",
                                    doc = "dy where y > 0, else 0, broadcast: the derivative of relu";
  static constexpr bool wide_gradient = false;
  static constexpr dtypes elements = dtypes::floats;
  template <class S> static S apply(S y, S dy) { return select(y > S(0), dy, S(0)); }
  // Whether y is positive is constant almost everywhere.
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    std::vector<gradient> all(2);
    if (r.wanted[1]) all[1] = sum_like(relu_gradient(V(r.in(0)), V(r.dy())), r.in(1));
    return all;
  }
};

}  // namespace rill::ops

namespace rill {

/// Returns max(x, 0), element by element (OSDI'16 §2: the unit of its convolutional models).
template <operand X> auto relu(X x) { return record<ops::relu_op>(x); }
/// Returns the derivative of y = relu(x) from the derivative of y: dy where y > 0, else 0; both broadcast.
template <operand Y, operand D> auto relu_gradient(Y y, D dy) { return record<ops::relu_gradient_op>(y, dy); }

}  // namespace rill
