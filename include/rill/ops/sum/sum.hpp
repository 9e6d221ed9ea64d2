// Sums and means over axes, sums to another value's extents and broadcasts: the gradients of each other.
#pragma once
#include "rill/ops/base/for_each_type.hpp"
#include "rill/ops/sum/axes.hpp"
#include "rill/ops/sum/likeness.hpp"

#if RILL_DEFINITIONS
#include "rill/program/interpreter.hpp"
#endif

namespace rill::detail {
value from_extents(value x, value other, ops::likeness const& a);
value to_extents(value x, value other, ops::likeness const& a);
}  // namespace rill::detail

namespace rill::ops {

struct sum_op : reduce_rules<sum_op> {
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

struct mean_op : reduce_rules<mean_op> {
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

struct broadcast_like_op {
  using library = void;
  static constexpr std::string_view name = "broadcast_like",
                                    doc =
                                        "x, with the given axes put in again, broadcast to the extents of another "
                                        "value; or shared out among its elements";
  static constexpr std::int8_t arity = 2;
  static constexpr std::uint32_t shape_only = 0b10;
  static constexpr dtypes elements = dtypes::numeric_or_bool;
  using attributes = likeness;
  /// Divides elements by a number, by element type.
  struct kernels {
    std::array<void (*)(void* to, void const* from, std::size_t n, double by), dtype_count> divide{};
  };
  static constexpr type infer(likeness const& a, type const& x, type const& other, checks expects = {}) {
    expects(elements.contains(x.element), "broadcast_like: strings are not broadcast");
    expects(!a.mean || is_differentiable(x.element), "broadcast_like: only floats and complex numbers are shared out");
    a.check(x, other, "broadcast_like: the value does not broadcast to the other's extents", expects);
    return other.with(x.element);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<likeness>(r.origin().attributes);
    std::vector<gradient> all(2);
    if (r.wanted[0]) all[0] = rill::detail::to_extents(V(r.dy()), r.in(0), a);
    return all;
  }
#if RILL_KERNELS
  template <class T> static void divide(void* to, void const* from, std::size_t n, double by) {
    using number = std::conditional_t<(sizeof(T) < 4), float, T>;
    using real =
        std::conditional_t<std::is_same_v<T, double> || std::is_same_v<T, std::complex<double>>, double, float>;
    auto* y = static_cast<T*>(to);
    auto const* x = static_cast<T const*>(from);
    for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<T>(static_cast<number>(x[i]) / static_cast<real>(by));
  }
  template <dtypes Set> static constexpr kernels make_kernels() {
    kernels k;
    for_each_type<(dtypes::floats | dtypes::complexes) & Set>([&]<class T>(std::size_t d) { k.divide[d] = divide<T>; });
    return k;
  }
#endif
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r);
#endif
};

struct sum_like_op {
  using library = void;
  static constexpr std::string_view name = "sum_like",
                                    doc =
                                        "x summed, or its mean taken, to the extents of another value that "
                                        "broadcasts to it";
  static constexpr std::int8_t arity = 2;
  static constexpr std::uint32_t shape_only = 0b10;
  using attributes = likeness;
  static constexpr type infer(likeness const& a, type const& x, type const& other, checks expects = {}) {
    expects(a.mean ? mean_op::elements.contains(x.element) : sum_op::elements.contains(x.element),
            "sum_like: the value is not of numbers, or a mean of integers was asked for");
    a.check(other, x, "sum_like: the other value does not broadcast to x", expects);
    return other.with(x.element);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<likeness>(r.origin().attributes);
    std::vector<gradient> all(2);
    if (r.wanted[0]) all[0] = rill::detail::from_extents(V(r.dy()), r.in(0), a);
    return all;
  }
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r);
#endif
};

#if RILL_DEFINITIONS
inline kernel broadcast_like_op::cpu(kernel_request const& r) {
  auto const a = decode<likeness>(r.at.attributes);
  auto const element = r.inputs[0].element;
  shape const from = a.widened(r.inputs[0]).shape(), to = r.outputs[0].shape();
  program p;
  p.inputs = {element};
  p.outputs = {0};
  auto bound = std::make_shared<bound_program const>(p, std::vector<shape>{from}, to);
  auto const count = static_cast<std::size_t>(rill::elements(from));
  if (!a.mean || count == 0)
    return kernel([bound](kernel_call const& call) {
      void* const pointers[] = {const_cast<void*>(call.in(0)), call.out(0)};
      (*bound)(pointers, call.threads);
    });
  auto const divide = kernels_of<broadcast_like_op>(element).divide[static_cast<std::size_t>(element)];
  auto const places = static_cast<double>(rill::elements(to)) / static_cast<double>(count);
  return kernel(
      [=](kernel_call const& call) {
        divide(call.scratch(), call.in(0), count, places);
        void* const pointers[] = {call.scratch(), call.out(0)};
        (*bound)(pointers, call.threads);
      },
      count * size_of(element));
}

inline kernel sum_like_op::cpu(kernel_request const& r) {
  auto const a = decode<likeness>(r.at.attributes);
  auto const& x = r.inputs[0];
  type const other = a.widened(r.inputs[1]);
  std::array<bool, max_rank> gone{};
  for (std::size_t i = 0, missing = x.rank - other.rank; i < x.rank; ++i)
    gone[i] = i < missing || (other[i - missing] == dim(1) && x[i] != dim(1));
  return make_reduction(a.mean ? kernels_of<mean_op>(x.element) : kernels_of<sum_op>(x.element), x, gone);
}
#endif

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

namespace detail {

// With no axis to put in and the same extents there is nothing to do, and one element to share out among one place.
inline value from_extents(value x, value other, ops::likeness const& a) {
  if (same_extents(x.type(), other.type())) return x;
  return record_erased<ops::broadcast_like_op>(graph_of(x), a, {x, other});
}
inline value to_extents(value x, value other, ops::likeness const& a) {
  if (same_extents(x.type(), other.type())) return x;
  return record_erased<ops::sum_like_op>(graph_of(x), a, {x, other});
}

}  // namespace detail

/// x summed to the extents of `other`, which broadcasts to x.
inline value sum_like(value x, value other) { return detail::to_extents(x, other, {}); }
/// x broadcast to the extents of `other`, after putting in `axes` (of the other) as extents of 1.
inline value broadcast_like(value x, value other, extents const& axes = {}) {
  return detail::from_extents(x, other, {axes});
}
/// Each element of x shared out equally among the places of `other` that it is broadcast to: the gradient of a mean.
inline value share_like(value x, value other, extents const& axes = {}) {
  return detail::from_extents(x, other, {axes, true});
}

}  // namespace rill
