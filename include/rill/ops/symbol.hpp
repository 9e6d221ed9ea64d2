// Stand-ins for numbers: a lambda called with them leaves the program of what it does.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

#include "rill/dsl/expr.hpp"
#include "rill/ops/math/exponential.hpp"
#include "rill/ops/math/relu.hpp"

namespace rill {

/// A number of type `E` that a program under construction computes in register `at`.
template <dtype E> struct symbol {
  program* into;
  std::uint16_t at;
};

namespace detail {

// Instructions may only follow all immediates, so while a program grows immediates count from the top down.
inline constexpr std::uint16_t immediate_mark = 0x8000;

template <dtype R, class Op, dtype... E> symbol<R> emit(symbol<E>... operands) {
  provide_kernels<Op, (dtypes{R} | ... | E)>();
  program* p = nullptr;
  ((p = operands.into ? operands.into : p), ...);
  p->instructions.push_back({definition<Op>().elementwise, {operands.at...}, R});
  return {p, static_cast<std::uint16_t>(p->inputs.size() + p->instructions.size() - 1)};
}

template <dtype E, class N> symbol<E> immediate_symbol(program* p, N n) {
  tensor const t = literal_as<element_of<E>>(n);
  auto const wanted = immediate::of(t.item<element_of<E>>());
  auto const at = std::find(p->immediates.begin(), p->immediates.end(), wanted) - p->immediates.begin();
  if (at == std::ssize(p->immediates)) p->immediates.push_back(wanted);
  return {p, static_cast<std::uint16_t>(immediate_mark + at)};
}

// Gives every register its final number: inputs, immediates, results.
inline std::uint16_t settled(program const& p, std::uint16_t r) {
  if (r >= immediate_mark) return static_cast<std::uint16_t>(p.inputs.size() + (r - immediate_mark));
  return r < p.inputs.size() ? r : static_cast<std::uint16_t>(r + p.immediates.size());
}
inline void settle(program& p) {
  expects(p.inputs.size() + p.instructions.size() <= immediate_mark && p.immediates.size() < immediate_mark,
          "a program has at most 32,768 inputs and lines, and 32,767 constants");
  for (auto& i : p.instructions)
    for (std::size_t k = 0; k < i.function->arity; ++k) i.operands[k] = settled(p, i.operands[k]);
  for (auto& o : p.outputs) o = settled(p, o);
}

}  // namespace detail

// clang-format off
template <dtype E> symbol<E> operator+(symbol<E> x, symbol<E> y) { return detail::emit<E, ops::add_op>(x, y); }
template <dtype E> symbol<E> operator-(symbol<E> x, symbol<E> y) { return detail::emit<E, ops::sub_op>(x, y); }
template <dtype E> symbol<E> operator*(symbol<E> x, symbol<E> y) { return detail::emit<E, ops::mul_op>(x, y); }
template <dtype E> symbol<E> operator/(symbol<E> x, symbol<E> y) { return detail::emit<E, ops::div_op>(x, y); }
template <dtype E> symbol<E> operator-(symbol<E> x) { return detail::emit<E, ops::neg_op>(x); }
template <dtype E> symbol<dtype::boolean> operator==(symbol<E> x, symbol<E> y) { return detail::emit<dtype::boolean, ops::equal_op>(x, y); }
template <dtype E> symbol<dtype::boolean> operator<(symbol<E> x, symbol<E> y) { return detail::emit<dtype::boolean, ops::less_op>(x, y); }
template <dtype E> symbol<dtype::boolean> operator>(symbol<E> x, symbol<E> y) { return y < x; }
template <dtype E> symbol<dtype::boolean> operator<=(symbol<E> x, symbol<E> y) { return detail::emit<dtype::boolean, ops::less_equal_op>(x, y); }
template <dtype E> symbol<dtype::boolean> operator>=(symbol<E> x, symbol<E> y) { return y <= x; }
inline symbol<dtype::boolean> operator&(symbol<dtype::boolean> x, symbol<dtype::boolean> y) { return detail::emit<dtype::boolean, ops::logical_and_op>(x, y); }
inline symbol<dtype::boolean> operator|(symbol<dtype::boolean> x, symbol<dtype::boolean> y) { return detail::emit<dtype::boolean, ops::logical_or_op>(x, y); }
inline symbol<dtype::boolean> operator~(symbol<dtype::boolean> x) { return detail::emit<dtype::boolean, ops::logical_not_op>(x); }
template <dtype E> symbol<dtype::boolean> operator!=(symbol<E> x, symbol<E> y) { return ~(x == y); }

template <dtype E, number N> auto operator+(symbol<E> x, N n) { return x + detail::immediate_symbol<E>(x.into, n); }
template <dtype E, number N> auto operator-(symbol<E> x, N n) { return x - detail::immediate_symbol<E>(x.into, n); }
template <dtype E, number N> auto operator*(symbol<E> x, N n) { return x * detail::immediate_symbol<E>(x.into, n); }
template <dtype E, number N> auto operator/(symbol<E> x, N n) { return x / detail::immediate_symbol<E>(x.into, n); }
template <dtype E, number N> auto operator==(symbol<E> x, N n) { return x == detail::immediate_symbol<E>(x.into, n); }
template <dtype E, number N> auto operator<(symbol<E> x, N n) { return x < detail::immediate_symbol<E>(x.into, n); }
template <dtype E, number N> auto operator>(symbol<E> x, N n) { return x > detail::immediate_symbol<E>(x.into, n); }
template <dtype E, number N> auto operator<=(symbol<E> x, N n) { return x <= detail::immediate_symbol<E>(x.into, n); }
template <dtype E, number N> auto operator>=(symbol<E> x, N n) { return x >= detail::immediate_symbol<E>(x.into, n); }
template <dtype E, number N> auto operator!=(symbol<E> x, N n) { return x != detail::immediate_symbol<E>(x.into, n); }
template <number N, dtype E> auto operator+(N n, symbol<E> x) { return detail::immediate_symbol<E>(x.into, n) + x; }
template <number N, dtype E> auto operator-(N n, symbol<E> x) { return detail::immediate_symbol<E>(x.into, n) - x; }
template <number N, dtype E> auto operator*(N n, symbol<E> x) { return detail::immediate_symbol<E>(x.into, n) * x; }
template <number N, dtype E> auto operator/(N n, symbol<E> x) { return detail::immediate_symbol<E>(x.into, n) / x; }

template <dtype E> symbol<E> exp(symbol<E> x) { return detail::emit<E, ops::exp_op>(x); }
template <dtype E> symbol<E> log(symbol<E> x) { return detail::emit<E, ops::log_op>(x); }
template <dtype E> symbol<E> tanh(symbol<E> x) { return detail::emit<E, ops::tanh_op>(x); }
template <dtype E> symbol<E> sigmoid(symbol<E> x) { return detail::emit<E, ops::sigmoid_op>(x); }
template <dtype E> symbol<E> sqrt(symbol<E> x) { return detail::emit<E, ops::sqrt_op>(x); }
template <dtype E> symbol<E> square(symbol<E> x) { return detail::emit<E, ops::square_op>(x); }
template <dtype E> symbol<E> maximum(symbol<E> x, symbol<E> y) { return detail::emit<E, ops::maximum_op>(x, y); }
template <dtype E, number N> symbol<E> maximum(symbol<E> x, N n) { return maximum(x, detail::immediate_symbol<E>(x.into, n)); }
template <dtype E> symbol<E> minimum(symbol<E> x, symbol<E> y) { return detail::emit<E, ops::minimum_op>(x, y); }
template <dtype E, number N> symbol<E> minimum(symbol<E> x, N n) { return minimum(x, detail::immediate_symbol<E>(x.into, n)); }
template <dtype E> symbol<E> select(symbol<dtype::boolean> c, symbol<E> x, symbol<E> y) { return detail::emit<E, ops::select_op>(c, x, y); }
template <dtype E, number N> symbol<E> select(symbol<dtype::boolean> c, symbol<E> x, N n) { return select(c, x, detail::immediate_symbol<E>(x.into, n)); }
template <dtype E, number N> symbol<E> select(symbol<dtype::boolean> c, N n, symbol<E> y) { return select(c, detail::immediate_symbol<E>(y.into, n), y); }
// clang-format on

}  // namespace rill
