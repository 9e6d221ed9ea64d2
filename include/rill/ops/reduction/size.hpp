// The extents of a value as values: shape, rank and size.
#pragma once
#include "rill/ops/array/constant.hpp"
#include "rill/ops/array/expand_dims.hpp"
#include "rill/ops/array/extents_of.hpp"
#include "rill/ops/array/reverse.hpp"
#include "rill/ops/reduction/prod.hpp"
#include "rill/ops/table/gather.hpp"

namespace rill {

/// Returns the extents that x has in the step, one int64 for each axis: extents_of by its usual name.
template <operand X> auto shape_of(X x) { return extents_of(x); }

/// Returns the number of axes of x, an int64.
inline value rank(value x) {
  if (x.type().has_rank()) return constant(detail::graph_of(x), static_cast<std::int64_t>(x.type().rank));
  return squeeze(extents_of(extents_of(x)), 0);
}
template <typed X> expr<of<std::int64_t>> rank(X x) { return {rank(value(x))}; }

/// Returns the number of elements that x has in the step, an int64.
template <operand X> auto size(X x) { return prod(extents_of(x)); }

namespace detail {

/// Returns the number of elements that a reduction of x over some axes (empty: all) combines into one, an int64.
inline value count_over(value x, extents const& axes) {
  auto& g = graph_of(x);
  value all = extents_of(x);
  if (axes.empty()) return prod(all);
  value count;
  for (auto axis : axes) {
    // Negative axes count from the end, which may be known only at run time.
    value const from = axis < 0 ? value(reverse(all, extents{0})) : all;
    value const extent = gather(from, value(constant(g, axis < 0 ? -1 - axis : axis)));
    count = count ? count * extent : extent;
  }
  return count;
}

}  // namespace detail
}  // namespace rill
