// Comparisons, element by element, and what truth values are combined by: equal, less, less_equal; logical_and,
// logical_or, logical_not.
#pragma once
#include "rill/ops/array/constant.hpp"
#include "rill/ops/elementwise.hpp"

#if RILL_DEFINITIONS || RILL_RUNTIME
#include "rill/ops/string_kernels.hpp"
#endif

namespace rill::ops {

/// What comparisons share: two operands of one element type, a bool out.
template <class Op> struct comparison : elementwise<Op, 2> {
  static constexpr dtype result = dtype::boolean;
  static constexpr type infer(no_attributes a, type const& x, type const& y) {
    return elementwise<Op, 2>::infer(a, x, y).with(dtype::boolean);
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
  static constexpr std::string_view name = "equal", doc = "x == y, broadcast; NaN equals nothing", cuda = "$0 == $1";
  static constexpr dtypes elements = any_element;
  static constexpr bool commutes = true;
  template <class S> static auto apply(S x, S y) { return x == y; }
};

struct less_op : comparison<less_op> {
  using library = void;
  static constexpr std::string_view name = "less",
                                    doc = "x < y, broadcast; false if either is NaN; strings byte by byte",
                                    cuda = "$0 < $1";
  static constexpr dtypes elements = reals | dtype::string;
  template <class S> static auto apply(S x, S y) { return x < y; }
};

// Not the opposite of y < x, which is true of a NaN.
struct less_equal_op : comparison<less_equal_op> {
  using library = void;
  static constexpr std::string_view name = "less_equal",
                                    doc = "x <= y, broadcast; false if either is NaN; strings byte by byte",
                                    cuda = "$0 <= $1";
  static constexpr dtypes elements = reals | dtype::string;
  template <class S> static auto apply(S x, S y) { return x <= y; }
};

struct logical_and_op : elementwise<logical_and_op, 2> {
  using library = void;
  static constexpr std::string_view name = "logical_and", doc = "whether both are true, broadcast", cuda = "$0 && $1";
  static constexpr dtypes elements = dtype::boolean;
  static constexpr bool commutes = true;
  template <class S> static S apply(S x, S y) { return x & y; }
};

struct logical_or_op : elementwise<logical_or_op, 2> {
  using library = void;
  static constexpr std::string_view name = "logical_or", doc = "whether either is true, broadcast", cuda = "$0 || $1";
  static constexpr dtypes elements = dtype::boolean;
  static constexpr bool commutes = true;
  template <class S> static S apply(S x, S y) { return x | y; }
};

struct logical_not_op : elementwise<logical_not_op, 1> {
  using library = void;
  static constexpr std::string_view name = "logical_not", doc = "whether x is false", cuda = "!$0";
  static constexpr dtypes elements = dtype::boolean;
  template <class S> static S apply(S x) { return !x; }
};

}  // namespace rill::ops

namespace rill {

/// x == y, broadcast; a bool for each pair.
template <operand X, operand Y> auto equal(X x, Y y) { return record<ops::equal_op>(x, y); }
/// x < y, broadcast; a bool for each pair. Strings are compared byte by byte.
template <operand X, operand Y> auto less(X x, Y y) { return record<ops::less_op>(x, y); }
/// x > y, broadcast; a bool for each pair.
template <operand X, operand Y> auto greater(X x, Y y) { return less(y, x); }
/// x <= y, broadcast; a bool for each pair, false if either is NaN.
template <operand X, operand Y> auto less_equal(X x, Y y) { return record<ops::less_equal_op>(x, y); }
/// x >= y, broadcast; a bool for each pair, false if either is NaN.
template <operand X, operand Y> auto greater_equal(X x, Y y) { return less_equal(y, x); }
/// Whether both are true, broadcast. Both are computed, as everywhere in a graph: `cond` is for what must not be.
template <operand X, operand Y> auto logical_and(X x, Y y) { return record<ops::logical_and_op>(x, y); }
/// Whether either is true, broadcast. Both are computed.
template <operand X, operand Y> auto logical_or(X x, Y y) { return record<ops::logical_or_op>(x, y); }
/// Whether x is false.
template <operand X> auto logical_not(X x) { return record<ops::logical_not_op>(x); }
/// x != y, broadcast; a bool for each pair, true if either is NaN.
template <operand X, operand Y> auto not_equal(X x, Y y) { return logical_not(equal(x, y)); }

template <operand X, operand Y> auto operator==(X x, Y y) { return equal(x, y); }
template <operand X, operand Y> auto operator!=(X x, Y y) { return not_equal(x, y); }
template <operand X, operand Y> auto operator<(X x, Y y) { return less(x, y); }
template <operand X, operand Y> auto operator>(X x, Y y) { return less(y, x); }
template <operand X, operand Y> auto operator<=(X x, Y y) { return less_equal(x, y); }
template <operand X, operand Y> auto operator>=(X x, Y y) { return less_equal(y, x); }
// Not &&, || and !, which ask whether a handle is empty.
template <operand X, operand Y> auto operator&(X x, Y y) { return logical_and(x, y); }
template <operand X, operand Y> auto operator|(X x, Y y) { return logical_or(x, y); }
template <operand X> auto operator~(X x) { return logical_not(x); }
template <operand X, number N> auto operator==(X x, N n) { return equal(x, like(x, n)); }
template <operand X, number N> auto operator!=(X x, N n) { return not_equal(x, like(x, n)); }
template <operand X, number N> auto operator<(X x, N n) { return less(x, like(x, n)); }
template <operand X, number N> auto operator>(X x, N n) { return less(like(x, n), x); }
template <operand X, number N> auto operator<=(X x, N n) { return less_equal(x, like(x, n)); }
template <operand X, number N> auto operator>=(X x, N n) { return less_equal(like(x, n), x); }

}  // namespace rill
