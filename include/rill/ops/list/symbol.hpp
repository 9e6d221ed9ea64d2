// Symbolic numbers: a lambda called with them records its program.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

#include "rill/dsl/expr.hpp"
#include "rill/ops/math/activations.hpp"
#include "rill/ops/math/cast.hpp"
#include "rill/ops/math/hyperbolic.hpp"
#include "rill/ops/math/trigonometry.hpp"

namespace rill {

namespace detail {
template <dtype E> inline constexpr bool is_known_already = false;
}

/// A number of type `E` in register `at` of a program that is being recorded.
template <dtype E> struct symbol {
  program* into;
  std::uint16_t at;

  /// Returns the number, a 16-bit float as float32, for functions of several operations.
  symbol<detail::wide_element(E)> widened() const;
  /// Returns what was computed from `widened()` in the number's type.
  template <class Y> static auto rounded(Y y);

  /// Returns conversions that are refused, because functions of `std`, conditions and operands of two element types
  /// would need them.
  operator double() const {
    static_assert(
        detail::is_known_already<E>,
        "fuse: the lambda's numbers are known when a step runs. Functions that docs/guide.md lists take them, "
        "by names without std::; select takes the place of if and ?:, and all are of one element type");
    return 0;
  }
};
template <dtype E> inline constexpr bool detail::stands_for_number<symbol<E>> = true;

namespace detail {

// All immediates must precede the instructions, so immediates are numbered from the top down while a program grows.
inline constexpr std::uint16_t immediate_mark = 0x8000;

template <dtype R, class Op, dtype... E> symbol<R> computed(symbol<E>... operands) {
  provide_kernels<Op, (dtypes{R} | ... | E)>();
  program* p = nullptr;
  ((p = operands.into ? operands.into : p), ...);
  p->instructions.push_back({definition<Op>().elementwise, {operands.at...}, R});
  return {p, static_cast<std::uint16_t>(p->inputs.size() + p->instructions.size() - 1)};
}

// Op of x; of complex numbers, which it does not take, a composition.
template <dtype E, class Op, class Composed> symbol<E> computed_or_composed(symbol<E> x) {
  if constexpr (rill::is_complex(E)) return Composed{}(x);
  else return computed<E, Op>(x);
}

template <dtype E, class N> symbol<E> immediate_symbol(program* p, N n) {
  tensor const t = literal_as<element_of<E>>(n);
  auto const wanted = immediate::of(t.item<element_of<E>>());
  auto const at = std::find(p->immediates.begin(), p->immediates.end(), wanted) - p->immediates.begin();
  if (at == std::ssize(p->immediates)) p->immediates.push_back(wanted);
  return {p, static_cast<std::uint16_t>(immediate_mark + at)};
}

// Gives every register its final number: inputs, immediates, results.
inline std::uint16_t register_number(program const& p, std::uint16_t r) {
  if (r >= immediate_mark) return static_cast<std::uint16_t>(p.inputs.size() + (r - immediate_mark));
  return r < p.inputs.size() ? r : static_cast<std::uint16_t>(r + p.immediates.size());
}
inline void number_registers(program& p) {
  expects(p.inputs.size() + p.instructions.size() <= immediate_mark && p.immediates.size() < immediate_mark,
          "a program has at most 32,768 inputs and lines, and 32,767 constants");
  for (auto& i : p.instructions)
    for (std::size_t k = 0; k < i.function->arity; ++k) i.operands[k] = register_number(p, i.operands[k]);
  for (auto& o : p.outputs) o = register_number(p, o);
}

}  // namespace detail

template <dtype E> symbol<detail::wide_element(E)> symbol<E>::widened() const {
  if constexpr (detail::wide_element(E) == E) return *this;
  else return detail::computed<detail::wide_element(E), ops::cast_op>(*this);
}
template <dtype E> template <class Y> auto symbol<E>::rounded(Y y) {
  if constexpr (detail::wide_element(E) != E && std::same_as<Y, symbol<detail::wide_element(E)>>)
    return detail::computed<E, ops::cast_op>(y);
  else return y;
}

// clang-format off
///@{
/// Adds the operation of that name to the program of a lambda of `fuse`.
template <dtype E> symbol<E> operator+(symbol<E> x, symbol<E> y) { return detail::computed<E, ops::add_op>(x, y); }
template <dtype E> symbol<E> operator-(symbol<E> x, symbol<E> y) { return detail::computed<E, ops::sub_op>(x, y); }
template <dtype E> symbol<E> operator*(symbol<E> x, symbol<E> y) { return detail::computed<E, ops::mul_op>(x, y); }
template <dtype E> symbol<E> operator/(symbol<E> x, symbol<E> y) { return detail::computed<E, ops::div_op>(x, y); }
template <dtype E> symbol<E> operator-(symbol<E> x) { return detail::computed<E, ops::neg_op>(x); }
template <dtype E> symbol<dtype::boolean> operator==(symbol<E> x, symbol<E> y) { return detail::computed<dtype::boolean, ops::equal_op>(x, y); }
template <dtype E> symbol<dtype::boolean> operator<(symbol<E> x, symbol<E> y) { return detail::computed<dtype::boolean, ops::less_op>(x, y); }
template <dtype E> symbol<dtype::boolean> operator>(symbol<E> x, symbol<E> y) { return y < x; }
template <dtype E> symbol<dtype::boolean> operator<=(symbol<E> x, symbol<E> y) { return detail::computed<dtype::boolean, ops::less_equal_op>(x, y); }
template <dtype E> symbol<dtype::boolean> operator>=(symbol<E> x, symbol<E> y) { return y <= x; }
inline symbol<dtype::boolean> operator&(symbol<dtype::boolean> x, symbol<dtype::boolean> y) { return detail::computed<dtype::boolean, ops::logical_and_op>(x, y); }
inline symbol<dtype::boolean> operator|(symbol<dtype::boolean> x, symbol<dtype::boolean> y) { return detail::computed<dtype::boolean, ops::logical_or_op>(x, y); }
inline symbol<dtype::boolean> operator^(symbol<dtype::boolean> x, symbol<dtype::boolean> y) { return detail::computed<dtype::boolean, ops::logical_xor_op>(x, y); }
inline symbol<dtype::boolean> operator~(symbol<dtype::boolean> x) { return detail::computed<dtype::boolean, ops::logical_not_op>(x); }
template <dtype E> symbol<dtype::boolean> operator!=(symbol<E> x, symbol<E> y) { return ~(x == y); }

template <dtype E, number N> auto operator+(symbol<E> x, N n) { return x + detail::immediate_symbol<E>(x.into, n); }
template <dtype E, number N> auto operator-(symbol<E> x, N n) { return x - detail::immediate_symbol<E>(x.into, n); }
template <dtype E, number N> auto operator*(symbol<E> x, N n) { return x * detail::immediate_symbol<E>(x.into, n); }
template <dtype E, number N> auto operator/(symbol<E> x, N n) { return x / detail::immediate_symbol<E>(x.into, n); }
template <number N, dtype E> auto operator+(N n, symbol<E> x) { return detail::immediate_symbol<E>(x.into, n) + x; }
template <number N, dtype E> auto operator-(N n, symbol<E> x) { return detail::immediate_symbol<E>(x.into, n) - x; }
template <number N, dtype E> auto operator*(N n, symbol<E> x) { return detail::immediate_symbol<E>(x.into, n) * x; }
template <number N, dtype E> auto operator/(N n, symbol<E> x) { return detail::immediate_symbol<E>(x.into, n) / x; }

template <dtype E> symbol<E> exp(symbol<E> x) { return detail::computed<E, ops::exp_op>(x); }
template <dtype E> symbol<E> expm1(symbol<E> x) { return detail::computed<E, ops::expm1_op>(x); }
template <dtype E> symbol<E> log(symbol<E> x) { return detail::computed<E, ops::log_op>(x); }
template <dtype E> symbol<E> log1p(symbol<E> x) { return detail::computed<E, ops::log1p_op>(x); }
template <dtype E> symbol<E> tanh(symbol<E> x) { return detail::computed<E, ops::tanh_op>(x); }
template <dtype E> symbol<E> sigmoid(symbol<E> x) { return detail::computed<E, ops::sigmoid_op>(x); }
template <dtype E> symbol<E> softplus(symbol<E> x) { return detail::computed<E, ops::softplus_op>(x); }
template <dtype E> symbol<E> erf(symbol<E> x) { return detail::computed<E, ops::erf_op>(x); }
template <dtype E> symbol<E> silu(symbol<E> x) { return detail::computed_or_composed<E, ops::silu_op, detail::composed_silu>(x); }
template <dtype E> symbol<E> gelu(symbol<E> x) { return detail::computed<E, ops::gelu_op>(x); }
template <dtype E> symbol<E> gelu_tanh(symbol<E> x) { return detail::computed_or_composed<E, ops::gelu_tanh_op, detail::composed_gelu_tanh>(x); }
template <dtype E> symbol<E> mish(symbol<E> x) { return detail::computed<E, ops::mish_op>(x); }
template <dtype E> symbol<E> normal_cdf(symbol<E> x) { return detail::computed<E, ops::normal_cdf_op>(x); }
template <dtype E> symbol<E> sin(symbol<E> x) { return detail::computed<E, ops::sin_op>(x); }
template <dtype E> symbol<E> cos(symbol<E> x) { return detail::computed<E, ops::cos_op>(x); }
template <dtype E> symbol<E> tan(symbol<E> x) { return detail::computed<E, ops::tan_op>(x); }
template <dtype E> symbol<E> asin(symbol<E> x) { return detail::computed<E, ops::asin_op>(x); }
template <dtype E> symbol<E> acos(symbol<E> x) { return detail::computed<E, ops::acos_op>(x); }
template <dtype E> symbol<E> atan(symbol<E> x) { return detail::computed<E, ops::atan_op>(x); }
template <dtype E> symbol<E> sinh(symbol<E> x) { return detail::computed<E, ops::sinh_op>(x); }
template <dtype E> symbol<E> cosh(symbol<E> x) { return detail::computed<E, ops::cosh_op>(x); }
template <dtype E> symbol<E> asinh(symbol<E> x) { return detail::computed<E, ops::asinh_op>(x); }
template <dtype E> symbol<E> acosh(symbol<E> x) { return detail::computed<E, ops::acosh_op>(x); }
template <dtype E> symbol<E> atanh(symbol<E> x) { return detail::computed<E, ops::atanh_op>(x); }
template <dtype E> symbol<E> exp2(symbol<E> x) { return detail::computed<E, ops::exp2_op>(x); }
template <dtype E> symbol<E> log2(symbol<E> x) { return detail::computed<E, ops::log2_op>(x); }
template <dtype E> symbol<E> log10(symbol<E> x) { return detail::computed<E, ops::log10_op>(x); }
template <dtype E> symbol<E> sqrt(symbol<E> x) { return detail::computed<E, ops::sqrt_op>(x); }
template <dtype E> symbol<E> neg(symbol<E> x) { return -x; }
template <dtype E> symbol<E> square(symbol<E> x) { return detail::computed<E, ops::square_op>(x); }
template <dtype E> symbol<real_of(E)> abs(symbol<E> x) { return detail::computed<real_of(E), ops::abs_op>(x); }
template <dtype E> symbol<E> sign(symbol<E> x) { return detail::computed<E, ops::sign_op>(x); }
template <dtype E> symbol<E> floor(symbol<E> x) { return detail::computed<E, ops::floor_op>(x); }
template <dtype E> symbol<E> ceil(symbol<E> x) { return detail::computed<E, ops::ceil_op>(x); }
template <dtype E> symbol<E> round(symbol<E> x) { return detail::computed<E, ops::round_op>(x); }
template <dtype E> symbol<E> trunc(symbol<E> x) { return detail::computed<E, ops::trunc_op>(x); }
template <dtype E> symbol<E> relu(symbol<E> x) { return detail::computed<E, ops::relu_op>(x); }
template <dtype E> symbol<dtype::boolean> is_nan(symbol<E> x) { return detail::computed<dtype::boolean, ops::is_nan_op>(x); }
template <dtype E> symbol<dtype::boolean> is_inf(symbol<E> x) { return detail::computed<dtype::boolean, ops::is_inf_op>(x); }
template <dtype E> symbol<dtype::boolean> is_finite(symbol<E> x) { return detail::computed<dtype::boolean, ops::is_finite_op>(x); }
template <dtype E> symbol<E> maximum(symbol<E> x, symbol<E> y) { return detail::computed<E, ops::maximum_op>(x, y); }
template <dtype E> symbol<E> minimum(symbol<E> x, symbol<E> y) { return detail::computed<E, ops::minimum_op>(x, y); }
template <dtype E> symbol<E> pow(symbol<E> x, symbol<E> y) { return detail::computed<E, ops::pow_op>(x, y); }
template <dtype E> symbol<E> mod(symbol<E> x, symbol<E> y) { return detail::computed<E, ops::mod_op>(x, y); }
template <dtype E> symbol<E> floor_div(symbol<E> x, symbol<E> y) { return detail::computed<E, ops::floor_div_op>(x, y); }
template <dtype E> symbol<E> atan2(symbol<E> y, symbol<E> x) { return detail::computed<E, ops::atan2_op>(y, x); }
template <dtype E> symbol<dtype::boolean> equal(symbol<E> x, symbol<E> y) { return x == y; }
template <dtype E> symbol<dtype::boolean> not_equal(symbol<E> x, symbol<E> y) { return x != y; }
template <dtype E> symbol<dtype::boolean> less(symbol<E> x, symbol<E> y) { return x < y; }
template <dtype E> symbol<dtype::boolean> less_equal(symbol<E> x, symbol<E> y) { return x <= y; }
template <dtype E> symbol<dtype::boolean> greater(symbol<E> x, symbol<E> y) { return x > y; }
template <dtype E> symbol<dtype::boolean> greater_equal(symbol<E> x, symbol<E> y) { return x >= y; }
inline symbol<dtype::boolean> logical_and(symbol<dtype::boolean> x, symbol<dtype::boolean> y) { return x & y; }
inline symbol<dtype::boolean> logical_or(symbol<dtype::boolean> x, symbol<dtype::boolean> y) { return x | y; }
inline symbol<dtype::boolean> logical_xor(symbol<dtype::boolean> x, symbol<dtype::boolean> y) { return x ^ y; }
inline symbol<dtype::boolean> logical_not(symbol<dtype::boolean> x) { return ~x; }

// With a number on either side.
template <dtype E, number N> auto maximum(symbol<E> x, N n) { return maximum(x, detail::immediate_symbol<E>(x.into, n)); }
template <number N, dtype E> auto maximum(N n, symbol<E> x) { return maximum(detail::immediate_symbol<E>(x.into, n), x); }
template <dtype E, number N> auto minimum(symbol<E> x, N n) { return minimum(x, detail::immediate_symbol<E>(x.into, n)); }
template <number N, dtype E> auto minimum(N n, symbol<E> x) { return minimum(detail::immediate_symbol<E>(x.into, n), x); }
template <dtype E, number N> auto pow(symbol<E> x, N n) { return pow(x, detail::immediate_symbol<E>(x.into, n)); }
template <number N, dtype E> auto pow(N n, symbol<E> x) { return pow(detail::immediate_symbol<E>(x.into, n), x); }
template <dtype E, number N> auto mod(symbol<E> x, N n) { return mod(x, detail::immediate_symbol<E>(x.into, n)); }
template <number N, dtype E> auto mod(N n, symbol<E> x) { return mod(detail::immediate_symbol<E>(x.into, n), x); }
template <dtype E, number N> auto floor_div(symbol<E> x, N n) { return floor_div(x, detail::immediate_symbol<E>(x.into, n)); }
template <number N, dtype E> auto floor_div(N n, symbol<E> x) { return floor_div(detail::immediate_symbol<E>(x.into, n), x); }
template <dtype E, number N> auto atan2(symbol<E> x, N n) { return atan2(x, detail::immediate_symbol<E>(x.into, n)); }
template <number N, dtype E> auto atan2(N n, symbol<E> x) { return atan2(detail::immediate_symbol<E>(x.into, n), x); }
template <dtype E, number N> auto equal(symbol<E> x, N n) { return equal(x, detail::immediate_symbol<E>(x.into, n)); }
template <number N, dtype E> auto equal(N n, symbol<E> x) { return equal(detail::immediate_symbol<E>(x.into, n), x); }
template <dtype E, number N> auto not_equal(symbol<E> x, N n) { return not_equal(x, detail::immediate_symbol<E>(x.into, n)); }
template <number N, dtype E> auto not_equal(N n, symbol<E> x) { return not_equal(detail::immediate_symbol<E>(x.into, n), x); }
template <dtype E, number N> auto less(symbol<E> x, N n) { return less(x, detail::immediate_symbol<E>(x.into, n)); }
template <number N, dtype E> auto less(N n, symbol<E> x) { return less(detail::immediate_symbol<E>(x.into, n), x); }
template <dtype E, number N> auto less_equal(symbol<E> x, N n) { return less_equal(x, detail::immediate_symbol<E>(x.into, n)); }
template <number N, dtype E> auto less_equal(N n, symbol<E> x) { return less_equal(detail::immediate_symbol<E>(x.into, n), x); }
template <dtype E, number N> auto greater(symbol<E> x, N n) { return greater(x, detail::immediate_symbol<E>(x.into, n)); }
template <number N, dtype E> auto greater(N n, symbol<E> x) { return greater(detail::immediate_symbol<E>(x.into, n), x); }
template <dtype E, number N> auto greater_equal(symbol<E> x, N n) { return greater_equal(x, detail::immediate_symbol<E>(x.into, n)); }
template <number N, dtype E> auto greater_equal(N n, symbol<E> x) { return greater_equal(detail::immediate_symbol<E>(x.into, n), x); }
template <dtype E, number N> auto operator==(symbol<E> x, N n) { return equal(x, n); }
template <number N, dtype E> auto operator==(N n, symbol<E> x) { return equal(n, x); }
template <dtype E, number N> auto operator!=(symbol<E> x, N n) { return not_equal(x, n); }
template <number N, dtype E> auto operator!=(N n, symbol<E> x) { return not_equal(n, x); }
template <dtype E, number N> auto operator<(symbol<E> x, N n) { return less(x, n); }
template <number N, dtype E> auto operator<(N n, symbol<E> x) { return less(n, x); }
template <dtype E, number N> auto operator<=(symbol<E> x, N n) { return less_equal(x, n); }
template <number N, dtype E> auto operator<=(N n, symbol<E> x) { return less_equal(n, x); }
template <dtype E, number N> auto operator>(symbol<E> x, N n) { return greater(x, n); }
template <number N, dtype E> auto operator>(N n, symbol<E> x) { return greater(n, x); }
template <dtype E, number N> auto operator>=(symbol<E> x, N n) { return greater_equal(x, n); }
template <number N, dtype E> auto operator>=(N n, symbol<E> x) { return greater_equal(n, x); }

// Bits of integers.
template <dtype E> symbol<E> bit_and(symbol<E> x, symbol<E> y) { return detail::computed<E, ops::bit_and_op>(x, y); }
template <dtype E> symbol<E> bit_or(symbol<E> x, symbol<E> y) { return detail::computed<E, ops::bit_or_op>(x, y); }
template <dtype E> symbol<E> bit_xor(symbol<E> x, symbol<E> y) { return detail::computed<E, ops::bit_xor_op>(x, y); }
template <dtype E> symbol<E> bit_not(symbol<E> x) { return detail::computed<E, ops::bit_not_op>(x); }
template <dtype E> symbol<E> shift_left(symbol<E> x, symbol<E> y) { return detail::computed<E, ops::shift_left_op>(x, y); }
template <dtype E> symbol<E> shift_right(symbol<E> x, symbol<E> y) { return detail::computed<E, ops::shift_right_op>(x, y); }
template <dtype E> symbol<E> operator&(symbol<E> x, symbol<E> y) { return bit_and(x, y); }
template <dtype E> symbol<E> operator|(symbol<E> x, symbol<E> y) { return bit_or(x, y); }
template <dtype E> symbol<E> operator^(symbol<E> x, symbol<E> y) { return bit_xor(x, y); }
template <dtype E> symbol<E> operator~(symbol<E> x) { return bit_not(x); }
template <dtype E> symbol<E> operator<<(symbol<E> x, symbol<E> y) { return shift_left(x, y); }
template <dtype E> symbol<E> operator>>(symbol<E> x, symbol<E> y) { return shift_right(x, y); }
template <dtype E, number N> auto bit_and(symbol<E> x, N n) { return bit_and(x, detail::immediate_symbol<E>(x.into, n)); }
template <number N, dtype E> auto bit_and(N n, symbol<E> x) { return bit_and(detail::immediate_symbol<E>(x.into, n), x); }
template <dtype E, number N> auto operator&(symbol<E> x, N n) { return bit_and(x, detail::immediate_symbol<E>(x.into, n)); }
template <number N, dtype E> auto operator&(N n, symbol<E> x) { return bit_and(detail::immediate_symbol<E>(x.into, n), x); }
template <dtype E, number N> auto bit_or(symbol<E> x, N n) { return bit_or(x, detail::immediate_symbol<E>(x.into, n)); }
template <number N, dtype E> auto bit_or(N n, symbol<E> x) { return bit_or(detail::immediate_symbol<E>(x.into, n), x); }
template <dtype E, number N> auto operator|(symbol<E> x, N n) { return bit_or(x, detail::immediate_symbol<E>(x.into, n)); }
template <number N, dtype E> auto operator|(N n, symbol<E> x) { return bit_or(detail::immediate_symbol<E>(x.into, n), x); }
template <dtype E, number N> auto bit_xor(symbol<E> x, N n) { return bit_xor(x, detail::immediate_symbol<E>(x.into, n)); }
template <number N, dtype E> auto bit_xor(N n, symbol<E> x) { return bit_xor(detail::immediate_symbol<E>(x.into, n), x); }
template <dtype E, number N> auto operator^(symbol<E> x, N n) { return bit_xor(x, detail::immediate_symbol<E>(x.into, n)); }
template <number N, dtype E> auto operator^(N n, symbol<E> x) { return bit_xor(detail::immediate_symbol<E>(x.into, n), x); }
template <dtype E, number N> auto shift_left(symbol<E> x, N n) { return shift_left(x, detail::immediate_symbol<E>(x.into, n)); }
template <number N, dtype E> auto shift_left(N n, symbol<E> x) { return shift_left(detail::immediate_symbol<E>(x.into, n), x); }
template <dtype E, number N> auto operator<<(symbol<E> x, N n) { return shift_left(x, detail::immediate_symbol<E>(x.into, n)); }
template <number N, dtype E> auto operator<<(N n, symbol<E> x) { return shift_left(detail::immediate_symbol<E>(x.into, n), x); }
template <dtype E, number N> auto shift_right(symbol<E> x, N n) { return shift_right(x, detail::immediate_symbol<E>(x.into, n)); }
template <number N, dtype E> auto shift_right(N n, symbol<E> x) { return shift_right(detail::immediate_symbol<E>(x.into, n), x); }
template <dtype E, number N> auto operator>>(symbol<E> x, N n) { return shift_right(x, detail::immediate_symbol<E>(x.into, n)); }
template <number N, dtype E> auto operator>>(N n, symbol<E> x) { return shift_right(detail::immediate_symbol<E>(x.into, n), x); }

template <dtype E> symbol<E> select(symbol<dtype::boolean> c, symbol<E> x, symbol<E> y) { return detail::computed<E, ops::select_op>(c, x, y); }
template <dtype E, number N> symbol<E> select(symbol<dtype::boolean> c, symbol<E> x, N n) { return select(c, x, detail::immediate_symbol<E>(x.into, n)); }
template <dtype E, number N> symbol<E> select(symbol<dtype::boolean> c, N n, symbol<E> y) { return select(c, detail::immediate_symbol<E>(y.into, n), y); }
///@}
// clang-format on

}  // namespace rill
