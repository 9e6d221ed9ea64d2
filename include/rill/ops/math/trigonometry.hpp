// sin, cos, tan and atan2; asin, acos and atan.
#pragma once
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/rounding.hpp"

namespace rill::ops {

struct sin_op : elementwise<sin_op, 1> {
  using library = void;
  static constexpr std::string_view name = "sin", doc = "the sine of an angle of any size in radians";
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 25;
  template <class S> static S apply(S x) { return sin(x); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return {V(r.dy()) * cos(V(r.in(0)))};
  }
};

struct cos_op : elementwise<cos_op, 1> {
  using library = void;
  static constexpr std::string_view name = "cos", doc = "the cosine of an angle of any size in radians";
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 25;
  template <class S> static S apply(S x) { return cos(x); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return {-(V(r.dy()) * sin(V(r.in(0))))};
  }
};

struct tan_op : elementwise<tan_op, 1> {
  using library = void;
  static constexpr std::string_view name = "tan", doc = "the tangent of an angle of any size in radians";
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
      doc = "the angle of the point (x, y), from -pi to pi, for operands y and x, broadcast";
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 25;
  template <class S> static S apply(S y, S x) { return atan2(y, x); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    // dy = dz x / (x² + y²), dx = -dz y / (x² + y²). First, x and y are divided by the larger of |x| and |y|, so that
    // the sum of their squares neither overflows nor underflows. Where one is infinite both derivatives are 0.
    V y = r.in(0), x = r.in(1), dz = r.dy(), most = maximum(abs(x), abs(y)), far = is_inf(most);
    V by = select(far, like(most, 1), most), a = select(far, like(most, 1), x / by),
      b = select(far, zero(most), y / by);
    V part = select(far, zero(most), dz / (a * a + b * b) / by);
    return binary_gradients(r, [&] { return part * a; }, [&] { return -(part * b); });
  }
};

struct asin_op : elementwise<asin_op, 1> {
  using library = void;
  static constexpr std::string_view name = "asin",
                                    doc = "the angle, from -pi / 2 to pi / 2, whose sine is x; NaN beyond 1 and -1";
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 30;
  template <class S> static S apply(S x) { return asin(x); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V x = r.in(0), dy = r.dy();  // dy / sqrt(1 - x²)
    return {dy / sqrt(rest_of_square(x))};
  }
};

struct acos_op : elementwise<acos_op, 1> {
  using library = void;
  static constexpr std::string_view name = "acos",
                                    doc = "the angle, from 0 to pi, whose cosine is x; NaN beyond 1 and -1";
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 30;
  template <class S> static S apply(S x) { return acos(x); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V x = r.in(0), dy = r.dy();  // -dy / sqrt(1 - x²)
    return {-(dy / sqrt(rest_of_square(x)))};
  }
};

struct atan_op : elementwise<atan_op, 1> {
  using library = void;
  static constexpr std::string_view name = "atan", doc = "the angle, from -pi / 2 to pi / 2, whose tangent is x";
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 20;
  template <class S> static S apply(S x) { return atan(x); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    // dy / (1 + x²), and dy / x² / (1 + 1 / x²) beyond 1: so that x² can't overflow and the derivative is never 0 ·
    // inf.
    V x = r.in(0), far = greater(abs(x), 1), small = select(far, 1 / select(far, x, 1), x), square = small * small;
    return {V(r.dy()) * (select(far, square, 1) / (1 + square))};
  }
};

}  // namespace rill::ops

namespace rill {

/// Returns the sine of an angle in radians, of any size.
template <operand X> auto sin(X x) { return record<ops::sin_op>(x); }
/// Returns the cosine of an angle in radians, of any size.
template <operand X> auto cos(X x) { return record<ops::cos_op>(x); }
/// Returns the tangent of an angle in radians, of any size.
template <operand X> auto tan(X x) { return record<ops::tan_op>(x); }
/// Returns the angle of the point (x, y) in radians, from -pi to pi, broadcast; (0, 0) gives 0, or pi where x is -0.
template <operand Y, operand X> auto atan2(Y y, X x) { return record<ops::atan2_op>(y, x); }
template <operand Y, number N> auto atan2(Y y, N x) { return atan2(y, like(y, x)); }
template <number N, operand X> auto atan2(N y, X x) { return atan2(like(x, y), x); }
/// Returns the angle in radians, from -pi / 2 to pi / 2, whose sine is x; NaN beyond 1 and -1. The derivative at 1 and
/// at -1 is infinite.
template <operand X> auto asin(X x) { return record<ops::asin_op>(x); }
/// Returns the angle in radians, from 0 to pi, whose cosine is x; NaN beyond 1 and -1. The derivative at 1 and at -1 is
/// infinite.
template <operand X> auto acos(X x) { return record<ops::acos_op>(x); }
/// Returns the angle in radians, from -pi / 2 to pi / 2, whose tangent is x.
template <operand X> auto atan(X x) { return record<ops::atan_op>(x); }

}  // namespace rill
