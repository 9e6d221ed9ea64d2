// Values of one type stacked along a new axis, and slices of a value along an axis.
#pragma once
#include "rill/ops/array/expand_dims.hpp"
#include "rill/ops/array/split.hpp"

namespace rill {

/// Values of the same extents along a new axis: `stack(a, b)` of two vectors is a matrix of two rows, `stack<1>(a, b)`
/// of two columns. A negative axis counts from the result's end.
template <std::int64_t Axis = 0, operand... X>
  requires(sizeof...(X) > 0)
auto stack(X... x) {
  return record<ops::concat_op, ops::concat_op::attributes{Axis}>(expand_dims<Axis>(x)...);
}
/// Returns the same for any number of values.
inline value stack(std::vector<value> x, std::int64_t axis = 0) try {
  expects(!x.empty(), "stack: there are no operands");
  for (auto& each : x) each = expand_dims(each, axis);
  return concat(x, axis);
} catch (...) {
  rethrow_as_error();
}

namespace detail {

/// Returns the number of slices along an axis.
constexpr std::int64_t slices_of(type const& x, std::int64_t axis, checks expects = {}) {
  if (!expects(x.has_rank(), "unstack: the operand's rank must be known")) return 1;
  auto const extent =
      x[checked_axis(axis, x.rank, "unstack: the axis is out of range for the operand's rank", expects)];
  expects(extent.known(), "unstack: the extent of the axis must be known");
  return extent.extent;
}

struct unstacking {
  static constexpr std::string_view name = "unstack";
  static constexpr std::int8_t arity = 1;
  static constexpr std::int64_t infer(ops::axis_attributes const& a, type const& x, checks expects = {}) {
    return slices_of(x, a.axis, expects);
  }
};

}  // namespace detail

/// Returns the slices of x along an axis, without that axis. Its extent must be known.
inline std::vector<value> unstack(value x, std::int64_t axis = 0) try {
  auto const count = detail::slices_of(x.type(), axis);
  if (count == 0) return {};
  auto all = split(x, count, axis);
  for (auto& each : all) each = squeeze(each, axis);
  return all;
} catch (...) {
  rethrow_as_error();
}

/// Returns the same as an array of typed handles: `auto [a, b] = unstack<1>(x)`.
template <std::int64_t Axis, typed X> auto unstack(X x) try {
  using rules = detail::unstacking;
  constexpr auto count = detail::inferred_by<rules, ops::axis_attributes{Axis}, X>();
  if constexpr (count.refused()) return detail::refuse<rules, ops::axis_attributes{Axis}, X>();
  else {
    static_assert(count.types > 0, "unstack: there are no slices");
    auto const parts = split<count.types, Axis>(x);
    return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      return std::array{squeeze<Axis>(parts[Index])...};
    }(std::make_index_sequence<static_cast<std::size_t>(count.types)>{});
  }
} catch (...) {
  rethrow_as_error();
}

}  // namespace rill
