// Indices of true elements.
#pragma once
#include <algorithm>

#include "rill/dsl/expr.hpp"

namespace rill::ops {

struct where_op {
  using library = void;
  static constexpr std::string_view name = "where",
                                    doc = "the indices of the true elements of a vector, in ascending order";
  static constexpr std::int8_t arity = 1;
  static constexpr bool dynamic_output_shape = true;
  static constexpr dtypes elements = dtype::boolean;
  static constexpr type infer(no_attributes, type const& condition, checks expects = {}) {
    expects(condition.element == dtype::boolean, "where: the condition is not a bool");
    expects(!condition.has_rank() || condition.rank == 1, "where: the condition is not a vector");
    return {dtype::int64, {unknown}};
  }
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    kernel k([n = r.inputs[0][0].extent](kernel_call const& call) {
      auto const* const holds = call.in<bool>(0);
      tensor found(dtype::int64, {std::count(holds, holds + n, true)});
      auto* to = found.mutable_data<std::int64_t>();
      for (std::int64_t i = 0; i < n; ++i)
        if (holds[i]) *to++ = i;
      call.give(0, std::move(found));
    });
    k.allocates_outputs = true;
    return k;
  }
#endif
};

}  // namespace rill::ops

namespace rill {

/// Returns the indices of the true elements of a vector in ascending order, as int64: `gather(x, where(chosen))`
/// returns the chosen rows. Their number is known only when the step runs; nodes that depend on it are deferred.
template <operand C> auto where(C condition) { return record<ops::where_op>(condition); }

}  // namespace rill
