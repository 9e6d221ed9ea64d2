// What numbers are apart from their sign and their fraction: abs, sign, floor, ceil, round, trunc; and division with a
// whole quotient: mod, floor_div.
#pragma once
#include "rill/ops/math/arithmetic.hpp"

namespace rill::ops {

/// What the functions of one real number share that are constant but for steps: no derivative goes through them.
template <class Op> struct steps : elementwise<Op, 1> {
  static constexpr dtypes elements = dtypes::floats;
  template <class V> static std::vector<gradient> grad(gradient_request const&) { return std::vector<gradient>(1); }
};

struct sign_op : steps<sign_op> {
  using library = void;
  static constexpr std::string_view name = "sign", cuda = "sign($0)",
                                    doc = "1, 0 or -1, as x is above, at or below 0; NaN of NaN; no gradient";
  static constexpr dtypes elements = dtypes::reals;
  template <class S> static S apply(S x) { return sign(x); }
};

struct abs_op : elementwise<abs_op, 1> {
  using library = void;
  static constexpr std::string_view name = "abs", cuda = "abs($0)",
                                    doc = "x without its sign; of the least integer itself; the gradient at 0 is 0";
  static constexpr dtypes elements = dtypes::reals;
  template <class S> static S apply(S x) { return abs(x); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return {V(r.dy()) * sign(V(r.in(0)))};
  }
};

struct floor_op : steps<floor_op> {
  using library = void;
  static constexpr std::string_view name = "floor", doc = "the largest integer that is not above x; no gradient",
                                    cuda = "floor($0)";
  template <class S> static S apply(S x) { return floor(x); }
};

struct ceil_op : steps<ceil_op> {
  using library = void;
  static constexpr std::string_view name = "ceil", doc = "the smallest integer that is not below x; no gradient",
                                    cuda = "ceil($0)";
  template <class S> static S apply(S x) { return ceil(x); }
};

struct round_op : steps<round_op> {
  using library = void;
  static constexpr std::string_view name = "round", doc = "the nearest integer, of two the even one; no gradient",
                                    cuda = "rint($0)";
  template <class S> static S apply(S x) { return round(x); }
};

struct trunc_op : steps<trunc_op> {
  using library = void;
  static constexpr std::string_view name = "trunc", doc = "the integer next to x on the way to 0; no gradient",
                                    cuda = "trunc($0)";
  template <class S> static S apply(S x) { return trunc(x); }
};

struct floor_div_op : elementwise<floor_div_op, 2> {
  using library = void;
  static constexpr std::string_view name = "floor_div",
                                    doc = "x / y rounded down, broadcast; of integers 0 where y is 0; no gradient",
                                    cuda = "floor_div($0, $1)";
  static constexpr dtypes elements = dtypes::reals;
  static constexpr double flops = 10;
  template <class S> static S apply(S x, S y) { return floor_div(x, y); }
  template <class V> static std::vector<gradient> grad(gradient_request const&) { return std::vector<gradient>(2); }
};

struct mod_op : elementwise<mod_op, 2> {
  using library = void;
  static constexpr std::string_view
      name = "mod",
      doc = "the rest of x / y rounded down, broadcast: exact, of y's sign; where y is 0 NaN, of integers 0",
      cuda = "mod($0, $1)";
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

/// 1, 0 or -1, as x is above, at or below 0; zeros keep their sign, NaN stays NaN. No gradient goes through it.
template <operand X> auto sign(X x) { return record<ops::sign_op>(x); }
/// x without its sign; that of the least integer wraps to itself. The gradient at 0 is 0 (docs/guide/gradients.md).
template <operand X> auto abs(X x) { return record<ops::abs_op>(x); }
/// The largest integer that is not above x. No gradient goes through it.
template <operand X> auto floor(X x) { return record<ops::floor_op>(x); }
/// The smallest integer that is not below x. No gradient goes through it.
template <operand X> auto ceil(X x) { return record<ops::ceil_op>(x); }
/// The nearest integer; of two that are equally near the even one. No gradient goes through it.
template <operand X> auto round(X x) { return record<ops::round_op>(x); }
/// The integer next to x on the way to 0. No gradient goes through it.
template <operand X> auto trunc(X x) { return record<ops::trunc_op>(x); }

/// x / y rounded down, broadcast: `floor_div(x, y) * y + mod(x, y)` is x. Of integers it is 0 where y is 0. No gradient
/// goes through it.
template <operand X, operand Y> auto floor_div(X x, Y y) { return record<ops::floor_div_op>(x, y); }
template <operand X, number N> auto floor_div(X x, N n) { return floor_div(x, like(x, n)); }
template <number N, operand X> auto floor_div(N n, X x) { return floor_div(like(x, n), x); }
/// The rest of x / y where the quotient is rounded down, broadcast: exact, and of y's sign, as in Python and NumPy.
/// Where y is 0 it is NaN, of integers 0. There is no operator %, which rounds toward 0 in C++, as / does.
template <operand X, operand Y> auto mod(X x, Y y) { return record<ops::mod_op>(x, y); }
template <operand X, number N> auto mod(X x, N n) { return mod(x, like(x, n)); }
template <number N, operand X> auto mod(N n, X x) { return mod(like(x, n), x); }

}  // namespace rill
