// Whether all, or any, bools over axes are true.
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
                                    doc = "whether all elements are true, over some axes or all; true for no elements";
  static constexpr reducer reduces = reducer::min;
};

struct any_op : truth_over<any_op> {
  using library = void;
  static constexpr std::string_view name = "any",
                                    doc = "whether any element is true, over some axes or all; false for no elements";
  static constexpr reducer reduces = reducer::max;
};

}  // namespace rill::ops

namespace rill {

/// Whether all elements over the given axes, or all, are true: `all<0>(x > 0)`, `all(x > 0)`. True for no elements.
template <std::int64_t... Axes, operand X> auto all(X x) {
  return record<ops::all_op, ops::reduction{extents{Axes...}}>(x);
}
/// Returns the same, with the reduced axes left as extents of 1.
template <std::int64_t... Axes, operand X> auto all(X x, keep_extents) {
  return record<ops::all_op, ops::reduction{extents{Axes...}, true}>(x);
}
/// Returns the same over axes known only at run time; an empty list means all axes.
inline value all(value x, extents const& axes, bool keeping = false) {
  return record_erased<ops::all_op>(detail::graph_of(x), {axes, keeping}, {x});
}

/// Whether any element over the given axes, or all, is true: `any<0>(x > 0)`, `any(x > 0)`. False for no elements.
template <std::int64_t... Axes, operand X> auto any(X x) {
  return record<ops::any_op, ops::reduction{extents{Axes...}}>(x);
}
/// Returns the same, with the reduced axes left as extents of 1.
template <std::int64_t... Axes, operand X> auto any(X x, keep_extents) {
  return record<ops::any_op, ops::reduction{extents{Axes...}, true}>(x);
}
/// Returns the same over axes known only at run time; an empty list means all axes.
inline value any(value x, extents const& axes, bool keeping = false) {
  return record_erased<ops::any_op>(detail::graph_of(x), {axes, keeping}, {x});
}

}  // namespace rill
