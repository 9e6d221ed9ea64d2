// Functions composed of other operations: reciprocal, rsqrt, clamp, and the activations besides relu, sigmoid,
// softplus and smooth_units.hpp. They take handles, or symbolic numbers in a lambda of `fuse`. In a graph they are
// several nodes, which the fusion pass merges. 16-bit floats are computed as float32 and rounded once
// (docs/guide/precision.md).
#pragma once
#include "rill/ops/math/cast.hpp"
#include "rill/ops/math/power.hpp"
#include "rill/ops/math/relu.hpp"
#include "rill/ops/math/rounding.hpp"
#include "rill/ops/math/smooth_units.hpp"

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

/// Whether X is not a number in a lambda of `fuse` that is known to be no float; true for handles.
template <class X> constexpr bool may_be_float_in_lambda(std::type_identity<X>) {
  if constexpr (lane<X>) return is_float(dtype_of<typename X::element>);
  else return true;
}
template <dtype E> constexpr bool may_be_float_in_lambda(std::type_identity<symbol<E>>) { return is_float(E); }

/// The rules by which softsign, a composition, refuses its operands.
struct softsign_rules {
  static constexpr std::string_view name = "softsign";
  static constexpr std::int8_t arity = 1;
  static constexpr type infer(no_attributes, type const& x, checks expects = {}) {
    expects(is_float(x.element), "softsign: the operand is not of floats; cast it");
    return x;
  }
};
template <class X> constexpr bool may_be_floats() {
  if constexpr (typed<X>) return is_float(X::static_type.element);
  else return true;
}

}  // namespace detail

/// A handle, or a symbolic number in a lambda of `fuse`.
template <class X>
concept elementwise_operand = operand<X> || lane<X> || detail::is_symbol<X>;

/// Returns -x.
template <lane X> X neg(X x) { return -x; }
/// Returns x * x.
template <lane X> X square(X x) { return x * x; }
/// Returns max(x, 0).
template <lane X> X relu(X x) { return maximum(x, X(0)); }

/// Returns 1 / x.
template <elementwise_operand X> auto reciprocal(X x) { return 1 / x; }
/// Returns 1 / sqrt(x): infinite at 0, NaN below.
template <elementwise_operand X> auto rsqrt(X x) {
  return detail::in_wide([](auto v) { return 1 / sqrt(v); }, x);
}

/// Returns min(max(x, low), high). Bounds are numbers or values that broadcast. At a bound half of the derivative goes
/// to x, as in JAX and PyTorch (docs/guide/gradients.md).
template <elementwise_operand X, class Low, class High>
  requires((elementwise_operand<Low> || number<Low>) && (elementwise_operand<High> || number<High>))
auto clamp(X x, Low low, High high) {
  return minimum(maximum(x, low), high);
}
// What std::clamp would take where both namespaces are used.
template <elementwise_operand X> auto clamp(X const& x, X const& low, X const& high) {
  return minimum(maximum(x, low), high);
}

/// Returns x where x > 0, else slope * x. The derivative at 0 is the slope.
template <elementwise_operand X> auto leaky_relu(X x, double slope = 0.01) {
  return detail::in_wide([slope](auto v) { return select(v > 0, v, v * slope); }, x);
}

/// Returns x where x > 0, else alpha (exp(x) - 1). The derivative at 0 is alpha.
template <elementwise_operand X> auto elu(X x, double alpha = 1) {
  // For large x, exp(x) would overflow, and its derivative would be infinity times 0.
  return detail::in_wide([alpha](auto v) { return select(v > 0, v, alpha * expm1(select(v > 0, 0, v))); }, x);
}
/// Returns elu with the scale and alpha that preserve mean 0 and variance 1 (G. Klambauer et al., Self-Normalizing
/// Neural Networks, 2017).
template <elementwise_operand X> auto selu(X x) {
  // scale * x, else scale * alpha (exp(x) - 1)
  return detail::in_wide(
      [](auto v) { return select(v > 0, 1.0507009873554805 * v, 1.7580993408473769 * expm1(select(v > 0, 0, v))); }, x);
}
/// Returns x where x > 0, else alpha (exp(x / alpha) - 1), whose derivative is continuous for every alpha (J. T.
/// Barron, Continuously Differentiable Exponential Linear Units, 2017).
template <elementwise_operand X> auto celu(X x, double alpha = 1) {
  return detail::in_wide([alpha](auto v) { return select(v > 0, v, alpha * expm1(select(v > 0, 0, v) / alpha)); }, x);
}
/// Returns x where x > 0, else slope * x, for slopes that are learned: a scalar, or one for each channel, the last axis
/// (K. He et al., Delving Deep into Rectifiers, ICCV 2015). The derivative at 0 is the slope.
template <elementwise_operand X, elementwise_operand S> auto prelu(X x, S slope) {
  // For an infinite x the slope's derivative would be 0 times x.
  return select(x > 0, x, slope * select(x > 0, 0, x));
}
/// Returns min(max(x, 0), 6); the derivative at 0 and at 6 is 0.
template <elementwise_operand X> auto relu6(X x) { return select(x >= 6, 6, relu(x)); }

/// Returns min(max(x, low), high); the derivative at a bound is 0, while `clamp` gives x one half of it.
template <elementwise_operand X> auto hardtanh(X x, double low = -1, double high = 1) {
  return select(x <= low, low, select(x >= high, high, x));
}
/// Returns relu6(x + 3) / 6, a sigmoid of three lines.
template <elementwise_operand X> auto hardsigmoid(X x) {
  return detail::in_wide([](auto v) { return relu6(v + 3) * (1 / 6.); }, x);
}
/// Returns x relu6(x + 3) / 6, a silu of pieces of parabolas and lines (A. Howard et al., Searching for MobileNetV3,
/// ICCV 2019).
template <elementwise_operand X> auto hardswish(X x) {
  return detail::in_wide(
      [](auto v) {
        auto const low = v <= -3, high = v >= 3;
        auto const inner = select(low, 0, select(high, 0, v));
        return select(low, 0, select(high, v, inner * ((inner + 3) * (1 / 6.))));
      },
      x);
}

/// Returns log(sigmoid(x)) without underflow.
template <elementwise_operand X> auto log_sigmoid(X x) { return -softplus(-x); }
/// Returns x / (1 + |x|).
template <elementwise_operand X> auto softsign(X x) {
  constexpr bool number = detail::may_be_float_in_lambda(std::type_identity<X>{});
  static_assert(number, "softsign: the operand is not of floats; cast it");
  if constexpr (!detail::may_be_floats<X>()) return record<detail::softsign_rules>(x);
  else {
    if constexpr (std::derived_from<X, value>) detail::softsign_rules::infer({}, x.type());
    // Beyond 1 it is computed as 1 - 1 / (1 + |x|), whose derivative is no difference of nearly equal numbers.
    return detail::in_wide(
        [](auto v) {
          auto const size = abs(v);
          auto const far = size > 1;
          auto const inner = select(far, 0, v);
          return select(far, sign(v) * (1 - 1 / (1 + size)), inner / (1 + abs(inner)));
        },
        x);
  }
}

}  // namespace rill
