// The largest element over axes.
#pragma once
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/math/select.hpp"
#include "rill/ops/sum/sum.hpp"

namespace rill::ops {

#if RILL_DEFINITIONS
/// Refuses results that no element would decide.
inline void refuse_nothing(shape const& x, std::array<bool, max_rank> const& gone, char const* why) {
  bool nothing = false, results = true;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (x[i] == 0 && gone[i]) nothing = true;
    if (x[i] == 0 && !gone[i]) results = false;
  }
  expects(!nothing || !results, why);
}
#endif

/// What max and min share: the gradient goes to all equal ones, in equal parts. `Op::of_nothing`
/// and `Op::of_others` say why it refuses to reduce nothing, and other element types.
template <class Op> struct extreme_over : reduce_rules<Op> {
  static constexpr dtypes elements = dtypes::reals | dtype::boolean, common = common_floats | dtype::boolean;
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
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    auto const& x = r.inputs[0];
    refuse_nothing(x.shape(), reduced_axes(decode<reduction>(r.at.attributes).axes, x.rank), Op::of_nothing);
    return reduce_rules<Op>::cpu(r);
  }
#endif
};

struct max_op : extreme_over<max_op> {
  using library = void;
  static constexpr std::string_view name = "max",
                                    doc =
                                        "the largest element over some axes, or all; NaN if any is, true if any is; "
                                        "the gradient is shared equally by equal largest elements";
  static constexpr char const *of_nothing = "max: there is no largest among no elements",
                              *of_others = "max: only real numbers and bools have a largest; cast the operand";
#if RILL_KERNELS
  template <class T> static constexpr reduction_kernel reduce() {
    return reduction_of<T, rill::kernels::reduce_max<T>>();
  }
#endif
};

}  // namespace rill::ops

namespace rill {

/// The largest element over the given axes, or all: `max<0>(x)`, `max(x)`; NaN if any is. Refuses to reduce nothing.
template <std::int64_t... Axes, operand X> auto max(X x) {
  return record<ops::max_op, ops::reduction{extents{Axes...}}>(x);
}
/// The largest, with the reduced axes left as extents of 1.
template <std::int64_t... Axes, operand X> auto max(X x, keep_extents) {
  return record<ops::max_op, ops::reduction{extents{Axes...}, true}>(x);
}
/// The largest over axes that only the run of the program knows; none: all.
inline value max(value x, extents const& axes, bool keeping = false) {
  return record_erased<ops::max_op>(detail::graph_of(x), {axes, keeping}, {x});
}

}  // namespace rill
