// To another value's extents and back: what the gradients of broadcasting and of reductions are made of.
#pragma once
#include "rill/ops/array/constant.hpp"
#include "rill/ops/reduction/reduce.hpp"

namespace rill::ops {

/// x with `axes` put in as extents of 1 (all of the other's axes, if x is a scalar), broadcast to the other's extents.
struct broadcast_like_op {
  using library = void;
  static constexpr std::string_view name = "broadcast_like",
                                    doc = "x, with the given axes put in again, broadcast to the extents of another value";
  static constexpr std::int8_t arity = 2;
  static constexpr std::uint32_t shape_only = 0b10;
  struct attributes {
    extents axes;
    static constexpr auto fields() { return std::tuple{field{"axes", &attributes::axes}}; }
  };
  static constexpr type infer(attributes const& a, type const& x, type const& other) {
    if (x.has_rank() && other.has_rank()) {
      type const y = broadcast(widened(a, x), other);
      for (std::size_t i = 0; i < other.rank; ++i)
        expects(y.rank == other.rank && may_equal(y[i], other[i]), "broadcast_like: the value does not broadcast to the other's extents");
    }
    return other.with(x.element);
  }
  /// x's type with the reduced axes put in again.
  static constexpr type widened(attributes const& a, type const& x) {
    if (a.axes.empty()) return x;
    type y{x.element};
    auto const rank = x.rank + a.axes.size();
    for (std::size_t i = 0, from = 0; i < rank; ++i) y.push_back(a.axes.contains(static_cast<std::int64_t>(i)) ? dim(1) : x[from++]);
    return y;
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<attributes>(r.origin().attributes);
    std::vector<gradient> all(2);
    if (r.wanted[0]) all[0] = a.axes.empty() ? sum_like(V(r.dy()), r.in(0)) : sum(V(r.dy()), a.axes);
    return all;
  }
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r);
#endif
};

/// x summed over the axes along which the other was broadcast to x's extents.
struct sum_like_op {
  using library = void;
  static constexpr std::string_view name = "sum_like", doc = "x summed to the extents of another value that broadcasts to it";
  static constexpr std::int8_t arity = 2;
  static constexpr std::uint32_t shape_only = 0b10;
  static constexpr type infer(no_attributes, type const& x, type const& other) {
    if (x.has_rank() && other.has_rank()) {
      type const y = broadcast(x, other);
      expects(y.rank == x.rank, "sum_like: the other value does not broadcast to x");
      for (std::size_t i = 0; i < x.rank; ++i) expects(may_equal(y[i], x[i]), "sum_like: the other value does not broadcast to x");
    }
    return other.with(x.element);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    std::vector<gradient> all(2);
    if (r.wanted[0]) all[0] = broadcast_like(V(r.dy()), r.in(0));
    return all;
  }
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r);
#endif
};

}  // namespace rill::ops

namespace rill {

/// Whether two values have the same extents for certain.
inline bool same_extents(type const& a, type const& b) {
  if (!a.has_rank() || a.rank != b.rank || a.dims != b.dims) return false;
  for (std::size_t i = 0; i < a.rank; ++i)
    if (a[i] == unknown) return false;
  return true;
}

/// x summed to the extents of `other`, which broadcasts to x.
inline value sum_like(value x, value other) {
  return same_extents(x.type(), other.type()) ? x : record_erased<ops::sum_like_op>(detail::graph_of(x), {}, {x, other});
}
/// x broadcast to the extents of `other`, after putting in `axes` (of the other) as extents of 1.
inline value broadcast_like(value x, value other, extents const& axes = {}) {
  return same_extents(x.type(), other.type()) ? x : record_erased<ops::broadcast_like_op>(detail::graph_of(x), {axes}, {x, other});
}

}  // namespace rill
