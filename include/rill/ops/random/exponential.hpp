// Random numbers of the exponential and of the Laplace distribution, made of uniform ones.
#pragma once
#include "rill/ops/math/exponential.hpp"
#include "rill/ops/random/bernoulli.hpp"

namespace rill {

namespace detail {
/// Returns -log(1 - u) scale, for u uniform in [0, 1).
template <class X> X exponential_of(X u, double scale) {
  X const drawn = -log1p(-u);
  return scale == 1 ? drawn : X(drawn * scale);
}
}  // namespace detail

/// Returns random numbers of the exponential distribution with this rate, of type `of`, which is of floats. The largest
/// is 16.6 / rate in float32 and 36.7 / rate in float64.
inline value exponential(graph& g, type const& of, double rate = 1) {
  expects(is_float(of.element), "exponential: only floats are drawn");
  expects(rate > 0, "exponential: the rate must be above 0");
  auto const wide = of.with(detail::wide_element(of.element));
  return cast(detail::exponential_of(uniform(g, wide), 1 / rate), of.element);
}
/// Returns the same with static extents: `exponential<float, 3, 4>(g, 2)`.
template <element T, dim... Extents> expr<of<T, Extents...>> exponential(graph& g, double rate = 1) {
  expects(rate > 0, "exponential: the rate must be above 0");
  return cast<T>(detail::exponential_of(uniform<detail::wide_of<T>, Extents...>(g), 1 / rate));
}
/// Returns such numbers of x's type, one for each element of x.
template <operand X> X exponential_like(X x, double rate = 1) {
  expects(rate > 0, "exponential: the rate must be above 0");
  return detail::in_wide([rate](auto v) { return detail::exponential_of(uniform_like(v), 1 / rate); }, x);
}

/// Returns random numbers of the Laplace distribution, exponential on either side of the mean, of type `of`, which is
/// of floats. The standard deviation is scale sqrt(2).
inline value laplace(graph& g, type const& of, double mean = 0, double scale = 1) {
  expects(scale > 0, "laplace: the scale must be above 0");
  value const distance = exponential(g, of.with(detail::wide_element(of.element)), 1 / scale);
  value const drawn = select(bernoulli(g, of.with(dtype::boolean)), distance, -distance) + like(distance, mean);
  return cast(drawn, of.element);
}
/// Returns the same with static extents: `laplace<float, 3, 4>(g)`.
template <element T, dim... Extents> expr<of<T, Extents...>> laplace(graph& g, double mean = 0, double scale = 1) {
  expects(scale > 0, "laplace: the scale must be above 0");
  auto const distance = exponential<detail::wide_of<T>, Extents...>(g, 1 / scale);
  return {cast<T>(select(bernoulli<Extents...>(g), distance, -distance) + like(distance, mean))};
}

}  // namespace rill
