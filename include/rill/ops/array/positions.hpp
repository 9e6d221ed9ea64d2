// Positions along an axis.
#pragma once
#include <numeric>

#include "rill/dsl/expr.hpp"

namespace rill::ops {

struct positions_op {
  using library = void;
  static constexpr std::string_view name = "positions", doc = "0, 1, 2, …: the position of each row of x along an axis";
  static constexpr std::int8_t arity = 1;
  static constexpr std::uint32_t shape_only = 1;
  struct attributes {
    std::int64_t axis = 0;
    dtype element = dtype::int32;
    static constexpr auto fields(auto const& take) {
      return take(field{"axis", &attributes::axis}, field{"element", &attributes::element});
    }
  };
  static constexpr type infer(attributes const& a, type const& x, checks expects = {}) {
    expects(dtypes::indices.contains(a.element), "positions: the result must be int32 or int64");
    if (!x.has_rank()) return {a.element, {unknown}};
    auto const extent =
        x[checked_axis(a.axis, x.rank, "positions: the axis is out of range for the operand's rank", expects)];
    expects(!extent.known() || a.element == dtype::int64 || extent.extent <= INT32_MAX,
            "positions: the extent does not fit in int32; ask for int64");
    return {a.element, {extent}};
  }
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    auto const n = r.outputs[0][0].extent;
    bool const wide = r.outputs[0].element == dtype::int64;
    return kernel([=](kernel_call const& call) {
      if (wide) std::iota(call.out<std::int64_t>(0), call.out<std::int64_t>(0) + n, std::int64_t{0});
      else std::iota(call.out<std::int32_t>(0), call.out<std::int32_t>(0) + n, std::int32_t{0});
    });
  }
#endif
};

}  // namespace rill::ops

namespace rill {

/// Returns 0, 1, 2, …: the positions along an axis of x; only the extent of the axis matters: `positions<1>(x)`.
template <std::int64_t Axis, element T = std::int32_t, operand X> auto positions(X x) {
  return record<ops::positions_op, ops::positions_op::attributes{Axis, dtype_of<T>}>(x);
}
inline value positions(value x, std::int64_t axis, dtype element = dtype::int32) {
  return record_erased<ops::positions_op>(detail::graph_of(x), {axis, element}, {x});
}

}  // namespace rill
