// Counts of elements, and whether any is NaN, over axes.
#pragma once
#include "rill/ops/math/cast.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/reduction/all.hpp"

namespace rill {

/// Returns how many elements over the given axes, or all, are not 0, or are true: int64. A NaN is not 0.
template <std::int64_t... Axes, operand X> auto count_nonzero(X x) {
  return sum<Axes...>(cast<std::int64_t>(cast<bool>(x)));
}
/// Returns the count, with the reduced axes left as extents of 1.
template <std::int64_t... Axes, operand X> auto count_nonzero(X x, keep_extents) {
  return sum<Axes...>(cast<std::int64_t>(cast<bool>(x)), keep);
}
/// Returns the same over axes known only at run time; an empty list means all axes.
inline value count_nonzero(value x, extents const& axes, bool keeping = false) {
  return sum(cast(cast(x, dtype::boolean), dtype::int64), axes, keeping);
}

/// Whether any float over the given axes, or all, is NaN: `any_nan(x)`, `any_nan<1>(x)`.
template <std::int64_t... Axes, operand X> auto any_nan(X x) { return any<Axes...>(is_nan(x)); }
/// Returns the same over axes known only at run time; an empty list means all axes.
inline value any_nan(value x, extents const& axes, bool keeping = false) { return any(is_nan(x), axes, keeping); }

}  // namespace rill
