// The smallest element over axes.
#pragma once
#include "rill/ops/reduction/max.hpp"

namespace rill::ops {

struct min_op : extreme_over<min_op> {
  using library = void;
  static constexpr std::string_view name = "min",
                                    doc =
                                        "the smallest element over some axes, or all; NaN if any is, false if any is; "
                                        "the gradient is shared equally by equal smallest elements";
  static constexpr char const *of_nothing = "min: there is no smallest among no elements",
                              *of_others = "min: only real numbers and bools have a smallest; cast the operand";
#if RILL_KERNELS
  template <class T> static constexpr reduction_kernel reduce() {
    return reduction_of<T, rill::kernels::reduce_min<T>>();
  }
#endif
};

}  // namespace rill::ops

namespace rill {

/// The smallest element over the given axes, or all: `min<0>(x)`, `min(x)`; NaN if any is. Refuses to reduce nothing.
template <std::int64_t... Axes, operand X> auto min(X x) {
  return record<ops::min_op, ops::reduction{extents{Axes...}}>(x);
}
/// The smallest, with the reduced axes left as extents of 1.
template <std::int64_t... Axes, operand X> auto min(X x, keep_extents) {
  return record<ops::min_op, ops::reduction{extents{Axes...}, true}>(x);
}
/// The smallest over axes that only the run of the program knows; none: all.
inline value min(value x, extents const& axes, bool keeping = false) {
  return record_erased<ops::min_op>(detail::graph_of(x), {axes, keeping}, {x});
}

}  // namespace rill
