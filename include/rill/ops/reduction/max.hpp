// The largest element over axes.
#pragma once
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/math/select.hpp"
#include "rill/ops/sum/sum.hpp"

namespace rill::ops {

/// What max and min share: all largest, or smallest, elements get equal parts of the derivative. `Op::of_nothing` and
/// `Op::of_others` are the errors for no elements and for other element types.
template <class Op> struct extreme_over : reduce_rules<Op> {
  static constexpr dtypes elements = dtypes::reals | dtype::boolean, common = common_floats | dtype::boolean;
  static constexpr bool wide_gradient = true;  // it counts equal elements
  static constexpr type infer(reduction const& a, type const& x, checks expects = {}) {
    expects(elements.contains(x.element), Op::of_others);
    return reduced(a, x, expects);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<reduction>(r.origin().attributes);
    auto const axes = a.keep ? extents{} : a.axes;
    V x = r.in(0), y = r.out(), dy = r.dy();
    V taken = equal(x, broadcast_like(y, x, axes));
    V count = sum(select(taken, like(dy, 1), zero(dy)), a.axes, a.keep);
    return {select(taken, broadcast_like(dy / count, x, axes), zero(dy))};
  }
  static kernel cpu(kernel_request const& r);
};

struct max_op : extreme_over<max_op> {
  using library = void;
  static constexpr std::string_view name = "max", doc =
                                                      "the largest element over some axes, or all; NaN if any is; "
                                                      "equal largest elements share the derivative equally";
  static constexpr char const *of_nothing = "max: there are no elements",
                              *of_others = "max: the operand is not of real numbers or bools; cast it";
  static constexpr reducer reduces = reducer::max;
};

}  // namespace rill::ops

namespace rill {

/// Returns the largest element over the given axes, or all: `max<0>(x)`, `max(x)`; NaN if any is. The step fails with
/// error(invalid_argument) if there are no elements.
template <std::int64_t... Axes, operand X> auto max(X x) {
  return record<ops::max_op, ops::reduction{extents{Axes...}}>(x);
}
/// Returns the largest, with the reduced axes left as extents of 1.
template <std::int64_t... Axes, operand X> auto max(X x, keep_extents) {
  return record<ops::max_op, ops::reduction{extents{Axes...}, true}>(x);
}
/// Returns the largest over axes known only at run time; an empty list means all axes.
inline value max(value x, extents const& axes, bool keeping = false) {
  return record_erased<ops::max_op>(detail::graph_of(x), {axes, keeping}, {x});
}

}  // namespace rill

#if RILL_DEFINITIONS
namespace rill::ops {

/// Refuses a reduction of no elements to a result.
inline void refuse_nothing(shape const& x, std::array<bool, max_rank> const& gone, char const* why) {
  bool nothing = false, results = true;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (x[i] == 0 && gone[i]) nothing = true;
    if (x[i] == 0 && !gone[i]) results = false;
  }
  expects(!nothing || !results, why);
}

template <class Op> kernel extreme_over<Op>::cpu(kernel_request const& r) {
  auto const& x = r.inputs[0];
  refuse_nothing(x.shape(), reduced_axes(decode<reduction>(r.at.attributes).axes, x.rank), Op::of_nothing);
  return reduce_rules<Op>::cpu(r);
}

}  // namespace rill::ops
#endif
