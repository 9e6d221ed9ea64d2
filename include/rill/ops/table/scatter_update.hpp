// Updates of some rows of a variable, as by the sparse gradient of a large table.
#pragma once
#include "rill/ops/state/variable.hpp"
#include "rill/ops/table/scatter.hpp"

namespace rill::ops {

/// What scatter_add, scatter_sub and scatter_update share: a variable by reference, indices of its rows, and a row for
/// each index. They have no result, so a large table is never copied for a snapshot.
template <class Op> struct scatter_update {
  static constexpr std::int8_t arity = 3;
  static constexpr std::size_t outputs = 0;
  static constexpr std::uint32_t by_reference = 1;
  static constexpr rill::effect effect = rill::effect::writes;
  static constexpr std::array<type, 0> infer(no_attributes, type const& v, type const& which, type const& rows,
                                             checks expects = {}) {
    expects(dtypes::numbers.contains(v.element), "a scattered update needs a variable of numbers");
    check(v, which, rows, expects);
    return {};
  }
  static constexpr void check(type const& v, type const& which, type const& rows, checks expects) {
    expects(rows.element == v.element, "the rows of a scattered update have another element type than the variable");
    expects(dtypes::indices.contains(which.element), "the indices of a scattered update are not int32 or int64");
    expects(accepts(gathered(v, which, expects), rows), "a scattered update does not have one row for each index");
  }
  // Updates in place under the variable's lock. Indices are checked before anything is written.
  static kernel cpu(kernel_request const& r);
};

struct scatter_add_op : scatter_update<scatter_add_op> {
  using library = void;
  static constexpr std::string_view name = "scatter_add",
                                    doc = "adds rows to the rows of the variable at the given indices";
  static constexpr bool subtracts = false;
};

struct scatter_sub_op : scatter_update<scatter_sub_op> {
  using library = void;
  static constexpr std::string_view name = "scatter_sub",
                                    doc = "subtracts rows from the rows of the variable at the given indices";
  static constexpr bool subtracts = true;
};

struct scatter_update_op : scatter_update<scatter_update_op> {
  using library = void;
  static constexpr std::string_view name = "scatter_update",
                                    doc =
                                        "assigns rows to the rows of the variable at the given indices, in their order";
  static constexpr std::array<type, 0> infer(no_attributes, type const& v, type const& which, type const& rows,
                                             checks expects = {}) {
    check(v, which, rows, expects);
    return {};
  }
  static kernel cpu(kernel_request const& r);
};

}  // namespace rill::ops

namespace rill {

namespace detail {

/// Provides the kernels of a scattered update.
template <class R> void provide_scatter() {
  if constexpr (typed<R>) provide_kernels<ops::scatter_like_op, R::static_type.element>();
}

}  // namespace detail

/// Adds `rows` to the rows of the variable at the indices `which`, which may repeat.
template <operand V, operand Index, operand R> operation scatter_add(V v, Index which, R rows) {
  static_assert(detail::is_variable_handle<V>,
                "scatter_add: what is updated must be a variable; this is another value of the graph");
  detail::provide_scatter<R>();
  if constexpr (typed<V> && typed<Index> && typed<R>)
    detail::result_types<ops::scatter_add_op, no_attributes{}, V, Index, R>();
  return record_erased<ops::scatter_add_op>(detail::graph_of(v), {}, {v, which, rows});
}
/// Subtracts `rows` from the rows of the variable at the indices `which`, which may repeat.
template <operand V, operand Index, operand R> operation scatter_sub(V v, Index which, R rows) {
  static_assert(detail::is_variable_handle<V>,
                "scatter_sub: what is updated must be a variable; this is another value of the graph");
  detail::provide_scatter<R>();
  if constexpr (typed<V> && typed<Index> && typed<R>)
    detail::result_types<ops::scatter_sub_op, no_attributes{}, V, Index, R>();
  return record_erased<ops::scatter_sub_op>(detail::graph_of(v), {}, {v, which, rows});
}
/// Assigns `rows` to the rows of the variable at the indices `which`. Of rows with the same index the last one stays.
template <operand V, operand Index, operand R> operation scatter_update(V v, Index which, R rows) {
  static_assert(detail::is_variable_handle<V>,
                "scatter_update: what is updated must be a variable; this is another value of the graph");
  if constexpr (typed<V> && typed<Index> && typed<R>)
    detail::result_types<ops::scatter_update_op, no_attributes{}, V, Index, R>();
  return record_erased<ops::scatter_update_op>(detail::graph_of(v), {}, {v, which, rows});
}

}  // namespace rill

#if RILL_DEFINITIONS
#include "rill/device/step.hpp"
#include "rill/state/variable.hpp"
#include "rill/tensor/elements.hpp"

namespace rill::ops {

template <class Op> kernel scatter_update<Op>::cpu(kernel_request const& r) {
  auto const element = r.inputs[2].element;
  auto const add = kernels_of<scatter_like_op>(element).add[static_cast<std::size_t>(element)];
  auto const count = static_cast<std::size_t>(elements(r.inputs[1].shape()));
  auto const scratch = scatter_indices(element, count) * sizeof(std::int64_t);
  return kernel(
      [=, v = r.variables[0], which = r.inputs[1], rows = r.inputs[2]](kernel_call const& call) {
        v->update(
            [&](tensor& t) {
              auto const& table = t.type();
              expects(accepts(gathered(table, which), rows), "a scattered update does not have one row for each index");
              index_reader const read(which, table[0].extent);
              auto* const checked = static_cast<std::int64_t*>(call.scratch());
              read(call.in(1), checked);
              order_rows(element, checked, read.count());
              add(t.mutable_raw(), static_cast<std::size_t>(table[0].extent),
                  static_cast<std::size_t>(elements(row_of(table).shape())), call.in(2), checked, read.count(),
                  Op::subtracts, call.threads);
            },
            call.step.version);
      },
      scratch);
}

inline kernel scatter_update_op::cpu(kernel_request const& r) {
  return kernel([v = r.variables[0], which = r.inputs[1], rows = r.inputs[2]](kernel_call const& call) {
    v->update(
        [&](tensor& t) {
          auto const& table = t.type();
          expects(accepts(gathered(table, which), rows), "a scattered update does not have one row for each index");
          index_reader const read(which, table[0].extent);
          read.check(call.in(1));
          auto const width = static_cast<std::size_t>(elements(row_of(table).shape()));
          auto const bytes = width * size_of(table.element);
          auto* const to = static_cast<std::byte*>(t.mutable_raw());
          for (std::size_t i = 0; i < read.count(); ++i)
            copy_elements(table.element, to + static_cast<std::size_t>(read.at(call.in(1), i)) * bytes,
                          static_cast<std::byte const*>(call.in(2)) + i * bytes, width);
        },
        call.step.version);
  });
}

}  // namespace rill::ops
#endif
