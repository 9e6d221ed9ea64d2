// Elements and rows by several indices each; and zeros with such elements added.
#pragma once
#include <string>

#include "rill/ops/array/constant.hpp"
#include "rill/ops/array/fill.hpp"
#include "rill/ops/array/merge_axes.hpp"
#include "rill/ops/table/scatter.hpp"

namespace rill::ops {

struct row_numbers_op {
  using library = void;
  static constexpr std::string_view
      name = "row_numbers",
      doc =
          "for each list of indices along the first operand's last axis the number of the row of a table, the second "
          "operand, whose first axes are merged";
  static constexpr std::int8_t arity = 2;
  static constexpr std::uint32_t shape_only = 0b10;
  static constexpr type infer(no_attributes, type const& which, type const& table, checks expects = {}) {
    expects(dtypes::indices.contains(which.element), "gather_nd: the indices are neither int32 nor int64");
    if (!which.has_rank()) return type::of_unknown_rank(dtype::int64);
    if (!expects(which.rank > 0, "gather_nd: the indices have no last axis, which holds the indices of one element"))
      return which;
    type y{dtype::int64};
    for (std::size_t i = 0; i + 1 < which.rank; ++i) y.push_back(which[i]);
    auto const& count = which[which.rank - std::size_t{1}];
    expects(!count.known() || count.extent > 0, "gather_nd: there must be at least one index for each element");
    expects(!count.known() || !table.has_rank() || count.extent <= static_cast<std::int64_t>(table.rank),
            "gather_nd: there are more indices for each element than the table has axes");
    return y;
  }
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    auto const which = r.inputs[0];
    auto const axes = static_cast<std::size_t>(which[which.rank - std::size_t{1}].extent);
    return kernel([axes, table = r.inputs[1].shape(), indices = index_reader(which, 0),
                   count = static_cast<std::size_t>(elements(r.outputs[0].shape()))](kernel_call const& call) {
      auto* const to = call.out<std::int64_t>(0);
      for (std::size_t i = 0; i < count; ++i) {
        to[i] = 0;
        for (std::size_t k = 0; k < axes; ++k) {
          auto const at = indices.at(call.in(0), i * axes + k);
          if (at < 0 || at >= table[k])
            throw error(code::invalid_argument, "index " + std::to_string(k) + " of element " + std::to_string(i) +
                                                    " is " + std::to_string(at) + ", and axis " + std::to_string(k) +
                                                    " has " + std::to_string(table[k]) + " elements");
          to[i] = to[i] * table[k] + at;
        }
      }
    });
  }
#endif
};

/// Returns how many indices there are for each element.
constexpr std::int64_t indices_each(type const& which, checks expects = {}) {
  bool const known = which.has_rank() && which.rank > 0 && which[which.rank - std::size_t{1}].known();
  expects(known, "gather_nd: the last extent of the indices must be known");
  return known ? which[which.rank - std::size_t{1}].extent : 1;
}

struct gather_nd_rules {
  static constexpr std::string_view name = "gather_nd";
  static constexpr std::int8_t arity = 2;
  static constexpr std::int64_t infer(no_attributes, type const& table, type const& which, checks expects = {}) {
    (void)row_numbers_op::infer({}, which, table, expects);
    return indices_each(which, expects);
  }
};

}  // namespace rill::ops

namespace rill {

/// Returns for each list of k indices, along the last axis of `which`, the part of the table at these positions of its
/// first k axes: elements, or rows where k is less than the table's rank. The step fails with error(invalid_argument)
/// if an index is out of range.
template <operand Table, operand Which> auto gather_nd(Table table, Which which) {
  if constexpr (typed<Table> && typed<Which>) {
    using rules = ops::gather_nd_rules;
    constexpr auto count = detail::inferred_by<rules, no_attributes{}, Table, Which>();
    if constexpr (count.refused()) return detail::refuse<rules, no_attributes{}, Table, Which>();
    else {
      auto const rows = record<ops::row_numbers_op>(which, table);
      return gather(merge_axes<0, count.types>(expr<Table::static_type>(table)), rows);
    }
  } else {
    auto const count = ops::indices_each(value(which).type());
    value const rows = record_erased<ops::row_numbers_op>(detail::graph_of(table), {}, {which, table});
    return value(gather(merge_axes(value(table), 0, count), rows));
  }
}

/// Returns zeros of the given extents with each of `parts` added at its list of indices, along the last axis of
/// `which`, in the order of the indices: what `gather_nd` takes is put back. The step fails with
/// error(invalid_argument) if an index is out of range.
inline value scatter_nd(value which, value parts, shape const& extents) {
  auto const count = ops::indices_each(which.type());
  value const table = fill(zero(parts), extents);
  value const rows = record_erased<ops::row_numbers_op>(detail::graph_of(parts), {}, {which, table});
  return reshape(add_rows(merge_axes(table, 0, count), rows, parts), extents);
}
/// Returns the same for extents known at compile time: `scatter_nd<3, 4>(which, parts)`.
template <dim... Extents, operand Which, operand Parts>
  requires(sizeof...(Extents) > 0)
auto scatter_nd(Which which, Parts parts) {
  constexpr type to{dtype::float32, {Extents...}};
  value const y = scatter_nd(value(which), value(parts), to.shape());
  if constexpr (typed<Parts>) {
    detail::provide_kernels<ops::scatter_like_op, Parts::static_type.element>();
    return expr<to.with(Parts::static_type.element)>{y};
  } else return y;
}

}  // namespace rill
