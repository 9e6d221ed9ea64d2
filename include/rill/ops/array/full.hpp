// Arrays whose elements are all one number: zeros, ones, full, and the same with the extents of another value.
#pragma once
#include "rill/ops/array/constant.hpp"
#include "rill/ops/array/fill.hpp"

namespace rill {

/// Returns an array of the given extents whose elements are all n: `full<float, 3, 4>(g, 0.5f)`. Throws
/// error(invalid_argument) if the elements are integers or bools and n is not one of them.
template <element T, dim... Extents, number N> expr<of<T, Extents...>> full(graph& g, N n) {
  static_assert(of<T, Extents...>.is_known(), "full: every extent must be a number");
  return {fill<Extents...>(expr<of<T>>{constant(g, detail::literal_as<T>(n))})};
}
/// Returns the same with extents known only at run time: `full(g, {3, 4}, 0.5f)`. The element type is the number's
/// unless another is named.
template <number N> value full(graph& g, shape const& extents, N n, dtype element = dtype_of<N>) {
  for (auto extent : extents) expects(extent >= 0, "full: an extent is negative");
  return fill(constant(g, detail::number_as(element, n)), extents);
}

/// Returns an array of zeros: `zeros<float, 3, 4>(g)`.
template <element T, dim... Extents> expr<of<T, Extents...>> zeros(graph& g) { return full<T, Extents...>(g, 0); }
/// Returns the same with extents known only at run time: `zeros(g, {3, 4})`.
inline value zeros(graph& g, shape const& extents, dtype element = dtype::float32) {
  return full(g, extents, std::int64_t{0}, element);
}

/// Returns an array of ones: `ones<float, 3, 4>(g)`.
template <element T, dim... Extents> expr<of<T, Extents...>> ones(graph& g) { return full<T, Extents...>(g, 1); }
/// Returns the same with extents known only at run time: `ones(g, {3, 4})`.
inline value ones(graph& g, shape const& extents, dtype element = dtype::float32) {
  return full(g, extents, std::int64_t{1}, element);
}

/// Returns an array of x's element type and extents, as they are in the step, whose elements are all n.
template <operand X, number N> auto full_like(X x, N n) { return record<ops::broadcast_like_op>(like(x, n), x); }
/// Returns zeros of x's element type and extents.
template <operand X> auto zeros_like(X x) { return full_like(x, 0); }
/// Returns ones of x's element type and extents.
template <operand X> auto ones_like(X x) { return full_like(x, 1); }

}  // namespace rill
