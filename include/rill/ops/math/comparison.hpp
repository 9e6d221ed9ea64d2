// Elementwise comparisons and logic: equal, less, less_equal; logical_and, logical_or, logical_xor, logical_not. And
// kinds of floats: is_nan, is_inf, is_finite.
#pragma once
#include "rill/ops/array/constant.hpp"
#include "rill/ops/base/elementwise.hpp"
#include "rill/ops/math/bits.hpp"

#include "rill/ops/base/string_kernels.hpp"

namespace rill::ops {

/// What comparisons share: two operands of one element type, a result of bool.
template <class Op> struct comparison : elementwise<Op, 2> {
  static constexpr dtype result = dtype::boolean;
  static constexpr type infer(no_attributes a, type const& x, type const& y, checks expects = {}) {
    return elementwise<Op, 2>::infer(a, x, y, expects).with(dtype::boolean);
  }
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    if (r.inputs[0].element != dtype::string) return elementwise<Op, 2>::cpu(r);
    return rill::detail::compare_strings(r, [](std::string_view x, std::string_view y) { return Op::apply(x, y); });
  }
#endif
};

struct equal_op : comparison<equal_op> {
  using library = void;
  static constexpr std::string_view name = "equal", doc = "x == y, broadcast; NaN equals nothing";
  static constexpr dtypes elements = dtypes::any_element;
  static constexpr bool commutes = true;
  template <class S> static auto apply(S x, S y) { return x == y; }
};

struct less_op : comparison<less_op> {
  using library = void;
  static constexpr std::string_view name = "less",
                                    doc = "x < y, broadcast; false if either is NaN; strings compare byte by byte";
  static constexpr dtypes elements = dtypes::reals | dtype::string;
  template <class S> static auto apply(S x, S y) { return x < y; }
};

// Not the negation of y < x, which is true of a NaN.
struct less_equal_op : comparison<less_equal_op> {
  using library = void;
  static constexpr std::string_view name = "less_equal",
                                    doc = "x <= y, broadcast; false if either is NaN; strings compare byte by byte";
  static constexpr dtypes elements = dtypes::reals | dtype::string;
  template <class S> static auto apply(S x, S y) { return x <= y; }
};

struct logical_and_op : elementwise<logical_and_op, 2> {
  using library = void;
  static constexpr std::string_view name = "logical_and", doc = "whether both are true, broadcast";
  static constexpr dtypes elements = dtype::boolean;
  static constexpr bool commutes = true;
  template <class S> static S apply(S x, S y) { return x & y; }
};

struct logical_or_op : elementwise<logical_or_op, 2> {
  using library = void;
  static constexpr std::string_view name = "logical_or", doc = "whether either is true, broadcast";
  static constexpr dtypes elements = dtype::boolean;
  static constexpr bool commutes = true;
  template <class S> static S apply(S x, S y) { return x | y; }
};

struct logical_xor_op : elementwise<logical_xor_op, 2> {
  using library = void;
  static constexpr std::string_view name = "logical_xor", doc = "whether exactly one is true, broadcast";
  static constexpr dtypes elements = dtype::boolean;
  static constexpr bool commutes = true;
  template <class S> static S apply(S x, S y) { return x ^ y; }
};

struct logical_not_op : elementwise<logical_not_op, 1> {
  using library = void;
  static constexpr std::string_view name = "logical_not", doc = "whether x is false";
  static constexpr dtypes elements = dtype::boolean;
  template <class S> static S apply(S x) { return !x; }
};

/// What predicates of a float share: a result of bool.
template <class Op> struct float_question : elementwise<Op, 1> {
  static constexpr dtypes elements = dtypes::floats;
  static constexpr dtype result = dtype::boolean;
  static constexpr type infer(no_attributes a, type const& x, checks expects = {}) {
    return elementwise<Op, 1>::infer(a, x, expects).with(dtype::boolean);
  }
};

struct is_nan_op : float_question<is_nan_op> {
  using library = void;
  static constexpr std::string_view name = "is_nan", doc = "whether x is NaN";
  template <class S> static auto apply(S x) { return is_nan(x); }
};

struct is_inf_op : float_question<is_inf_op> {
  using library = void;
  static constexpr std::string_view name = "is_inf", doc = "whether x is infinite, of either sign";
  template <class S> static auto apply(S x) { return is_inf(x); }
};

struct is_finite_op : float_question<is_finite_op> {
  using library = void;
  static constexpr std::string_view name = "is_finite", doc = "whether x is neither NaN nor infinite";
  template <class S> static auto apply(S x) { return is_finite(x); }
};

}  // namespace rill::ops

namespace rill {

/// Returns x == y, broadcast; a bool for each pair.
template <operand X, operand Y> auto equal(X x, Y y) { return record<ops::equal_op>(x, y); }
/// Returns x < y, broadcast; a bool for each pair. Strings are compared byte by byte.
template <operand X, operand Y> auto less(X x, Y y) { return record<ops::less_op>(x, y); }
/// Returns x > y, broadcast; a bool for each pair.
template <operand X, operand Y> auto greater(X x, Y y) { return record<ops::less_op>(y, x); }
/// Returns x <= y, broadcast; a bool for each pair, false if either is NaN.
template <operand X, operand Y> auto less_equal(X x, Y y) { return record<ops::less_equal_op>(x, y); }
/// Returns x >= y, broadcast; a bool for each pair, false if either is NaN.
template <operand X, operand Y> auto greater_equal(X x, Y y) { return record<ops::less_equal_op>(y, x); }
/// Whether both are true, broadcast. Both operands are computed; use `cond` where only one may be.
template <operand X, operand Y> auto logical_and(X x, Y y) { return record<ops::logical_and_op>(x, y); }
/// Whether either is true, broadcast. Both operands are computed.
template <operand X, operand Y> auto logical_or(X x, Y y) { return record<ops::logical_or_op>(x, y); }
/// Whether exactly one is true, broadcast.
template <operand X, operand Y> auto logical_xor(X x, Y y) { return record<ops::logical_xor_op>(x, y); }
/// Whether x is false.
template <operand X> auto logical_not(X x) { return record<ops::logical_not_op>(x); }
/// Returns x != y, broadcast; a bool for each pair, true if either is NaN.
template <operand X, operand Y> auto not_equal(X x, Y y) { return logical_not(record<ops::equal_op>(x, y)); }

template <operand X, number N> auto equal(X x, N n) { return equal(x, like(x, n)); }
template <operand X, number N> auto less(X x, N n) { return less(x, like(x, n)); }
template <operand X, number N> auto greater(X x, N n) { return greater(x, like(x, n)); }
template <operand X, number N> auto less_equal(X x, N n) { return less_equal(x, like(x, n)); }
template <operand X, number N> auto greater_equal(X x, N n) { return greater_equal(x, like(x, n)); }
template <operand X, number N> auto not_equal(X x, N n) { return not_equal(x, like(x, n)); }
template <number N, operand X> auto equal(N n, X x) { return equal(like(x, n), x); }
template <number N, operand X> auto less(N n, X x) { return less(like(x, n), x); }
template <number N, operand X> auto greater(N n, X x) { return greater(like(x, n), x); }
template <number N, operand X> auto less_equal(N n, X x) { return less_equal(like(x, n), x); }
template <number N, operand X> auto greater_equal(N n, X x) { return greater_equal(like(x, n), x); }
template <number N, operand X> auto not_equal(N n, X x) { return not_equal(like(x, n), x); }

/// Whether a float is NaN.
template <operand X> auto is_nan(X x) { return record<ops::is_nan_op>(x); }
/// Whether a float is infinite, of either sign.
template <operand X> auto is_inf(X x) { return record<ops::is_inf_op>(x); }
/// Whether a float is neither NaN nor infinite.
template <operand X> auto is_finite(X x) { return record<ops::is_finite_op>(x); }

template <operand X, operand Y> auto operator==(X x, Y y) { return record<ops::equal_op>(x, y); }
template <operand X, operand Y> auto operator!=(X x, Y y) { return logical_not(record<ops::equal_op>(x, y)); }
template <operand X, operand Y> auto operator<(X x, Y y) { return record<ops::less_op>(x, y); }
template <operand X, operand Y> auto operator>(X x, Y y) { return record<ops::less_op>(y, x); }
template <operand X, operand Y> auto operator<=(X x, Y y) { return record<ops::less_equal_op>(x, y); }
template <operand X, operand Y> auto operator>=(X x, Y y) { return record<ops::less_equal_op>(y, x); }
// Of bools, and of the bits of integers. Not &&, || and !, which ask whether a handle is empty.
template <operand X, operand Y> auto operator&(X x, Y y) {
  if constexpr (typed<X>) return record<detail::bits_or_logic_op<X, ops::bit_and_op, ops::logical_and_op>>(x, y);
  else return detail::bits_or_logic<ops::bit_and_op, ops::logical_and_op>(x, y);
}
template <operand X, operand Y> auto operator|(X x, Y y) {
  if constexpr (typed<X>) return record<detail::bits_or_logic_op<X, ops::bit_or_op, ops::logical_or_op>>(x, y);
  else return detail::bits_or_logic<ops::bit_or_op, ops::logical_or_op>(x, y);
}
template <operand X, operand Y> auto operator^(X x, Y y) {
  if constexpr (typed<X>) return record<detail::bits_or_logic_op<X, ops::bit_xor_op, ops::logical_xor_op>>(x, y);
  else return detail::bits_or_logic<ops::bit_xor_op, ops::logical_xor_op>(x, y);
}
template <operand X> auto operator~(X x) {
  if constexpr (typed<X>) return record<detail::bits_or_logic_op<X, ops::bit_not_op, ops::logical_not_op>>(x);
  else return detail::bits_or_logic<ops::bit_not_op, ops::logical_not_op>(x);
}
template <operand X, number N> auto operator&(X x, N n) { return x & like(x, n); }
template <operand X, number N> auto operator|(X x, N n) { return x | like(x, n); }
template <operand X, number N> auto operator^(X x, N n) { return x ^ like(x, n); }
template <number N, operand X> auto operator&(N n, X x) { return like(x, n) & x; }
template <number N, operand X> auto operator|(N n, X x) { return like(x, n) | x; }
template <number N, operand X> auto operator^(N n, X x) { return like(x, n) ^ x; }
template <operand X, number N> auto operator==(X x, N n) { return equal(x, n); }
template <operand X, number N> auto operator!=(X x, N n) { return not_equal(x, n); }
template <operand X, number N> auto operator<(X x, N n) { return less(x, n); }
template <operand X, number N> auto operator>(X x, N n) { return greater(x, n); }
template <operand X, number N> auto operator<=(X x, N n) { return less_equal(x, n); }
template <operand X, number N> auto operator>=(X x, N n) { return greater_equal(x, n); }
template <number N, operand X> auto operator==(N n, X x) { return equal(n, x); }
template <number N, operand X> auto operator!=(N n, X x) { return not_equal(n, x); }
template <number N, operand X> auto operator<(N n, X x) { return less(n, x); }
template <number N, operand X> auto operator>(N n, X x) { return greater(n, x); }
template <number N, operand X> auto operator<=(N n, X x) { return less_equal(n, x); }
template <number N, operand X> auto operator>=(N n, X x) { return greater_equal(n, x); }

}  // namespace rill
