// Losses that are negative log-likelihoods: of classes, of bools, of counts, and of normally distributed numbers. Each
// returns one loss for each element or example.
#pragma once
#include "rill/ops/array/expand_dims.hpp"
#include "rill/ops/array/positions.hpp"
#include "rill/ops/math/cast.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/math/exponential.hpp"
#include "rill/ops/math/select.hpp"
#include "rill/ops/network/operands.hpp"
#include "rill/ops/table/gather.hpp"

namespace rill {

namespace detail {

/// Returns bools [..., classes]: whether a class is the label of its row of x [..., classes]. The step fails if a label
/// is not the number of a class.
template <operand X, operand L> auto is_label(X x, L labels) {
  constexpr bool fit = labels_may_fit<X, L>();
  static_assert(fit, "a loss: expected x [..., classes] and labels [...]");
  if constexpr (!fit) return refused{};
  else {
    expect_floats(x);
    expects(labels_fit(x.type(), labels.type()), "a loss: expected x [..., classes] and labels [...]");
    auto const classes = positions<-1>(x);
    return equal(expand_dims<-1>(gather(classes, labels)), classes);  // gather checks the labels
  }
}

}  // namespace detail

/// Returns the negative log-likelihood [...] of labels [...], int32 or int64, for log-probabilities [..., classes], for
/// instance from log_softmax. For logits, softmax_cross_entropy is faster. The step fails with error(invalid_argument)
/// if a label is out of range.
template <operand X, operand L> auto nll(X log_probabilities, L labels) {
  auto const own = detail::is_label(log_probabilities, labels);
  return -sum<-1>(select(own, log_probabilities, 0));
}

/// Returns -z log p - (1 - z) log(1 - p) for each probability p and its label z (both from 0 to 1; they broadcast).
/// Logarithms are taken of numbers from `least` on: a certainty that is wrong costs -log(least) and has derivative 0.
/// For logits, sigmoid_cross_entropy needs no bound.
template <operand P, operand Z> auto binary_cross_entropy(P probabilities, Z labels, double least = 1e-7) {
  detail::expect_floats(probabilities);
  expects(least > 0 && least < 1, "binary_cross_entropy: expected a least probability between 0 and 1");
  return detail::in_wide(
      [least](auto p, auto z) {
        auto const missed = z * log(maximum(p, least));
        return -(missed + (1 - z) * log(maximum(1 - p, least)));
      },
      probabilities, labels);
}

/// Returns exp(x) - z x for each x, the logarithm of an expected count, and each count z; they broadcast. This is the
/// negative log-likelihood of Poisson's distribution without log(z!), which does not depend on x. Where the
/// expected count and the count are both 0, so is the loss.
template <operand X, operand Z> auto poisson_nll(X log_rates, Z counts) {
  detail::expect_floats(log_rates);
  return detail::in_wide(
      [](auto l, auto z) {
        auto const rates = exp(l);
        auto const inf_less_inf = logical_and(is_inf(rates), is_inf(z * l));
        auto const without = logical_or(inf_less_inf, logical_and(is_inf(l), equal(z, 0)));  // 0 · inf
        return rates - z * select(without, 0, l);
      },
      log_rates, counts);
}

/// Returns (log v + (x - mean)² / v) / 2 for each x, with its mean and the variance v; they broadcast. This is the
/// negative log-likelihood of the normal distribution without the constant. Variances below `least` count as `least`.
template <operand X, operand M, operand V> auto gaussian_nll(X x, M mean, V variance, double least = 1e-6) {
  detail::expect_floats(x);
  expects(least > 0, "gaussian_nll: the least variance must be positive");
  return detail::in_wide(
      [least](auto a, auto m, auto s) {
        auto const v = maximum(s, least), apart = a - m;
        return 0.5 * (log(v) + apart * (apart / v));  // squares may overflow
      },
      x, mean, variance);
}

}  // namespace rill
