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
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    return r.inputs[0].element == dtype::string
               ? of_strings(r.inputs[0].shape(), r.inputs[1].shape(), r.outputs[0].shape())
               : elementwise<equal_op, 2>::cpu(r);
  }

 private:
  // Programs know no strings, so these broadcast by themselves: an index of the result as one of an operand.
  static std::int64_t within(shape const& x, shape const& y, std::int64_t at) {
    std::int64_t index = 0, apart = 1;
    for (std::size_t i = 1; i <= y.rank(); at /= y[y.rank() - i], ++i) {
      if (i > x.rank()) continue;
      auto const extent = x[x.rank() - i];
      index += extent == 1 ? 0 : at % y[y.rank() - i] * apart;
      apart *= extent;
    }
    return index;
  }
  static kernel of_strings(shape const& a, shape const& b, shape const& y) {
    return kernel([=, n = rill::elements(y)](kernel_call const& call) {
      for (std::int64_t i = 0; i < n; ++i)
        call.out<bool>(0)[i] = call.in<std::string>(0)[within(a, y, i)] == call.in<std::string>(1)[within(b, y, i)];
    });
  }
#endif
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
