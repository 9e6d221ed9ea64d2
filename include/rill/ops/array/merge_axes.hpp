// Adjacent axes merged into one without copying.
#pragma once
#include "rill/ops/array/reshape.hpp"

namespace rill::ops {

// Not a reshape: a reshape could not distinguish two unknown extents.
struct merge_axes_op {
  using library = void;
  static constexpr std::string_view name = "merge_axes", doc = "x with `count` adjacent axes merged into one";
  static constexpr std::int8_t arity = 1;
  static constexpr bool aliases_input = true;
  struct attributes {
    std::int64_t first = 0, count = 1;
    static constexpr auto fields(auto const& take) {
      return take(field{"first", &attributes::first}, field{"count", &attributes::count});
    }
  };
  static constexpr type infer(attributes const& a, type const& x, checks expects = {}) {
    if (!x.has_rank()) return x;
    auto const first =
        checked_axis(a.first, x.rank, "merge_axes: the first axis is out of range for the rank", expects);
    if (!expects(a.count > 0 && a.count <= static_cast<std::int64_t>(x.rank - first),
                 "merge_axes: the number of axes is not between 1 and the number from the first to the last"))
      return x;
    auto const last = first + static_cast<std::size_t>(a.count);
    type y{x.element};
    for (std::size_t i = 0; i < x.rank; ++i) {
      if (i <= first || i >= last) y.push_back(x[i]);
      else if (y[first].known() && x[i].known()) y[first] = checked_product(y[first].extent, x[i].extent, expects);
      else y[first] = unknown;
    }
    return y;
  }
  static cost work(attributes const&, std::span<type const>, std::span<type const>) { return {}; }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return {reshape_like(V(r.dy()), r.in(0))};
  }
};

}  // namespace rill::ops

namespace rill {

/// Returns x with `Count` adjacent axes, from `First` on, merged into one: `merge_axes<0, 2>(x)` of [batch, time, 3] is
/// [batch · time, 3]. Nothing is copied.
template <std::int64_t First, std::int64_t Count, operand X> auto merge_axes(X x) {
  return record<ops::merge_axes_op, ops::merge_axes_op::attributes{First, Count}>(x);
}
/// Returns the same for axes known only at run time.
inline value merge_axes(value x, std::int64_t first, std::int64_t count) {
  return record_erased<ops::merge_axes_op>(detail::graph_of(x), {first, count}, {x});
}

}  // namespace rill
