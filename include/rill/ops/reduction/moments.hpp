// Means and variances together, standard deviations, and weighted averages, over axes.
#pragma once
#include <utility>

#include "rill/ops/reduction/norm.hpp"
#include "rill/ops/reduction/variance.hpp"

namespace rill {

/// Returns the mean and the variance over the given axes, or all: `auto [m, v] = moments<0>(x)`.
template <std::int64_t... Axes, operand X> auto moments(X x, ddof by = {}) {
  if constexpr (detail::is_refused<ops::mean_op, ops::reduction{extents{Axes...}}, X>())
    return std::pair{detail::refuse<ops::mean_op, ops::reduction{extents{Axes...}}, X>(), detail::refused{}};
  else return std::pair{mean<Axes...>(x), variance<Axes...>(x, by)};
}
/// Returns the mean and the variance, with the reduced axes left as extents of 1: `moments<1>(x, keep)`.
template <std::int64_t... Axes, operand X> auto moments(X x, keep_extents, ddof by = {}) {
  if constexpr (detail::is_refused<ops::mean_op, ops::reduction{extents{Axes...}}, X>())
    return std::pair{detail::refuse<ops::mean_op, ops::reduction{extents{Axes...}}, X>(), detail::refused{}};
  else return std::pair{mean<Axes...>(x, keep), variance<Axes...>(x, keep, by)};
}
/// Returns the same over axes known only at run time; an empty list means all axes.
inline std::pair<value, value> moments(value x, extents const& axes, bool keeping = false, ddof by = {}) {
  return {mean(x, axes, keeping), variance(x, axes, keeping, by)};
}

/// Returns the square root of the variance over the given axes, or all: `standard_deviation<0>(x)`,
/// `standard_deviation(x, ddof{1})`. The derivative where all elements are equal is 0.
template <std::int64_t... Axes, operand X> auto standard_deviation(X x, ddof by = {}) {
  constexpr auto over = detail::variance_over<false, Axes...>;
  if constexpr (detail::is_refused<ops::variance_op, over, X>()) return detail::refuse<ops::variance_op, over, X>();
  else return detail::in_wide([by](auto v) { return detail::root(variance<Axes...>(v, by), 0.5); }, x);
}
/// Returns the standard deviation, with the reduced axes left as extents of 1.
template <std::int64_t... Axes, operand X> auto standard_deviation(X x, keep_extents, ddof by = {}) {
  constexpr auto over = detail::variance_over<true, Axes...>;
  if constexpr (detail::is_refused<ops::variance_op, over, X>()) return detail::refuse<ops::variance_op, over, X>();
  else return detail::in_wide([by](auto v) { return detail::root(variance<Axes...>(v, keep, by), 0.5); }, x);
}
/// Returns the same over axes known only at run time; an empty list means all axes.
inline value standard_deviation(value x, extents const& axes, bool keeping = false, ddof by = {}) {
  return detail::in_wide([&](value v) { return detail::root(variance(v, axes, keeping, by), 0.5); }, x);
}

/// Returns sum(x w) / sum(w) over axes known only at run time; an empty list means all axes. The weights w broadcast to
/// x's extents. NaN, or infinite, where the weights' sum is 0. Throws error(invalid_argument) if x is of integers.
inline value average(value x, value weights, extents const& axes, bool keeping = false) {
  expects(
      is_differentiable(x.type().element),
      "average: the operand is not of floats or complex numbers, and integers would be divided as integers; cast it");
  return detail::in_wide(
      [&](value v, value w) { return sum(v * w, axes, keeping) / sum(broadcast_like(w, v), axes, keeping); }, x,
      weights);
}
/// Returns the same with a static type: `average<0>(x, w)`, `average(x, w)`.
template <std::int64_t... Axes, operand X, operand W> auto average(X x, W weights) {
  auto const all = average(value(x), value(weights), extents{Axes...});
  if constexpr (typed<X> && typed<W>) {
    constexpr auto element = X::static_type.element;
    detail::provide_kernels<ops::cast_op, dtypes{element} | detail::wide_element(element)>();
    return decltype(sum<Axes...>(x * weights)){all};
  } else return all;
}

}  // namespace rill
