// Elements along an axis by index, other indices for each position of the other axes.
#pragma once
#include "rill/ops/array/expand_dims.hpp"
#include "rill/ops/base/for_each_type.hpp"
#include "rill/ops/base/kernels.hpp"
#include "rill/ops/table/scatter.hpp"

namespace rill::ops {

/// Returns the type of what is taken along an axis: the extents of the indices, which equal x's beside the axis.
constexpr type taken_along(std::int64_t along, type const& x, type const& which, checks expects = {}) {
  expects(dtypes::indices.contains(which.element), "take_along_axis: the indices are neither int32 nor int64");
  if (!x.has_rank() || !which.has_rank()) return which.has_rank() ? which.with(x.element) : x;
  auto const axis =
      checked_axis(along, x.rank, "take_along_axis: the axis is out of range for the operand's rank", expects);
  if (!expects(x.rank == which.rank, "take_along_axis: the indices do not have the operand's rank")) return x;
  type y = x;
  for (std::size_t i = 0; i < x.rank; ++i)
    y[i] = i == axis
               ? which[i]
               : agree(x[i], which[i], "take_along_axis: the indices' extents differ along another axis", expects);
  return y;
}

struct take_along_axis_op {
  using library = void;
  static constexpr std::string_view
      name = "take_along_axis",
      doc = "the elements of x along an axis at indices that have x's extents along the other axes";
  static constexpr std::int8_t arity = 2;
  using attributes = axis_attributes;
  static constexpr type infer(attributes const& a, type const& x, type const& which, checks expects = {}) {
    type const y = taken_along(a.axis, x, which, expects);
    return x.has_rank() ? y : type::of_unknown_rank(x.element);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    std::vector<gradient> all(2);
    if (r.wanted[0])
      all[0] = scatter_along_axis(V(r.in(1)), V(r.dy()), V(r.in(0)), decode<attributes>(r.origin().attributes).axis);
    return all;
  }
  static kernel cpu(kernel_request const& r);
};

struct scatter_along_axis_op {
  using library = void;
  static constexpr std::string_view
      name = "scatter_along_axis",
      doc = "zeros of the third operand's extents, with each element of the second added at its index along an axis";
  static constexpr std::int8_t arity = 3;
  static constexpr std::uint32_t shape_only = 0b100;
  static constexpr dtypes elements = dtypes::numbers;
  using attributes = axis_attributes;
  /// Adds [outer, count, inner] elements to zeros [outer, rows, inner] at indices, which were checked. `sums` is memory
  /// for the sums of 16-bit floats as float32; others are added in the table.
  struct lines {
    std::ptrdiff_t outer, rows, inner, count;
  };
  struct kernels {
    std::array<void (*)(lines const&, void* table, float* sums, void const* from, std::int64_t const* which,
                        parallel const&),
               dtype_count>
        add{};
  };
  static constexpr type infer(attributes const& a, type const& which, type const& x, type const& other,
                              checks expects = {}) {
    expects(elements.contains(x.element), "scatter_along_axis: what is added is not of numbers");
    type const wanted = taken_along(a.axis, other, which, expects);
    expects(accepts(wanted.with(x.element), x), "scatter_along_axis: there is not one element for each index");
    return other.with(x.element);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    std::vector<gradient> all(3);
    if (r.wanted[1]) all[1] = take_along_axis(V(r.dy()), r.in(0), decode<attributes>(r.origin().attributes).axis);
    return all;
  }
  template <class T>
  static void add(lines const& l, void* table, float* sums, void const* from, std::int64_t const* which,
                  parallel const& threads);
  template <dtypes Set> static constexpr kernels make_kernels();
  static kernel cpu(kernel_request const& r);
};

}  // namespace rill::ops

namespace rill {

/// Returns for each index the element of x at this index along the axis, and at the index's own position along the
/// others: `take_along_axis<1>(x, argsort<1>(x))` has sorted rows. The step fails with error(invalid_argument) if an
/// index is out of range.
template <std::int64_t Axis, operand X, operand Which> auto take_along_axis(X x, Which which) {
  if constexpr (typed<X>) detail::provide_kernels<ops::scatter_along_axis_op, X::static_type.element>();
  return record<ops::take_along_axis_op, ops::axis_attributes{Axis}>(x, which);
}
/// Returns the same along an axis known only at run time.
inline value take_along_axis(value x, value which, std::int64_t axis) {
  return record_erased<ops::take_along_axis_op>(detail::graph_of(x), {axis}, {x, which});
}
/// Returns zeros of the extents of `other`, with each element of x added at its index along the axis.
inline value scatter_along_axis(value which, value x, value other, std::int64_t axis) {
  return record_erased<ops::scatter_along_axis_op>(detail::graph_of(x), {axis}, {which, x, other});
}

}  // namespace rill

#include "rill/ops/table/take_along_axis.ipp"
