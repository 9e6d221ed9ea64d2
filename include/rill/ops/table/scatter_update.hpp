// Updates of some rows of a variable: what the sparse gradient of a large table becomes.
#pragma once
#include "rill/ops/state/variable.hpp"
#include "rill/ops/table/scatter.hpp"

namespace rill::ops {

#if RILL_DEFINITIONS
/// The kernel of an update of a variable's rows: in place, under its lock, for the extents that it has then. Indices
/// are checked before anything is written.
inline kernel scatter_into(kernel_request const& r, bool subtract) {
  auto const element = r.inputs[2].element;
  auto const add = kernels_of<scatter_like_op>(element).add[static_cast<std::size_t>(element)];
  auto const scratch = static_cast<std::size_t>(elements(r.inputs[1].shape())) * sizeof(std::int64_t);
  return kernel(
      [=, v = r.variables[0], which = r.inputs[1], rows = r.inputs[2]](kernel_call const& call) {
        v->update(
            [&](tensor& t) {
              auto const& table = t.type();
              expects(accepts(gathered(table, which), rows), "a scattered update has not one row for each index");
              index_reader const read(which, table[0].extent);
              auto* const checked = static_cast<std::int64_t*>(call.scratch());
              read(call.in(1), checked);
              add(t.mutable_raw(), static_cast<std::size_t>(table[0].extent),
                  static_cast<std::size_t>(elements(row_of(table).shape())), call.in(2), checked, read.count(),
                  subtract, call.threads);
            },
            call.step.version);
      },
      scratch);
}
#endif

/// What they share: a variable by reference, indices of its rows, and a row for each of them. No result, so that a
/// large table is never copied because somebody holds a snapshot of it.
struct scatter_update {
  static constexpr std::int8_t arity = 3;
  static constexpr std::size_t outputs = 0;
  static constexpr std::uint32_t by_reference = 1;
  static constexpr rill::effect effect = rill::effect::writes;
  static constexpr std::array<type, 0> infer(no_attributes, type const& v, type const& which, type const& rows,
                                             checks expects = {}) {
    expects(dtypes::numbers.contains(v.element), "a scattered update takes numbers");
    expects(rows.element == v.element, "the rows of a scattered update have another element type than the variable");
    expects(dtypes::indices.contains(which.element), "the indices of a scattered update are not int32 or int64");
    expects(accepts(gathered(v, which, expects), rows), "a scattered update has not one row for each index");
    return {};
  }
};

struct scatter_add_op : scatter_update {
  using library = void;
  static constexpr std::string_view name = "scatter_add",
                                    doc = "adds rows to those rows of the variable that indices name";
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) { return scatter_into(r, false); }
#endif
};

struct scatter_sub_op : scatter_update {
  using library = void;
  static constexpr std::string_view name = "scatter_sub",
                                    doc = "subtracts rows from those rows of the variable that indices name";
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) { return scatter_into(r, true); }
#endif
};

}  // namespace rill::ops

namespace rill {

namespace detail {

/// Sees to it that the program has the kernels of a scattered update.
template <class R> void provide_scatter() {
  if constexpr (typed<R>) provide_kernels<ops::scatter_like_op, R::static_type.element>();
}

}  // namespace detail

/// Adds `rows` to the rows of the variable that `which` names; the same one may come twice.
template <operand V, operand I, operand R> operation scatter_add(V v, I which, R rows) {
  static_assert(detail::is_variable_handle<V>,
                "scatter_add: what is updated must be a variable; this is another value of the graph");
  detail::provide_scatter<R>();
  if constexpr (typed<V> && typed<I> && typed<R>) detail::result_types<ops::scatter_add_op, no_attributes{}, V, I, R>();
  return record_erased<ops::scatter_add_op>(detail::graph_of(v), {}, {v, which, rows});
}
/// Subtracts `rows` from the rows of the variable that `which` names; the same one may come twice.
template <operand V, operand I, operand R> operation scatter_sub(V v, I which, R rows) {
  static_assert(detail::is_variable_handle<V>,
                "scatter_sub: what is updated must be a variable; this is another value of the graph");
  detail::provide_scatter<R>();
  if constexpr (typed<V> && typed<I> && typed<R>) detail::result_types<ops::scatter_sub_op, no_attributes{}, V, I, R>();
  return record_erased<ops::scatter_sub_op>(detail::graph_of(v), {}, {v, which, rows});
}

}  // namespace rill
