// Inserts and removes axes of extent 1 without copying.
#pragma once
#include "rill/ops/array/reshape.hpp"

namespace rill::ops {

struct axis_attributes {
  std::int64_t axis = 0;
  static constexpr auto fields(auto const& take) { return take(field{"axis", &axis_attributes::axis}); }
};

// Not a reshape: a reshape could not distinguish two unknown extents.
struct expand_dims_op {
  using library = void;
  static constexpr std::string_view name = "expand_dims", doc = "x with an axis of extent 1 inserted";
  static constexpr std::int8_t arity = 1;
  static constexpr bool aliases_input = true;
  using attributes = axis_attributes;
  static constexpr type infer(attributes const& a, type const& x, checks expects = {}) {
    if (!x.has_rank()) return x;
    auto const axis = checked_axis(a.axis, x.rank + std::size_t{1},
                                   "expand_dims: the axis is out of range for the result's rank", expects);
    type y{x.element};
    for (std::size_t i = 0; i < x.rank; ++i) {
      if (i == axis) y.push_back(1, expects);
      y.push_back(x[i], expects);
    }
    if (axis == x.rank) y.push_back(1, expects);
    return y;
  }
  static cost work(attributes const&, std::span<type const>, std::span<type const>) { return {}; }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return {squeeze(V(r.dy()), decode<attributes>(r.origin().attributes).axis)};
  }
};

struct squeeze_op {
  using library = void;
  static constexpr std::string_view name = "squeeze", doc = "x with an axis of extent 1 removed";
  static constexpr std::int8_t arity = 1;
  static constexpr bool aliases_input = true;
  using attributes = axis_attributes;
  static constexpr type infer(attributes const& a, type const& x, checks expects = {}) {
    if (!x.has_rank()) return x;
    auto const axis = checked_axis(a.axis, x.rank, "squeeze: the axis is out of range for the operand's rank", expects);
    expects(may_equal(x[axis], dim(1)), "squeeze: the extent of the axis is not 1", x[axis], 1);
    return without_axis(x, axis);
  }
  static cost work(attributes const&, std::span<type const>, std::span<type const>) { return {}; }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return {expand_dims(V(r.dy()), decode<attributes>(r.origin().attributes).axis)};
  }
};

}  // namespace rill::ops

namespace rill {

/// Returns x with an axis of extent 1 inserted at position `axis` of the result; a negative axis counts from the end of
/// the result.
template <std::int64_t Axis, operand X> auto expand_dims(X x) {
  return record<ops::expand_dims_op, ops::axis_attributes{Axis}>(x);
}
inline value expand_dims(value x, std::int64_t axis) {
  return record_erased<ops::expand_dims_op>(detail::graph_of(x), {axis}, {x});
}
/// Returns x without an axis of extent 1.
template <std::int64_t Axis, operand X> auto squeeze(X x) {
  return record<ops::squeeze_op, ops::axis_attributes{Axis}>(x);
}
inline value squeeze(value x, std::int64_t axis) {
  return record_erased<ops::squeeze_op>(detail::graph_of(x), {axis}, {x});
}

}  // namespace rill
