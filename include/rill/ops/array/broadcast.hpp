// To another value's extents and back: what the gradients of broadcasting and of reductions are made of.
#pragma once
#include "rill/ops/array/constant.hpp"
#include "rill/ops/base/for_each_type.hpp"
#include "rill/ops/reduction/reduce.hpp"

#if RILL_DEFINITIONS
#include "rill/program/interpreter.hpp"
#endif

namespace rill::ops {

/// What broadcast_like and sum_like name: the axes of the larger value that the smaller one lacks (negative ones count
/// from the end), and whether an element is shared out among its places, or the mean taken in place of the sum.
struct likeness {
  extents axes;
  bool mean = false;
  static constexpr auto fields(auto const& take) {
    return take(field{"axes", &likeness::axes}, field{"mean", &likeness::mean});
  }

  /// `small` with `axes` put in as extents of 1.
  constexpr type widened(type const& small, checks expects = {}) const {
    type y{small.element};
    std::size_t const rank = small.rank + axes.size();
    for (std::size_t i = 0, from = 0; i < rank; ++i) {
      auto const at = static_cast<std::int64_t>(i);
      bool const put_in = axes.contains(at) || axes.contains(at - static_cast<std::int64_t>(rank));
      if (!expects(put_in || from < small.rank, "an axis lies outside of the larger value's rank, or is named twice"))
        return y;
      y.push_back(put_in ? dim(1) : small[from++]);
    }
    return y;
  }
  /// Refuses a smaller value that does not broadcast to the larger one.
  constexpr void check(type const& small, type const& large, char const* why, checks expects = {}) const {
    if (!small.has_rank() || !large.has_rank()) return;
    type const wide = widened(small, expects);
    if (!expects(wide.rank <= large.rank, why)) return;
    for (std::size_t i = 1; i <= wide.rank; ++i) {
      dim const &part = wide[wide.rank - i], &whole = large[large.rank - i];
      expects(part == dim(1) || may_equal(part, whole), why);
    }
  }
};

}  // namespace rill::ops

namespace rill::detail {
value from_extents(value x, value other, ops::likeness const& a);
value to_extents(value x, value other, ops::likeness const& a);
}  // namespace rill::detail

namespace rill::ops {

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

/// Whether two values have the same extents for certain.
inline bool same_extents(type const& a, type const& b) {
  if (!a.has_rank() || a.rank != b.rank || a.dims != b.dims) return false;
  for (std::size_t i = 0; i < a.rank; ++i)
    if (a[i] == unknown) return false;
  return true;
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
