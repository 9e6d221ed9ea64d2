// Adds rows to a table at indices: converts sparse gradients to dense ones.
#pragma once
#include <algorithm>
#include <numeric>

#include "rill/ops/array/index.hpp"
#include "rill/ops/base/for_each_type.hpp"
#include "rill/ops/base/kernels.hpp"
#include "rill/ops/math/cast.hpp"
#include "rill/ops/table/gather.hpp"

namespace rill::ops {

/// Adds `count` rows to a table: row i goes to row indices[i], which was checked. A table is cut into ranges of rows,
/// each of which processes all indices in order: so no two threads write the same row, and the order of sums is fixed.
/// The addends of a row of 16-bit floats are added as float32 and rounded once; `order_rows` has written their order
/// after the indices.
using scatter_kernel = void (*)(void* table, std::size_t rows, std::size_t width, void const* from,
                                std::int64_t const* indices, std::size_t count, bool subtract, parallel const& threads);

struct scatter_like_op {
  using library = void;
  static constexpr std::string_view name = "scatter_like",
                                    doc = "zeros of the third operand's extents, with each row added at its index";
  static constexpr std::int8_t arity = 3;
  static constexpr std::uint32_t shape_only = 0b100;
  static constexpr dtypes elements = dtypes::numbers;
  struct kernels {
    std::array<scatter_kernel, dtype_count> add{};
  };
  static constexpr type infer(no_attributes, type const& which, type const& rows, type const& other,
                              checks expects = {}) {
    expects(dtypes::indices.contains(which.element), "scatter: the indices are neither int32 nor int64");
    expects(elements.contains(rows.element), "scatter: the rows are not numbers");
    type const wanted = gathered(other, which, expects);
    expects(accepts(wanted.with(rows.element), rows),
            "scatter: there is not a row of the table's extents for each index");
    return other.with(rows.element);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    std::vector<gradient> all(3);
    if (r.wanted[1]) all[1] = gather(V(r.dy()), r.in(0));
    return all;
  }
  template <class T>
  static void add(void* table, std::size_t rows, std::size_t width, void const* from, std::int64_t const* which,
                  std::size_t count, bool subtract, parallel const& threads);
  template <dtypes Set> static constexpr kernels make_kernels();
  static kernel cpu(kernel_request const& r);
};

/// Adds rows to some rows of a table, in place if nothing else reads it. Sums of sparse gradients use it.
struct add_rows_op {
  using library = void;
  static constexpr std::string_view name = "add_rows", doc = "a table with each of a list of rows added at its index";
  static constexpr std::int8_t arity = 3;
  static constexpr std::uint32_t updates_in_place = 0b1;
  static constexpr dtypes elements = dtypes::numbers;
  static constexpr type infer(no_attributes, type const& table, type const& which, type const& rows,
                              checks expects = {}) {
    expects(elements.contains(table.element), "add_rows: the table does not hold numbers");
    expects(rows.element == table.element, "add_rows: the rows have another element type than the table");
    expects(dtypes::indices.contains(which.element), "add_rows: the indices are neither int32 nor int64");
    expects(accepts(gathered(table, which, expects), rows),
            "add_rows: there is not a row of the table's extents for each index");
    return table;
  }
  static cost work(no_attributes, std::span<type const> in, std::span<type const>) {
    return {0, 2 * rill::detail::bytes_of(in.subspan(1))};
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    std::vector<gradient> all(3);
    if (r.wanted[0]) all[0] = r.dy();
    if (r.wanted[2]) all[2] = gather(V(r.dy()), r.in(1));
    return all;
  }
  static kernel cpu(kernel_request const& r);
};

}  // namespace rill::ops

#if RILL_DEFINITIONS
namespace rill::ops {

/// Returns the number of int64 that a scatter kernel reads for `count` indices.
inline std::size_t scatter_indices(dtype element, std::size_t count) {
  return rill::detail::wide_element(element) == element ? count : 2 * count;
}
/// For rows of 16-bit floats, writes the positions of the indices, sorted by index, after the indices. Positions of
/// equal indices keep their order.
inline void order_rows(dtype element, std::int64_t* indices, std::size_t count) {
  if (scatter_indices(element, count) == count) return;
  auto* const order = indices + count;
  std::iota(order, order + count, std::int64_t{0});
  std::sort(order, order + count, [indices](std::int64_t a, std::int64_t b) {
    return indices[a] != indices[b] ? indices[a] < indices[b] : a < b;
  });
}

}  // namespace rill::ops
#endif

namespace rill {

/// Returns the table with each row added at its index, in the order of the indices.
template <operand Table, operand Which, operand Rows> auto add_rows(Table table, Which which, Rows rows) {
  if constexpr (typed<Table>) detail::provide_kernels<ops::scatter_like_op, Table::static_type.element>();
  return record<ops::add_rows_op>(table, which, rows);
}
/// Returns zeros of the extents of `other`, with each row added at its index, in the order of the indices.
inline value scatter_like(value which, value rows, value other) {
  return record_erased<ops::scatter_like_op>(detail::graph_of(rows), {}, {which, rows, other});
}
/// Returns a gradient with respect to x as a dense value.
inline value densify(gradient const& g, value x) { return g.sparse() ? scatter_like(g.indices, g.rows, x) : g.dense; }

}  // namespace rill

#include "rill/ops/table/scatter.ipp"
