// Values that go from task to task as 16 bits (white paper §5.5, "Lossy compression").
#pragma once
#include <string>
#include <vector>

#include "rill/dsl/expr.hpp"

namespace rill::ops {

struct truncated_op {
  using library = void;
  static constexpr std::string_view name = "truncated",
                                    doc = "x; the upper 16 bits of its elements, where it goes to another task";
  static constexpr std::int8_t arity = 1;
  static constexpr bool aliases_input = true;
  static constexpr dtypes elements = dtype::float32;
  static constexpr type infer(no_attributes, type const& x, checks expects = {}) {
    expects(x.element == dtype::float32, "truncated: only float32 goes to other tasks as 16 bits");
    return x;
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) { return {V(r.dy())}; }
};

}  // namespace rill::ops

namespace rill {

/// Returns x, float32. Where this value goes from one task to another, its elements go as their upper 16 bits, half the
/// bytes, and come with zeros behind these: as bfloat16, rounded towards zero; a NaN stays one. Within a task, and when
/// it is fetched, it is x. So what is computed from it depends on where it is computed, but not on anything else.
template <operand X> auto truncated(X x) try {
  return detail::graph_of(x).near(value(x), [&] { return record<ops::truncated_op>(x); });
} catch (...) {
  rethrow_as_error();
}

}  // namespace rill
