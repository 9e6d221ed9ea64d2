// Gradients kept below a length, so that one bad batch doesn't throw the variables far away (Pascanu et al., ICML
// 2013).
#pragma once
#include <vector>

#include "rill/ops/array/as.hpp"
#include "rill/ops/reduction/reduce.hpp"
#include "rill/train/optimizer.hpp"

namespace rill {

namespace detail {

/// x * most / max(length, most), in float32 where x's own type is narrower. The length's derivative at 0 is 0.
inline value clipped(value x, double most) {
  value const y = widened(x), bound = like(y, most);
  value const squares = sum(y * y), length = sqrt(maximum(squares, like(squares, 0x1p-126)));
  return cast(y * (bound / maximum(length, bound)), x.type().element);
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
  auto wide = dtype::float32;
  for (auto const& each : all)
    if (detail::elements_of(each.by).type().element == dtype::float64) wide = dtype::float64;
  std::vector<value> parts;
  for (auto const& each : all) {
    value const x = detail::widened(detail::elements_of(each.by));
    parts.push_back(cast(sum(x * conj(x)), wide));
  }
  return sqrt(add_n(parts));
}

RILL_INLINE std::vector<variable_gradient> clip_by_global_norm(std::vector<variable_gradient> all, double most) {
  expects(most > 0, "clip_by_global_norm: the length must be above 0");
  auto const length = global_norm(all);
  for (auto& each : all) each.by = detail::shortened(each.by, length, most);
  return all;
}

#endif

}  // namespace rill
