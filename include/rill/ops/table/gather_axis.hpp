// Elements along any axis by index, the same indices for all positions of the other axes.
#pragma once
#include "rill/ops/array/expand_dims.hpp"
#include "rill/ops/table/scatter.hpp"

namespace rill::ops {

/// Returns the type of what is gathered along an axis: the axis is replaced by the axes of the indices.
constexpr type gathered_along(std::int64_t along, type const& x, type const& which, checks expects = {}) {
  expects(dtypes::indices.contains(which.element), "gather: the indices are neither int32 nor int64");
  if (!x.has_rank() || !which.has_rank()) return type::of_unknown_rank(x.element);
  auto const axis = checked_axis(along, x.rank, "gather: the axis is out of range for the operand's rank", expects);
  type y{x.element};
  for (std::size_t i = 0; i < x.rank; ++i) {
    if (i != axis) y.push_back(x[i], expects);
    else
      for (std::size_t k = 0; k < which.rank; ++k) y.push_back(which[k], expects);
  }
  return y;
}

struct gather_axis_op {
  using library = void;
  static constexpr std::string_view name = "gather_axis",
                                    doc = "the elements of x along an axis at indices of any rank";
  static constexpr std::int8_t arity = 2;
  using attributes = axis_attributes;
  static constexpr type infer(attributes const& a, type const& x, type const& which, checks expects = {}) {
    return gathered_along(a.axis, x, which, expects);
  }
  static cost work(attributes const&, std::span<type const> in, std::span<type const> out) {
    return {0, 2 * rill::detail::bytes_of(out) + rill::detail::bytes_of(in.subspan(1))};
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    std::vector<gradient> all(2);
    if (r.wanted[0])
      all[0] = scatter_axis(V(r.in(1)), V(r.dy()), V(r.in(0)), decode<attributes>(r.origin().attributes).axis);
    return all;
  }
  static kernel cpu(kernel_request const& r);
};

struct scatter_axis_op {
  using library = void;
  static constexpr std::string_view
      name = "scatter_axis",
      doc = "zeros of the third operand's extents, with the second operand added at indices along an axis";
  static constexpr std::int8_t arity = 3;
  static constexpr std::uint32_t shape_only = 0b100;
  static constexpr dtypes elements = dtypes::numbers;
  using attributes = axis_attributes;
  static constexpr type infer(attributes const& a, type const& which, type const& x, type const& other,
                              checks expects = {}) {
    expects(elements.contains(x.element), "scatter: what is added is not of numbers");
    type const wanted = gathered_along(a.axis, other, which, expects);
    expects(accepts(wanted.with(x.element), x), "scatter: what is added does not have the extents of what is gathered");
    return other.with(x.element);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    std::vector<gradient> all(3);
    if (r.wanted[1]) all[1] = gather(V(r.dy()), r.in(0), decode<attributes>(r.origin().attributes).axis);
    return all;
  }
  static kernel cpu(kernel_request const& r);
};

}  // namespace rill::ops

namespace rill {

/// Returns the elements of x along an axis at the indices, whose axes take the place of the axis: `gather<1>(x, which)`
/// has the columns of a matrix. The step fails with error(invalid_argument) if an index is out of range.
template <std::int64_t Axis, operand X, operand Which> auto gather(X x, Which which) {
  if constexpr (Axis == 0) return gather(x, which);  // whose derivative is sparse
  else {
    if constexpr (typed<X>) detail::provide_kernels<ops::scatter_like_op, X::static_type.element>();
    return record<ops::gather_axis_op, ops::axis_attributes{Axis}>(x, which);
  }
}
/// Returns the same along an axis known only at run time.
inline value gather(value x, value which, std::int64_t axis) {
  return record_erased<ops::gather_axis_op>(detail::graph_of(x), {axis}, {x, which});
}
/// Returns zeros of the extents of `other`, with x added at the indices along the axis, in the order of the indices.
inline value scatter_axis(value which, value x, value other, std::int64_t axis) {
  return record_erased<ops::scatter_axis_op>(detail::graph_of(x), {axis}, {which, x, other});
}

}  // namespace rill

#include "rill/ops/table/gather_axis.ipp"
