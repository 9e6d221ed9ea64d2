// Sums and means over axes, sums to the extents of another value, and broadcasts: each is the derivative of another.
#pragma once
#include "rill/ops/base/for_each_type.hpp"
#include "rill/ops/sum/axes.hpp"
#include "rill/ops/sum/likeness.hpp"

namespace rill::detail {
value from_extents(value x, value other, ops::likeness const& a);
value to_extents(value x, value other, ops::likeness const& a);
}  // namespace rill::detail

namespace rill::ops {

struct sum_op : reduce_rules<sum_op> {
  using library = void;
  static constexpr std::string_view name = "sum",
                                    doc = "the sum over some axes, or all; 0 for no elements; integers wrap";
  static constexpr dtypes elements = dtypes::numbers;
  static constexpr type infer(reduction const& a, type const& x, checks expects = {}) {
    expects(elements.contains(x.element), "sum: the operand is not of numbers; cast it");
    return reduced(a, x, expects);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<reduction>(r.origin().attributes);
    return {broadcast_like(V(r.dy()), r.in(0), a.keep ? extents{} : a.axes)};
  }
  static constexpr reducer reduces = reducer::sum;
};

struct mean_op : reduce_rules<mean_op> {
  using library = void;
  static constexpr std::string_view name = "mean", doc = "the mean over some axes, or all; NaN for no elements";
  static constexpr dtypes elements = dtypes::floats | dtypes::complexes;
  static constexpr type infer(reduction const& a, type const& x, checks expects = {}) {
    expects(elements.contains(x.element), "mean: the operand is not of floats or complex numbers; cast it");
    return reduced(a, x, expects);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<reduction>(r.origin().attributes);
    return {share_like(V(r.dy()), r.in(0), a.keep ? extents{} : a.axes)};
  }
  static constexpr reducer reduces = reducer::mean;
};

struct broadcast_like_op {
  using library = void;
  static constexpr std::string_view name = "broadcast_like",
                                    doc =
                                        "x, with the given axes inserted, broadcast to the extents of the second "
                                        "operand; or each element divided by the number of its copies";
  static constexpr std::int8_t arity = 2;
  static constexpr std::uint32_t shape_only = 0b10;
  static constexpr dtypes elements = dtypes::numeric_or_bool;
  using attributes = likeness;
  /// Divides elements by a number, by element type.
  struct kernels {
    std::array<void (*)(void* to, void const* from, std::size_t n, double by), dtype_count> divide{};
  };
  static constexpr type infer(likeness const& a, type const& x, type const& other, checks expects = {}) {
    expects(elements.contains(x.element), "broadcast_like: strings are not supported");
    expects(!a.mean || is_differentiable(x.element),
            "broadcast_like: only floats and complex numbers can be divided among copies");
    a.check(x, other, "broadcast_like: the value does not broadcast to the other's extents", expects);
    return other.with(x.element);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<likeness>(r.origin().attributes);
    std::vector<gradient> all(2);
    if (r.wanted[0]) all[0] = rill::detail::to_extents(V(r.dy()), r.in(0), a);
    return all;
  }
  template <class T> static void divide(void* to, void const* from, std::size_t n, double by);
  template <dtypes Set> static constexpr kernels make_kernels();
  static kernel cpu(kernel_request const& r);
};

struct sum_like_op {
  using library = void;
  static constexpr std::string_view
      name = "sum_like",
      doc = "the sum, or the mean, of x over the axes along which the second operand broadcasts to it";
  static constexpr std::int8_t arity = 2;
  static constexpr std::uint32_t shape_only = 0b10;
  using attributes = likeness;
  static constexpr type infer(likeness const& a, type const& x, type const& other, checks expects = {}) {
    expects(a.mean ? mean_op::elements.contains(x.element) : sum_op::elements.contains(x.element),
            "sum_like: the value is not of numbers, or of integers for a mean");
    a.check(other, x, "sum_like: the other value does not broadcast to x", expects);
    return other.with(x.element);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<likeness>(r.origin().attributes);
    std::vector<gradient> all(2);
    if (r.wanted[0]) all[0] = rill::detail::from_extents(V(r.dy()), r.in(0), a);
    return all;
  }
  static kernel cpu(kernel_request const& r);
};

}  // namespace rill::ops

namespace rill {

/// Returns the sum over the given axes, or all: `sum<0>(x)`, `sum(x)`. Integers wrap; the sum of no elements is 0.
template <std::int64_t... Axes, operand X> auto sum(X x) {
  return record<ops::sum_op, ops::reduction{extents{Axes...}}>(x);
}
/// Returns the sum, with the reduced axes left as extents of 1.
template <std::int64_t... Axes, operand X> auto sum(X x, keep_extents) {
  return record<ops::sum_op, ops::reduction{extents{Axes...}, true}>(x);
}
/// Returns the sum over axes known only at run time; an empty list means all axes.
inline value sum(value x, extents const& axes, bool keeping = false) {
  return record_erased<ops::sum_op>(detail::graph_of(x), {axes, keeping}, {x});
}

/// Returns the mean over the given axes, or all: `mean<0>(x)`, `mean(x)`. The mean of no elements is NaN.
template <std::int64_t... Axes, operand X> auto mean(X x) {
  return record<ops::mean_op, ops::reduction{extents{Axes...}}>(x);
}
/// Returns the mean, with the reduced axes left as extents of 1.
template <std::int64_t... Axes, operand X> auto mean(X x, keep_extents) {
  return record<ops::mean_op, ops::reduction{extents{Axes...}, true}>(x);
}
/// Returns the mean over axes known only at run time; an empty list means all axes.
inline value mean(value x, extents const& axes, bool keeping = false) {
  return record_erased<ops::mean_op>(detail::graph_of(x), {axes, keeping}, {x});
}

namespace detail {

// With equal extents there is nothing to do: every element has one copy.
inline value from_extents(value x, value other, ops::likeness const& a) {
  if (same_extents(x.type(), other.type())) return x;
  return record_erased<ops::broadcast_like_op>(graph_of(x), a, {x, other});
}
inline value to_extents(value x, value other, ops::likeness const& a) {
  if (same_extents(x.type(), other.type())) return x;
  return record_erased<ops::sum_like_op>(graph_of(x), a, {x, other});
}

}  // namespace detail

/// Returns x summed to the extents of `other`, which broadcasts to x.
inline value sum_like(value x, value other) { return detail::to_extents(x, other, {}); }
/// Returns x broadcast to the extents of `other`, after inserting `axes` of `other` as extents of 1.
inline value broadcast_like(value x, value other, extents const& axes = {}) {
  return detail::from_extents(x, other, {axes});
}
/// Returns x broadcast to the extents of `other`, each element divided by the number of its copies: the derivative of a
/// mean.
inline value share_like(value x, value other, extents const& axes = {}) {
  return detail::from_extents(x, other, {axes, true});
}

}  // namespace rill

#if RILL_KERNELS
namespace rill::ops {

template <class T> void broadcast_like_op::divide(void* to, void const* from, std::size_t n, double by) {
  using number = std::conditional_t<(sizeof(T) < 4), float, T>;
  using real = std::conditional_t<std::is_same_v<T, double> || std::is_same_v<T, std::complex<double>>, double, float>;
  auto* y = static_cast<T*>(to);
  auto const* x = static_cast<T const*>(from);
  for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<T>(static_cast<number>(x[i]) / static_cast<real>(by));
}

template <dtypes Set> constexpr broadcast_like_op::kernels broadcast_like_op::make_kernels() {
  kernels k;
  for_each_type<(dtypes::floats | dtypes::complexes) & Set>([&]<class T>(std::size_t d) { k.divide[d] = divide<T>; });
  return k;
}

}  // namespace rill::ops
#endif

#if RILL_DEFINITIONS
#include "rill/program/interpreter.hpp"

namespace rill::ops {

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

}  // namespace rill::ops
#endif
