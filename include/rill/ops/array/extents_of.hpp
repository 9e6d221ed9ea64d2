// The extents of a value, as a value.
#pragma once
#include "rill/dsl/expr.hpp"

namespace rill::ops {

struct extents_of_op {
  using library = void;
  static constexpr std::string_view name = "extents_of", doc = "the extents of x, one int64 for each axis";
  static constexpr std::int8_t arity = 1;
  static constexpr std::uint32_t shape_only = 1;
  static constexpr type infer(no_attributes, type const& x) {
    return {dtype::int64, {x.has_rank() ? dim(static_cast<std::int64_t>(x.rank)) : unknown}};
  }
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    return kernel([of = r.inputs[0].shape()](kernel_call const& call) {
      std::copy(of.begin(), of.end(), call.out<std::int64_t>(0));
    });
  }
#endif
};

}  // namespace rill::ops

namespace rill {

/// Returns the extents that x has in the step, one int64 for each axis.
template <operand X> auto extents_of(X x) { return record<ops::extents_of_op>(x); }

}  // namespace rill
