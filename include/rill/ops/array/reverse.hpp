// Axes in reverse order.
#pragma once
#include "rill/dsl/expr.hpp"

namespace rill::ops {

struct reverse_op {
  using library = void;
  static constexpr std::string_view name = "reverse",
                                    doc = "x with the order of elements along the given axes reversed";
  static constexpr std::int8_t arity = 1;
  struct attributes {
    extents axes;
    static constexpr auto fields(auto const& take) { return take(field{"axes", &attributes::axes}); }
  };
  /// Returns for each axis whether it is reversed.
  static constexpr std::array<bool, max_rank> turned(attributes const& a, std::size_t rank, checks expects = {}) {
    std::array<bool, max_rank> which{};
    for (auto axis : a.axes) {
      auto const i = checked_axis(axis, rank, "reverse: an axis is out of range for the operand's rank", expects);
      expects(!which[i], "reverse: an axis is named twice");
      which[i] = true;
    }
    return which;
  }
  static constexpr type infer(attributes const& a, type const& x, checks expects = {}) {
    if (x.has_rank()) turned(a, x.rank, expects);
    return x;
  }
  static cost work(attributes const&, std::span<type const>, std::span<type const> out) {
    return {0, 2 * rill::detail::bytes_of(out)};
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return {reverse(V(r.dy()), decode<attributes>(r.origin().attributes).axes)};
  }
  static kernel cpu(kernel_request const& r);
};

}  // namespace rill::ops

namespace rill {

/// Returns x with the order of its elements along the given axes reversed: `reverse<0>(x)`, `reverse<-1, -2>(x)`.
template <std::int64_t... Axes, operand X>
  requires(sizeof...(Axes) > 0)
auto reverse(X x) {
  return record<ops::reverse_op, ops::reverse_op::attributes{extents{Axes...}}>(x);
}
/// Returns the same for axes known only at run time.
inline value reverse(value x, extents const& axes) {
  return record_erased<ops::reverse_op>(detail::graph_of(x), {axes}, {x});
}

/// Returns the same as `reverse`, by NumPy's name.
template <std::int64_t... Axes, operand X>
  requires(sizeof...(Axes) > 0)
auto flip(X x) {
  return reverse<Axes...>(x);
}
inline value flip(value x, extents const& axes) { return reverse(x, axes); }

}  // namespace rill

#include "rill/ops/array/reverse.ipp"
