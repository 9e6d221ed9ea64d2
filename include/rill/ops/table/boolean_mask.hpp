// The parts of a value where a mask is true.
#pragma once
#include "rill/ops/array/merge_axes.hpp"
#include "rill/ops/array/positions.hpp"
#include "rill/ops/array/where.hpp"
#include "rill/ops/table/scatter.hpp"

namespace rill {

/// Returns the parts of x, rows or elements, where the mask is true, in their order, along one axis. The mask has the
/// extents of x's first axes. How many are true is known only when the step runs; nodes that depend on it are deferred.
inline value boolean_mask(value x, value mask) {
  auto const& t = mask.type();
  expects(t.element == dtype::boolean, "boolean_mask: the mask is not a bool");
  expects(t.has_rank() && t.rank > 0, "boolean_mask: the mask's rank must be known, and at least 1");
  expects(!x.type().has_rank() || t.rank <= x.type().rank, "boolean_mask: the mask has more axes than the operand");
  for (std::size_t i = 0; x.type().has_rank() && i < t.rank; ++i)
    expects(may_equal(t[i], x.type()[i]),
            "boolean_mask: the mask does not have the extents of the operand's first axes");
  value const rows = merge_axes(x, 0, t.rank), chosen = merge_axes(mask, 0, t.rank);
  return gather(rows, where(reshape_like(chosen, positions(rows, 0))));  // the run checks the number of elements
}
/// Returns the same with a static type.
template <typed X, typed Mask> auto boolean_mask(X x, Mask mask) {
  constexpr auto axes = Mask::static_type.rank;
  static_assert(Mask::static_type.element == dtype::boolean, "boolean_mask: the mask is not a bool");
  constexpr bool fits = axes != unknown_rank && axes > 0 && axes <= X::static_type.rank;
  static_assert(fits, "boolean_mask: the mask must have at least one axis, and no more than the operand");
  if constexpr (fits) {
    constexpr auto rows = ops::merge_axes_op::infer({0, axes}, X::static_type);
    detail::provide_kernels<ops::scatter_like_op, X::static_type.element>();
    return expr<stacked(row_of(rows), unknown)>{boolean_mask(value(x), value(mask))};
  } else return detail::refused{};
}

}  // namespace rill
