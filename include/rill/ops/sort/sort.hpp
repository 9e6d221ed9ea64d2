// Elements in order along an axis, all of them or the largest ones, and where they were.
#pragma once
#include <array>

#include "rill/ops/table/take_along_axis.hpp"

namespace rill::kernels {
struct sort_lines;
}

namespace rill::ops {

struct sort_op {
  using library = void;
  static constexpr std::string_view
      name = "sort",
      doc =
          "the elements of x in order along an axis, or the first `count` of them, and their indices; equal elements "
          "keep their order, and NaN counts as larger than any number";
  static constexpr std::int8_t arity = 1;
  static constexpr std::size_t outputs = 2;
  static constexpr dtypes elements = dtypes::reals;
  struct attributes {
    std::int64_t axis = -1;
    bool descending = false;
    std::int64_t count = -1;  ///< of elements that are returned; -1: all
    dtype index = dtype::int32;
    static constexpr auto fields(auto const& take) {
      using a = attributes;
      return take(field{"axis", &a::axis}, field{"descending", &a::descending}, field{"count", &a::count},
                  field{"index", &a::index});
    }
  };
  struct kernels {
    std::array<void (*)(rill::kernels::sort_lines const&, void const* x, void* values, void* indices, void* scratch,
                        parallel const&),
               dtype_count>
        run{};
  };
  static constexpr std::array<type, 2> infer(attributes const& a, type const& x, checks expects = {}) {
    expects(elements.contains(x.element), "sort: the operand is not of real numbers; cast it");
    expects(dtypes::indices.contains(a.index), "sort: the indices must be int32 or int64");
    expects(a.count >= -1, "sort: the number of elements is negative");
    if (!x.has_rank()) return {x, x.with(a.index)};
    auto const axis = checked_axis(a.axis, x.rank, "sort: the axis is out of range for the operand's rank", expects);
    if (x.rank == 0) return {x, x};
    type y = x;
    if (a.count >= 0) {
      expects(!x[axis].known() || a.count <= x[axis].extent, "top_k: the axis has fewer elements than are asked for",
              x[axis], a.count);
      y[axis] = dim(a.count);
    }
    return {y, y.with(a.index)};
  }
  static cost work(attributes const&, std::span<type const> in, std::span<type const> out) {
    return {20 * rill::detail::elements_of(in), 2 * (rill::detail::bytes_of(in) + rill::detail::bytes_of(out))};
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const axis = decode<attributes>(r.origin().attributes).axis;
    return {scatter_along_axis(V(r.out(1)), V(r.dy(0)), V(r.in(0)), axis)};
  }
  template <class T>
  static void run(rill::kernels::sort_lines const& l, void const* x, void* values, void* indices, void* scratch,
                  parallel const& threads);
  template <dtypes Set> static constexpr kernels make_kernels();
  static kernel cpu(kernel_request const& r);
};

}  // namespace rill::ops

namespace rill {

/// Asks for the largest elements first: `sort<0>(x, descending)`.
struct descending_order {};
/// Asks for the largest elements first: `sort<0>(x, descending)`.
inline constexpr descending_order descending;

namespace detail {

template <ops::sort_op::attributes A, operand X> auto sorted(X x) {
  if constexpr (typed<X>) {
    provide_kernels<ops::scatter_along_axis_op, X::static_type.element>();
    return record<ops::sort_op, A>(x);
  } else {
    value const values = record_erased<ops::sort_op>(graph_of(x), A, {x});
    return std::array{values, value{values.graph, values.node, 1}};
  }
}
inline std::array<value, 2> sorted(value x, ops::sort_op::attributes const& a) {
  value const values = record_erased<ops::sort_op>(graph_of(x), a, {x});
  return {values, {values.graph, values.node, 1}};
}

}  // namespace detail

/// Returns the elements of x in ascending order along an axis. Equal elements keep their order; NaN comes last. The
/// derivative goes to where the elements were.
template <std::int64_t Axis = -1, operand X> auto sort(X x) {
  return std::get<0>(detail::sorted<ops::sort_op::attributes{Axis}>(x));
}
/// Returns the same in descending order: equal elements keep their order, and NaN comes first.
template <std::int64_t Axis = -1, operand X> auto sort(X x, descending_order) {
  return std::get<0>(detail::sorted<ops::sort_op::attributes{Axis, true}>(x));
}
/// Returns the same along an axis known only at run time.
inline value sort(value x, std::int64_t axis, bool largest_first = false) {
  return detail::sorted(x, {axis, largest_first})[0];
}

/// Returns for each position of `sort(x)` the index that its element has in x, as int32 or another index type. Equal
/// elements keep their order; NaN comes last.
template <std::int64_t Axis = -1, element Index = std::int32_t, operand X> auto argsort(X x) {
  return std::get<1>(detail::sorted<ops::sort_op::attributes{Axis, false, -1, dtype_of<Index>}>(x));
}
/// Returns the same for `sort(x, descending)`.
template <std::int64_t Axis = -1, element Index = std::int32_t, operand X> auto argsort(X x, descending_order) {
  return std::get<1>(detail::sorted<ops::sort_op::attributes{Axis, true, -1, dtype_of<Index>}>(x));
}
/// Returns the same along an axis known only at run time.
inline value argsort(value x, std::int64_t axis, bool largest_first = false, dtype index = dtype::int32) {
  return detail::sorted(x, {axis, largest_first, -1, index})[1];
}

/// Returns the `Count` largest elements along an axis, the largest first, and their indices:
/// `auto [values, indices] = top_k<5>(logits)`. Of equal elements the one with the smaller index comes first; NaN
/// counts as larger than any number. The derivative goes to where the elements were.
template <std::int64_t Count, std::int64_t Axis = -1, element Index = std::int32_t, operand X> auto top_k(X x) {
  static_assert(Count >= 0, "top_k: the number of elements is negative");
  return detail::sorted<ops::sort_op::attributes{Axis, true, Count, dtype_of<Index>}>(x);
}
/// Returns the same for a number and an axis known only at run time.
inline std::array<value, 2> top_k(value x, std::int64_t count, std::int64_t axis = -1, dtype index = dtype::int32) {
  expects(count >= 0, "top_k: the number of elements is negative");
  return detail::sorted(x, {axis, true, count, index});
}

}  // namespace rill

#include "rill/ops/sort/sort.ipp"
