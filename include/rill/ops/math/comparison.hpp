// Comparisons, element by element: equal, less.
#pragma once
#include "rill/ops/array/constant.hpp"
#include "rill/ops/elementwise.hpp"

namespace rill::ops {

/// What comparisons share: two operands of one element type, a bool out.
template <class Op> struct comparison : elementwise<Op, 2> {
  static constexpr dtype result = dtype::boolean;
  static constexpr type infer(no_attributes a, type const& x, type const& y) {
    return elementwise<Op, 2>::infer(a, x, y).with(dtype::boolean);
  }
};

struct equal_op : comparison<equal_op> {
  using library = void;
  static constexpr std::string_view name = "equal", doc = "x == y, broadcast; NaN equals nothing", cuda = "$0 == $1";
  static constexpr dtypes elements = any_element;
  static constexpr bool commutes = true;
  template <class S> static auto apply(S x, S y) { return x == y; }
};

struct less_op : comparison<less_op> {
  using library = void;
  static constexpr std::string_view name = "less", doc = "x < y, broadcast; false if either is NaN", cuda = "$0 < $1";
  static constexpr dtypes elements = reals;
  template <class S> static auto apply(S x, S y) { return x < y; }
};

}  // namespace rill::ops

namespace rill {

/// x == y, broadcast; a bool for each pair.
template <operand X, operand Y> auto equal(X x, Y y) { return record<ops::equal_op>(x, y); }
/// x < y, broadcast; a bool for each pair.
template <operand X, operand Y> auto less(X x, Y y) { return record<ops::less_op>(x, y); }
/// x > y, broadcast; a bool for each pair.
template <operand X, operand Y> auto greater(X x, Y y) { return less(y, x); }

template <operand X, operand Y> auto operator==(X x, Y y) { return equal(x, y); }
template <operand X, operand Y> auto operator<(X x, Y y) { return less(x, y); }
template <operand X, operand Y> auto operator>(X x, Y y) { return less(y, x); }
template <operand X, number N> auto operator==(X x, N n) { return equal(x, like(x, n)); }
template <operand X, number N> auto operator<(X x, N n) { return less(x, like(x, n)); }
template <operand X, number N> auto operator>(X x, N n) { return less(like(x, n), x); }

}  // namespace rill
