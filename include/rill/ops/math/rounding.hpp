// Absolute value, sign and rounding: abs, sign, floor, ceil, round, trunc; and division rounded down: mod, floor_div.
#pragma once
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/cast.hpp"

namespace rill::ops {

/// What piecewise constant functions share: they have no derivative.
template <class Op> struct steps : elementwise<Op, 1> {
  static constexpr dtypes elements = dtypes::floats;
  static constexpr bool wide_gradient = false;
  template <class V> static std::vector<gradient> grad(gradient_request const&) { return std::vector<gradient>(1); }
};

struct sign_op : steps<sign_op> {
  using library = void;
  static constexpr std::string_view name = "sign",
                                    doc = "1, 0 or -1 where x is positive, zero or negative; NaN of NaN; no derivative";
  static constexpr dtypes elements = dtypes::reals;
  template <class S> static S apply(S x) { return sign(x); }
};

struct abs_op : elementwise<abs_op, 1> {
  using library = void;
  static constexpr std::string_view
      name = "abs",
      doc = "the absolute value, real for complex numbers; the smallest integer stays itself; the derivative at 0 is 0";
  static constexpr dtypes elements = dtypes::numbers;
  static constexpr bool wide_gradient = false;
  static constexpr dtype result_of(dtype x) { return real_of(x); }
  static constexpr type infer(no_attributes a, type const& x, checks expects = {}) {
    return elementwise<abs_op, 1>::infer(a, x, expects).with(real_of(x.element));
  }
  template <class S> static auto apply(S x) { return abs(x); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V x = r.in(0), y = r.out(), dy = r.dy();
    if (!is_complex(x.type().element)) return {dy * sign(x)};
    V scale = dy / select(equal(y, 0), like(y, 1), y);  // dy x / |x|
    return {rill::cast(scale, x.type().element) * x};
  }
};

struct floor_op : steps<floor_op> {
  using library = void;
  static constexpr std::string_view name = "floor", doc = "x rounded down to an integer; no derivative";
  template <class S> static S apply(S x) { return floor(x); }
};

struct ceil_op : steps<ceil_op> {
  using library = void;
  static constexpr std::string_view name = "ceil", doc = "x rounded up to an integer; no derivative";
  template <class S> static S apply(S x) { return ceil(x); }
};

struct round_op : steps<round_op> {
  using library = void;
  static constexpr std::string_view name = "round",
                                    doc = "x rounded to the nearest integer, halves to even; no derivative";
  template <class S> static S apply(S x) { return round(x); }
};

struct trunc_op : steps<trunc_op> {
  using library = void;
  static constexpr std::string_view name = "trunc", doc = "x rounded toward 0 to an integer; no derivative";
  template <class S> static S apply(S x) { return trunc(x); }
};

struct floor_div_op : elementwise<floor_div_op, 2> {
  using library = void;
  static constexpr std::string_view name = "floor_div",
                                    doc = "x / y rounded down, broadcast; integers give 0 where y is 0; no derivative";
  static constexpr dtypes elements = dtypes::reals;
  static constexpr double flops = 10;
  template <class S> static S apply(S x, S y) { return floor_div(x, y); }
  template <class V> static std::vector<gradient> grad(gradient_request const&) { return std::vector<gradient>(2); }
};

struct mod_op : elementwise<mod_op, 2> {
  using library = void;
  static constexpr std::string_view name = "mod",
                                    doc =
                                        "the remainder of x / y rounded down, broadcast, exact, with the sign of y; "
                                        "where y is 0, NaN for floats and 0 for integers";
  static constexpr dtypes elements = dtypes::reals;
  static constexpr double flops = 10;
  template <class S> static S apply(S x, S y) { return mod(x, y); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V x = r.in(0), y = r.in(1), dz = r.dy();  // z = x - y floor(x / y)
    return binary_gradients(r, [&] { return dz; }, [&] { return -(dz * floor_div(x, y)); });
  }
};

}  // namespace rill::ops

namespace rill {

/// Returns 1, 0 or -1 where x is positive, zero or negative; zeros keep their sign, NaN stays NaN. It has no
/// derivative.
template <operand X> auto sign(X x) { return record<ops::sign_op>(x); }
/// Returns the absolute value, which is real for complex numbers; the smallest integer stays itself. The derivative at
/// 0 is 0 (docs/guide/gradients.md).
template <operand X> auto abs(X x) { return record<ops::abs_op>(x); }
/// Returns x rounded down to an integer. It has no derivative.
template <operand X> auto floor(X x) { return record<ops::floor_op>(x); }
/// Returns x rounded up to an integer. It has no derivative.
template <operand X> auto ceil(X x) { return record<ops::ceil_op>(x); }
/// Returns x rounded to the nearest integer, halves to even. It has no derivative.
template <operand X> auto round(X x) { return record<ops::round_op>(x); }
/// Returns x rounded toward 0 to an integer. It has no derivative.
template <operand X> auto trunc(X x) { return record<ops::trunc_op>(x); }

/// Returns x / y rounded down, broadcast: `floor_div(x, y) * y + mod(x, y)` is x. Integers give 0 where y is 0. It has
/// no derivative.
template <operand X, operand Y> auto floor_div(X x, Y y) { return record<ops::floor_div_op>(x, y); }
template <operand X, number N> auto floor_div(X x, N n) { return floor_div(x, like(x, n)); }
template <number N, operand X> auto floor_div(N n, X x) { return floor_div(like(x, n), x); }
/// Returns the remainder of x / y rounded down, broadcast: exact, with the sign of y, as in Python and NumPy. Where y
/// is 0 it is NaN for floats and 0 for integers. There is no operator %: in C++ that rounds toward 0.
template <operand X, operand Y> auto mod(X x, Y y) { return record<ops::mod_op>(x, y); }
template <operand X, number N> auto mod(X x, N n) { return mod(x, like(x, n)); }
template <number N, operand X> auto mod(N n, X x) { return mod(like(x, n), x); }

}  // namespace rill
