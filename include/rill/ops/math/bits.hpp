// Bits of integers: bit_and, bit_or, bit_xor, bit_not, shift_left, shift_right.
#pragma once
#include "rill/ops/array/constant.hpp"
#include "rill/ops/base/elementwise.hpp"

namespace rill::ops {

/// What operations on the bits of integers share: they refuse other numbers with a sentence that says what to do.
template <class Op, std::int8_t Arity> struct of_bits : elementwise<Op, Arity> {
  static constexpr dtypes elements = dtypes::integers;
  static constexpr type infer(no_attributes a, type const& x, checks expects = {})
    requires(Arity == 1)
  {
    expects(elements.contains(x.element), why);
    return elementwise<Op, 1>::infer(a, x, expects);
  }
  static constexpr type infer(no_attributes a, type const& x, type const& y, checks expects = {})
    requires(Arity == 2)
  {
    expects(elements.contains(x.element) && elements.contains(y.element), why);
    return elementwise<Op, 2>::infer(a, x, y, expects);
  }

 private:
  static constexpr char const* why =
      "only integers have bits: cast floats first, and call logical_and, logical_or, logical_xor or logical_not of "
      "bools";
};

struct bit_and_op : of_bits<bit_and_op, 2> {
  using library = void;
  static constexpr std::string_view name = "bit_and", doc = "the bits that both integers have, broadcast";
  static constexpr bool commutes = true;
  template <class S> static S apply(S x, S y) { return x & y; }
};

struct bit_or_op : of_bits<bit_or_op, 2> {
  using library = void;
  static constexpr std::string_view name = "bit_or", doc = "the bits that either integer has, broadcast";
  static constexpr bool commutes = true;
  template <class S> static S apply(S x, S y) { return x | y; }
};

struct bit_xor_op : of_bits<bit_xor_op, 2> {
  using library = void;
  static constexpr std::string_view name = "bit_xor", doc = "the bits that exactly one integer has, broadcast";
  static constexpr bool commutes = true;
  template <class S> static S apply(S x, S y) { return x ^ y; }
};

struct bit_not_op : of_bits<bit_not_op, 1> {
  using library = void;
  static constexpr std::string_view name = "bit_not", doc = "the integer with every bit turned over";
  template <class S> static S apply(S x) { return ~x; }
};

struct shift_left_op : of_bits<shift_left_op, 2> {
  using library = void;
  static constexpr std::string_view
      name = "shift_left",
      doc = "x shifted left by y bits, broadcast; 0 where y is negative or not less than the width of the type";
  template <class S> static S apply(S x, S y) { return shift_left(x, y); }
};

struct shift_right_op : of_bits<shift_right_op, 2> {
  using library = void;
  static constexpr std::string_view name = "shift_right",
                                    doc =
                                        "x shifted right by y bits, broadcast, with copies of the sign; where y is "
                                        "negative or not less than the width "
                                        "of the type, 0, or -1 for negative x";
  template <class S> static S apply(S x, S y) { return shift_right(x, y); }
};

}  // namespace rill::ops

namespace rill {

/// Returns the bits that both integers have, broadcast. Also `x & y`.
template <operand X, operand Y> auto bit_and(X x, Y y) { return record<ops::bit_and_op>(x, y); }
/// Returns the bits that either integer has, broadcast. Also `x | y`.
template <operand X, operand Y> auto bit_or(X x, Y y) { return record<ops::bit_or_op>(x, y); }
/// Returns the bits that exactly one integer has, broadcast. Also `x ^ y`.
template <operand X, operand Y> auto bit_xor(X x, Y y) { return record<ops::bit_xor_op>(x, y); }
/// Returns the integer with every bit turned over. Also `~x`.
template <operand X> auto bit_not(X x) { return record<ops::bit_not_op>(x); }
/// Returns integers shifted left by y bits, broadcast: 0 where y is negative or not less than the width of the type.
/// Also `x << y`.
template <operand X, operand Y> auto shift_left(X x, Y y) { return record<ops::shift_left_op>(x, y); }
/// Returns integers shifted right by y bits, broadcast, with copies of the sign. Where y is negative or not less than
/// the width of the type the result is 0, or -1 for negative x. Also `x >> y`.
template <operand X, operand Y> auto shift_right(X x, Y y) { return record<ops::shift_right_op>(x, y); }

template <operand X, number N> auto bit_and(X x, N n) { return bit_and(x, like(x, n)); }
template <operand X, number N> auto bit_or(X x, N n) { return bit_or(x, like(x, n)); }
template <operand X, number N> auto bit_xor(X x, N n) { return bit_xor(x, like(x, n)); }
template <operand X, number N> auto shift_left(X x, N n) { return shift_left(x, like(x, n)); }
template <operand X, number N> auto shift_right(X x, N n) { return shift_right(x, like(x, n)); }
template <number N, operand X> auto bit_and(N n, X x) { return bit_and(like(x, n), x); }
template <number N, operand X> auto bit_or(N n, X x) { return bit_or(like(x, n), x); }
template <number N, operand X> auto bit_xor(N n, X x) { return bit_xor(like(x, n), x); }
template <number N, operand X> auto shift_left(N n, X x) { return shift_left(like(x, n), x); }
template <number N, operand X> auto shift_right(N n, X x) { return shift_right(like(x, n), x); }

template <operand X, operand Y> auto operator<<(X x, Y y) { return shift_left(x, y); }
template <operand X, operand Y> auto operator>>(X x, Y y) { return shift_right(x, y); }
template <operand X, number N> auto operator<<(X x, N n) { return shift_left(x, n); }
template <operand X, number N> auto operator>>(X x, N n) { return shift_right(x, n); }
template <number N, operand X> auto operator<<(N n, X x) { return shift_left(n, x); }
template <number N, operand X> auto operator>>(N n, X x) { return shift_right(n, x); }

namespace detail {

/// The operation that an operator &, |, ^ or ~ stands for: `Bits` for integers, else `Logic`. The operators name it
/// themselves, so that compilers print no further function before an error.
template <typed X, class Bits, class Logic>
using bits_or_logic_op = std::conditional_t<dtypes::integers.contains(X::static_type.element), Bits, Logic>;
/// Records that operation for a handle without a static type.
template <class Bits, class Logic, operand X, operand... Y> auto bits_or_logic(X x, Y... y) {
  if constexpr (stands_for_number<X>) return record<Logic>(x, y...);
  else {
    graph_of(x);  // refuses an empty handle, which has no type
    return dtypes::integers.contains(x.type().element) ? value(record<Bits>(x, y...)) : value(record<Logic>(x, y...));
  }
}

}  // namespace detail

}  // namespace rill
