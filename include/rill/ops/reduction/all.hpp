// Whether all, or any, truth values over axes are true.
#pragma once
#include "rill/ops/sum/axes.hpp"

namespace rill::ops {

/// What all and any share.
template <class Op> struct truth_over : reduce_rules<Op> {
  static constexpr dtypes elements = dtype::boolean, common = dtype::boolean;
  static constexpr type infer(reduction const& a, type const& x, checks expects = {}) {
    expects(elements.contains(x.element),
            "all and any: the operand is not of bools; compare it first, as in all(x > 0)");
    return reduced(a, x, expects);
  }
};

struct all_op : truth_over<all_op> {
  using library = void;
  static constexpr std::string_view name = "all",
                                    doc = "whether every element is true, over some axes or all; true of nothing";
#if RILL_KERNELS
  template <class T> static constexpr reduction_kernel reduce() {
    return reduction_of<T, rill::kernels::reduce_min<T>>();
  }
#endif
};

struct any_op : truth_over<any_op> {
  using library = void;
  static constexpr std::string_view name = "any",
                                    doc = "whether an element is true, over some axes or all; false of nothing";
#if RILL_KERNELS
  template <class T> static constexpr reduction_kernel reduce() {
    return reduction_of<T, rill::kernels::reduce_max<T>>();
  }
#endif
};

}  // namespace rill::ops

namespace rill {

/// Whether all elements over the given axes, or all, are true: `all<0>(x > 0)`, `all(x > 0)`. True of nothing.
template <std::int64_t... Axes, operand X> auto all(X x) {
  return record<ops::all_op, ops::reduction{extents{Axes...}}>(x);
}
/// The same, with the reduced axes left as extents of 1.
template <std::int64_t... Axes, operand X> auto all(X x, keep_extents) {
  return record<ops::all_op, ops::reduction{extents{Axes...}, true}>(x);
}
/// The same over axes that only the run of the program knows; none: all.
inline value all(value x, extents const& axes, bool keeping = false) {
  return record_erased<ops::all_op>(detail::graph_of(x), {axes, keeping}, {x});
}

/// Whether any element over the given axes, or all, is true: `any<0>(x > 0)`, `any(x > 0)`. False of nothing.
template <std::int64_t... Axes, operand X> auto any(X x) {
  return record<ops::any_op, ops::reduction{extents{Axes...}}>(x);
}
/// The same, with the reduced axes left as extents of 1.
template <std::int64_t... Axes, operand X> auto any(X x, keep_extents) {
  return record<ops::any_op, ops::reduction{extents{Axes...}, true}>(x);
}
/// The same over axes that only the run of the program knows; none: all.
inline value any(value x, extents const& axes, bool keeping = false) {
  return record_erased<ops::any_op>(detail::graph_of(x), {axes, keeping}, {x});
}

}  // namespace rill
