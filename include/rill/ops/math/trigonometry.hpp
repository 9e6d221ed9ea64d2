// sin, cos, tan and atan2.
#pragma once
#include "rill/ops/math/arithmetic.hpp"

namespace rill::ops {

struct sin_op : elementwise<sin_op, 1> {
  using library = void;
  static constexpr std::string_view name = "sin", doc = "the sine of an angle in radians, of any size",
                                    cuda = "sin($0)";
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 25;
  template <class S> static S apply(S x) { return sin(x); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return {V(r.dy()) * cos(V(r.in(0)))};
  }
};

struct cos_op : elementwise<cos_op, 1> {
  using library = void;
  static constexpr std::string_view name = "cos", doc = "the cosine of an angle in radians, of any size",
                                    cuda = "cos($0)";
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 25;
  template <class S> static S apply(S x) { return cos(x); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return {-(V(r.dy()) * sin(V(r.in(0))))};
  }
};

struct tan_op : elementwise<tan_op, 1> {
  using library = void;
  static constexpr std::string_view name = "tan", doc = "the tangent of an angle in radians, of any size",
                                    cuda = "tan($0)";
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 30;
  template <class S> static S apply(S x) { return tan(x); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V y = r.out(), dy = r.dy();  // dy (1 + y²)
    return {dy * (1 + y * y)};
  }
};

struct atan2_op : elementwise<atan2_op, 2> {
  using library = void;
  static constexpr std::string_view
      name = "atan2",
      doc = "the angle of the point (x, y) of the operands y and x, from -pi to pi; broadcast", cuda = "atan2($0, $1)";
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 25;
  template <class S> static S apply(S y, S x) { return atan2(y, x); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V y = r.in(0), x = r.in(1), dz = r.dy();  // dy = dz x / (x² + y²), dx = -dz y / (x² + y²)
    V part = dz / (x * x + y * y);
    return binary_gradients(r, [&] { return part * x; }, [&] { return -(part * y); });
  }
};

}  // namespace rill::ops

namespace rill {

/// The sine of an angle in radians, of any size.
template <operand X> auto sin(X x) { return record<ops::sin_op>(x); }
/// The cosine of an angle in radians, of any size.
template <operand X> auto cos(X x) { return record<ops::cos_op>(x); }
/// The tangent of an angle in radians, of any size.
template <operand X> auto tan(X x) { return record<ops::tan_op>(x); }
/// The angle of the point (x, y) in radians, from -pi to pi, broadcast; that of (0, 0) is 0, or pi where x is -0.
template <operand Y, operand X> auto atan2(Y y, X x) { return record<ops::atan2_op>(y, x); }
template <operand Y, number N> auto atan2(Y y, N x) { return atan2(y, like(y, x)); }
template <number N, operand X> auto atan2(N y, X x) { return atan2(like(x, y), x); }

}  // namespace rill
