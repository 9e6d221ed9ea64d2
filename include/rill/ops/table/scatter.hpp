// Rows added to where indices say: what a sparse gradient becomes when somebody needs it dense.
#pragma once
#include "rill/ops/array/index.hpp"
#include "rill/ops/base/for_each_type.hpp"
#include "rill/ops/base/kernels.hpp"
#include "rill/ops/table/gather.hpp"

namespace rill::ops {

/// Adds `count` rows to a table: row i goes to row indices[i], which was checked. A table is cut into ranges of rows,
/// each of which sees all indices in their order: no two threads write one row, and sums have one order.
using scatter_kernel = void (*)(void* table, std::size_t rows, std::size_t width, void const* from,
                                std::int64_t const* indices, std::size_t count, bool subtract, parallel const& threads);

struct scatter_like_op {
  using library = void;
  static constexpr std::string_view name = "scatter_like",
                                    doc =
                                        "zeros of the extents of another value, with each row added to the row that "
                                        "its index says";
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
#if RILL_KERNELS
  template <class T>
  static void add(void* table, std::size_t rows, std::size_t width, void const* from, std::int64_t const* which,
                  std::size_t count, bool subtract, parallel const& threads) {
    auto* const to = static_cast<T*>(table);
    auto const* const values = static_cast<T const*>(from);
    std::size_t const ranges = rows * width < 32768 ? 1 : rows < 32 ? rows : 32;
    threads(ranges, [&](std::size_t c) {
      auto const first = static_cast<std::int64_t>(c * rows / ranges),
                 last = static_cast<std::int64_t>((c + 1) * rows / ranges);
      for (std::size_t i = 0; i < count; ++i) {
        if (which[i] < first || which[i] >= last) continue;
        T* const row = to + static_cast<std::size_t>(which[i]) * width;
        T const* const v = values + i * width;
        if (subtract)
          for (std::size_t j = 0; j < width; ++j) row[j] = difference(row[j], v[j]);
        else
          for (std::size_t j = 0; j < width; ++j) row[j] = sum(row[j], v[j]);
      }
    });
  }
  template <dtypes Set> static constexpr kernels make_kernels() {
    kernels k;
    for_each_type<elements & Set>([&]<class T>(std::size_t d) { k.add[d] = add<T>; });
    return k;
  }

 private:
  // Integers wrap; 16-bit floats are added as floats.
  template <class T> static T sum(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    else return static_cast<T>(a + b);
  }
  template <class T> static T difference(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
    else return static_cast<T>(a - b);
  }

 public:
#endif
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r);
#endif
};

#if RILL_DEFINITIONS
/// A kernel that adds rows, input `which` + 1, to those rows of a table that the indices, input `which`, name, or
/// subtracts them. `with_table(call, add)` calls add(the table's elements, subtract); indices are checked before.
template <class F> kernel scattering(kernel_request const& r, type const& table, std::size_t which, F with_table) {
  index_reader const read(r.inputs[which], table[0].extent);
  auto const run = kernels_of<scatter_like_op>(table.element).add[static_cast<std::size_t>(table.element)];
  auto const rows = static_cast<std::size_t>(table[0].extent),
             width = static_cast<std::size_t>(elements(row_of(table).shape()));
  return kernel(
      [=](kernel_call const& call) {
        auto* const checked = static_cast<std::int64_t*>(call.scratch());
        read(call.in(which), checked);
        with_table(call, [&](void* to, bool subtract) {
          run(to, rows, width, call.in(which + 1), checked, read.count(), subtract, call.threads);
        });
      },
      read.count() * sizeof(std::int64_t));
}

inline kernel scatter_like_op::cpu(kernel_request const& r) {
  return scattering(r, r.outputs[0], 0, [bytes = r.outputs[0].bytes()](kernel_call const& call, auto add) {
    if (bytes != 0) std::memset(call.out(0), 0, bytes);
    add(call.out(0), false);
  });
}
#endif

/// A table with rows added to some of its own. Written in place where nobody else reads the table: what sums of sparse
/// gradients are made by.
struct add_rows_op {
  using library = void;
  static constexpr std::string_view name = "add_rows",
                                    doc = "a table with each row of a list added to the row that its index says";
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
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    return scattering(r, r.outputs[0], 1, [bytes = r.outputs[0].bytes()](kernel_call const& call, auto add) {
      if (bytes != 0 && call.in(0) != call.out(0)) std::memcpy(call.out(0), call.in(0), bytes);
      add(call.out(0), false);
    });
  }
#endif
};

}  // namespace rill::ops

namespace rill {

/// The table with each row added to the row that its index says, in the order of the indices.
template <operand Table, operand Which, operand Rows> auto add_rows(Table table, Which which, Rows rows) {
  if constexpr (typed<Table>) detail::provide_kernels<ops::scatter_like_op, Table::static_type.element>();
  return record<ops::add_rows_op>(table, which, rows);
}
/// Zeros of the extents of `other`, with each row added to the row that its index says, in the order of the indices.
inline value scatter_like(value which, value rows, value other) {
  return record_erased<ops::scatter_like_op>(detail::graph_of(rows), {}, {which, rows, other});
}
/// A gradient with respect to x as a value of x's extents.
inline value densify(gradient const& g, value x) { return g.sparse() ? scatter_like(g.indices, g.rows, x) : g.dense; }

}  // namespace rill
