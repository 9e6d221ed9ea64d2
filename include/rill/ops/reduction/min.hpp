// The smallest element over axes.
#pragma once
#include "rill/ops/reduction/max.hpp"

namespace rill::ops {

struct min_op : extreme_over<min_op> {
  using library = void;
  static constexpr std::string_view name = "min", doc =
                                                      "the smallest element over some axes, or all; NaN if any is; "
                                                      "equal smallest elements share the derivative equally";
  static constexpr char const *of_nothing = "min: there are no elements",
                              *of_others = "min: the operand is not of real numbers or bools; cast it";
  static constexpr reducer reduces = reducer::min;
};

}  // namespace rill::ops

namespace rill {

/// Returns the smallest element over the given axes, or all: `min<0>(x)`, `min(x)`; NaN if any is. The step fails with
/// error(invalid_argument) if there are no elements.
template <std::int64_t... Axes, operand X> auto min(X x) {
  return record<ops::min_op, ops::reduction{extents{Axes...}}>(x);
}
/// Returns the smallest, with the reduced axes left as extents of 1.
template <std::int64_t... Axes, operand X> auto min(X x, keep_extents) {
  return record<ops::min_op, ops::reduction{extents{Axes...}, true}>(x);
}
/// Returns the smallest over axes known only at run time; an empty list means all axes.
inline value min(value x, extents const& axes, bool keeping = false) {
  return record_erased<ops::min_op>(detail::graph_of(x), {axes, keeping}, {x});
}

}  // namespace rill
