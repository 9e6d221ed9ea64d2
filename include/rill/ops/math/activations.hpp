// Functions that are made of others: reciprocal, rsqrt, clamp, and the activations silu, gelu, leaky_relu, elu, selu
// and relu6. They take handles, and what stands for numbers in a lambda of `fuse`; in a graph they are several nodes,
// which the fusion pass makes one of.
#pragma once
#include "rill/ops/math/power.hpp"
#include "rill/ops/math/relu.hpp"
#include "rill/ops/math/rounding.hpp"

namespace rill {

template <dtype E> struct symbol;

/// What a lambda of `fuse` is compiled for: packets, and single numbers with their interface.
template <class X>
concept lane = requires {
  typename X::truth;
  X::lanes;
};

namespace detail {
template <class X> inline constexpr bool is_symbol = false;
template <dtype E> inline constexpr bool is_symbol<symbol<E>> = true;
}  // namespace detail

/// A handle, or what stands for a number in a lambda of `fuse`.
template <class X>
concept elementwise_operand = operand<X> || lane<X> || detail::is_symbol<X>;

/// -x.
template <lane X> X neg(X x) { return -x; }
/// x * x.
template <lane X> X square(X x) { return x * x; }
/// max(x, 0).
template <lane X> X relu(X x) { return maximum(x, X(0)); }

/// 1 / x.
template <elementwise_operand X> auto reciprocal(X x) { return 1 / x; }
/// 1 / sqrt(x): infinite at 0, NaN below.
template <elementwise_operand X> auto rsqrt(X x) { return 1 / sqrt(x); }

/// x, or `low` where it is below, or `high` where it is above: min(max(x, low), high). Bounds are numbers, or
/// broadcast. At a bound half of the gradient goes to x, as in JAX and PyTorch (docs/guide/gradients.md).
template <elementwise_operand X, class Low, class High>
  requires((elementwise_operand<Low> || number<Low>) && (elementwise_operand<High> || number<High>))
auto clamp(X x, Low low, High high) {
  return minimum(maximum(x, low), high);
}
// What std::clamp would take where both namespaces are used.
template <elementwise_operand X> auto clamp(X const& x, X const& low, X const& high) {
  return minimum(maximum(x, low), high);
}

/// x sigmoid(x), also known as swish.
template <elementwise_operand X> auto silu(X x) { return x * sigmoid(x); }

/// x times the probability that a normal number is below it: x (1 + erf(x / sqrt(2))) / 2.
template <elementwise_operand X> auto gelu(X x) { return x * 0.5 * (1 + erf(x * 0.70710678118654752)); }
/// The approximation of gelu by tanh, x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x³))) / 2, computed as x times a sigmoid,
/// which is the same and exact for small results.
template <elementwise_operand X> auto gelu_tanh(X x) {
  return x * sigmoid(1.5957691216057308 * (x + 0.044715 * (x * x * x)));
}

/// x, or slope * x where x is not above 0. The gradient at 0 is the slope.
template <elementwise_operand X> auto leaky_relu(X x, double slope = 0.01) { return select(x > 0, x, x * slope); }

/// x, or alpha (exp(x) - 1) where x is not above 0. The gradient at 0 is alpha.
template <elementwise_operand X> auto elu(X x, double alpha = 1) {
  // Where x is above 0, exp(x) would overflow, and its gradient be infinite times 0.
  return select(x > 0, x, alpha * expm1(select(x > 0, 0, x)));
}
/// elu with the scale and the alpha that keep mean 0 and variance 1 (G. Klambauer et al., Self-Normalizing Neural
/// Networks, 2017).
template <elementwise_operand X> auto selu(X x) { return 1.0507009873554805 * elu(x, 1.6732632423543772); }
/// min(max(x, 0), 6); the gradient at 0 and at 6 is 0.
template <elementwise_operand X> auto relu6(X x) { return select(x >= 6, 6, relu(x)); }

}  // namespace rill
