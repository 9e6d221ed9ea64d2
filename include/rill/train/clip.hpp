// Gradients kept below a length, so that one bad batch doesn't throw the variables far away (Pascanu et al., ICML
// 2013).
#pragma once
#include <limits>
#include <vector>

#include "rill/ops/array/as.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/math/select.hpp"
#include "rill/ops/reduction/reduce.hpp"
#include "rill/train/optimizer.hpp"

namespace rill {

namespace detail {

/// What elements are scaled by where the sum of their squares is not finite, so that it is: a power of two, as it costs
/// no digits (Blue, ACM TOMS 1978).
constexpr double small_unit(dtype element) { return element == dtype::float64 ? 0x1p-600 : 0x1p-90; }

/// 1 where that sum is finite, or else the small unit.
inline value unit_for(value squares, double small) {
  value const fits = less(squares, like(squares, std::numeric_limits<double>::infinity()));
  return select(fits, like(squares, 1), like(squares, small));
}

/// x * most / max(length, most), in float32 where x's own type is narrower. The length's derivative at 0 is 0.
inline value clipped(value x, double most) {
  value const y = widened(x);
  auto const small = small_unit(y.type().element);
  value const scaled = y * like(y, small), squares = sum(y * y), unit = unit_for(squares, small);
  // In that unit: the length and its bound.
  value const one = like(squares, 1);
  value const length = sqrt(maximum(select(equal(unit, one), squares, sum(scaled * scaled)), like(squares, 0x1p-126)));
  value const bound = like(squares, most);
  return cast(y * unit * (bound / maximum(length, bound * unit)), x.type().element);
}

}  // namespace detail

/// x, shortened to the length `most` (the root of the sum of its elements' squares) if it is longer.
template <operand X> auto clip_by_norm(X x, double most) {
  expects(most > 0, "clip_by_norm: the length must be above 0");
  if constexpr (typed<X>) return as<X::static_type>(detail::clipped(x, most));
  else return detail::clipped(x, most);
}

/// The root of the sum of the squares of all elements of all gradients; float32, or float64 if one of them is. Of a
/// sparse one its rows count as they are, also where two of them belong to one row of the variable.
value global_norm(std::vector<variable_gradient> const& all);

/// All gradients, each shortened by the same factor, so that `global_norm` of them is at most `most`:
/// `optimizer.apply(clip_by_global_norm(variable_gradients(loss), 1))`.
std::vector<variable_gradient> clip_by_global_norm(std::vector<variable_gradient> all, double most);

#if RILL_RUNTIME

namespace detail {

inline value const& elements_of(gradient const& g) { return g.sparse() ? g.rows : g.dense; }

/// x, shortened to the length `most` if it is longer: x * most / max(length, most).
inline gradient shortened(gradient const& g, value length, double most) {
  value const x = elements_of(g), bound = like(x, most);
  value const y = x * (bound / maximum(cast(length, x.type().element), bound));
  return g.sparse() ? gradient(g.indices, y) : gradient(y);
}

}  // namespace detail

RILL_INLINE value global_norm(std::vector<variable_gradient> const& all) {
  expects(!all.empty(), "global_norm: there are no gradients");
  auto wide = dtype::float32, narrow = dtype::float64;
  for (auto const& each : all) {
    auto const element = detail::elements_of(each.by).type().element;
    bool const doubles = element == dtype::float64 || element == dtype::complex128;
    (doubles ? wide : narrow) = doubles ? dtype::float64 : dtype::float32;
  }
  auto const small = detail::small_unit(narrow);
  std::vector<value> squares, scaled;
  for (auto const& each : all) {
    value const x = detail::widened(detail::elements_of(each.by)), y = x * like(x, small);
    squares.push_back(cast(sum(x * conj(x)), wide));
    scaled.push_back(cast(sum(y * conj(y)), wide));
  }
  value const sum = add_n(squares), unit = detail::unit_for(sum, small);
  return sqrt(select(equal(unit, like(sum, 1)), sum, add_n(scaled))) / unit;
}

RILL_INLINE std::vector<variable_gradient> clip_by_global_norm(std::vector<variable_gradient> all, double most) {
  expects(most > 0, "clip_by_global_norm: the length must be above 0");
  auto const length = global_norm(all);
  for (auto& each : all) each.by = detail::shortened(each.by, length, most);
  return all;
}

#endif

}  // namespace rill
