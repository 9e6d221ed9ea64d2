// Rows of a table by index; a variable is read without copying the table.
#pragma once
#include "rill/ops/array/index.hpp"
#include "rill/ops/array/reshape.hpp"
#include "rill/ops/state/variable.hpp"

namespace rill::ops {

/// What both kinds of gather share.
struct gather_rules {
  static constexpr std::int8_t arity = 2;
  static constexpr type infer(no_attributes, type const& table, type const& which, checks expects = {}) {
    expects(dtypes::indices.contains(which.element), "gather: the indices are neither int32 nor int64");
    return gathered(table, which, expects);
  }
  static cost work(no_attributes, std::span<type const> in, std::span<type const> out) {
    return {0, 2 * rill::detail::bytes_of(out) + rill::detail::bytes_of(in.subspan(1))};
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    std::vector<gradient> all(2);
    if (r.wanted[0]) all[0] = gradient(flat_indices(V(r.in(1))), flat_rows(V(r.dy()), r.in(0), r.in(1)));
    return all;
  }
};

/// The gathered rows for indices of any rank, as a list with a row for each index.
struct rows_like_op {
  using library = void;
  static constexpr std::string_view name = "rows_like",
                                    doc = "a row of a table for each index of any rank, as a list of rows";
  static constexpr std::int8_t arity = 3;
  static constexpr std::uint32_t shape_only = 0b110;
  static constexpr bool aliases_input = true;
  static constexpr type infer(no_attributes, type const& rows, type const& table, type const& which,
                              checks expects = {}) {
    expects(accepts(gathered(table, which, expects).with(rows.element), rows),
            "rows_like: there is not a row for each index");
    if (!table.has_rank()) return type::of_unknown_rank(rows.element);
    type y{rows.element, {which.is_known() ? dim(elements(which.shape(), expects)) : unknown}};
    for (std::size_t i = 1; i < table.rank; ++i) y.push_back(table[i]);
    return y;
  }
  static cost work(no_attributes, std::span<type const>, std::span<type const>) { return {}; }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    std::vector<gradient> all(3);
    if (r.wanted[0]) all[0] = reshape_like(V(r.dy()), r.in(0));
    return all;
  }
};

struct gather_op : gather_rules {
  using library = void;
  static constexpr std::string_view name = "gather",
                                    doc = "the rows of a table at indices of any rank; the derivative is sparse";
  static kernel cpu(kernel_request const& r);
};

struct gather_variable_op : gather_rules {
  using library = void;
  static constexpr std::string_view name = "gather_variable",
                                    doc = "the rows of a variable at indices of any rank, read under its lock";
  static constexpr std::uint32_t by_reference = 1;
  static constexpr bool reference_or_value = true;
  static constexpr bool dynamic_output_shape = true;  // an update may change the variable's extents
  static constexpr rill::effect effect = rill::effect::reads;
  static kernel cpu(kernel_request const& r);
};

}  // namespace rill::ops

namespace rill {

/// Returns indices of any rank as a list, as in a sparse gradient.
inline value flat_indices(value which) {
  return which.type().has_rank() && which.type().rank == 1 ? which : reshape(which, extents{-1});
}
/// Returns the rows for indices of any rank as a list of rows.
inline value flat_rows(value rows, value table, value which) {
  if (which.type().has_rank() && which.type().rank == 1) return rows;
  return record_erased<ops::rows_like_op>(detail::graph_of(rows), {}, {rows, table, which});
}

/// Returns the rows of a table at the indices, one for each index. The step fails with error(invalid_argument) if an
/// index is out of range.
template <operand Table, operand Which> auto gather(Table table, Which which) {
  if constexpr (variable_handle<Table>) {
    if constexpr (typed<Table> && typed<Which>)
      return record<ops::gather_variable_op>(expr<Table::static_type>(table), which);
    else return record<ops::gather_variable_op>(value(table), which);
  } else return record<ops::gather_op>(table, which);
}

/// Returns a row of x for each index of the graph: `x[i]`. See `gather`.
template <operand X, operand Index> auto subscript(X x, Index i) { return gather(x, i); }

}  // namespace rill

#include "rill/ops/table/gather.ipp"
