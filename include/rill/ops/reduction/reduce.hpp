// Sums and means over axes.
#pragma once
#include "rill/ops/reduction/axes.hpp"

namespace rill::ops {

struct sum_op : reducing<sum_op> {
  using library = void;
  static constexpr std::string_view name = "sum", doc = "the sum over some axes, or all; 0 of nothing; integers wrap";
  static constexpr dtypes elements = dtypes::numbers;
  static constexpr type infer(reduction const& a, type const& x, checks expects = {}) {
    expects(elements.contains(x.element), "sum: only numbers have a sum; cast the operand");
    return reduced(a, x, expects);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<reduction>(r.origin().attributes);
    return {broadcast_like(V(r.dy()), r.in(0), a.keep ? extents{} : a.axes)};
  }
#if RILL_KERNELS
  template <class T> static constexpr reduction_kernel reduce() {
    return reduction_of<T, rill::kernels::reduce_sum<T>>();
  }
#endif
};

struct mean_op : reducing<mean_op> {
  using library = void;
  static constexpr std::string_view name = "mean", doc = "the mean over some axes, or all; NaN of nothing";
  static constexpr dtypes elements = dtypes::floats | dtypes::complexes;
  static constexpr type infer(reduction const& a, type const& x, checks expects = {}) {
    expects(elements.contains(x.element), "mean: the mean of integers is not an integer; cast the operand");
    return reduced(a, x, expects);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<reduction>(r.origin().attributes);
    return {share_like(V(r.dy()), r.in(0), a.keep ? extents{} : a.axes)};
  }
#if RILL_KERNELS
  template <class T> static constexpr reduction_kernel reduce() {
    return reduction_of<T, rill::kernels::reduce_mean<T>>();
  }
#endif
};

}  // namespace rill::ops

namespace rill {

/// The sum over the given axes, or all: `sum<0>(x)`, `sum(x)`. Integers wrap; the sum of nothing is 0.
template <std::int64_t... Axes, operand X> auto sum(X x) {
  return record<ops::sum_op, ops::reduction{extents{Axes...}}>(x);
}
/// The sum, with the reduced axes left as extents of 1.
template <std::int64_t... Axes, operand X> auto sum(X x, keep_extents) {
  return record<ops::sum_op, ops::reduction{extents{Axes...}, true}>(x);
}
/// The sum over axes that only the run of the program knows; none: all.
inline value sum(value x, extents const& axes, bool keeping = false) {
  return record_erased<ops::sum_op>(detail::graph_of(x), {axes, keeping}, {x});
}

/// The mean over the given axes, or all: `mean<0>(x)`, `mean(x)`. The mean of nothing is NaN.
template <std::int64_t... Axes, operand X> auto mean(X x) {
  return record<ops::mean_op, ops::reduction{extents{Axes...}}>(x);
}
/// The mean, with the reduced axes left as extents of 1.
template <std::int64_t... Axes, operand X> auto mean(X x, keep_extents) {
  return record<ops::mean_op, ops::reduction{extents{Axes...}, true}>(x);
}
/// The mean over axes that only the run of the program knows; none: all.
inline value mean(value x, extents const& axes, bool keeping = false) {
  return record_erased<ops::mean_op>(detail::graph_of(x), {axes, keeping}, {x});
}

}  // namespace rill

// Sums and broadcasts are each other's gradients, so whoever includes one gets both.
#include "rill/ops/array/broadcast.hpp"
