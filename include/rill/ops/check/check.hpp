// Ends a step if a condition is false.
#pragma once
#include <algorithm>

#include "rill/dsl/expr.hpp"

namespace rill::ops {

struct check_op {
  using library = void;
  static constexpr std::string_view name = "check",
                                    doc = "fails with the message unless every element of the condition is true";
  static constexpr std::int8_t arity = 1;
  static constexpr std::size_t outputs = 0;
  static constexpr rill::effect effect = rill::effect::writes;
  struct attributes {
    std::string message;
    static constexpr auto fields(auto const& take) { return take(field{"message", &attributes::message}); }
  };
  template <class Any>  // clang 19 can't make attributes with a string in a constant expression
  static constexpr std::array<type, 0> infer(Any const&, type const& condition, checks expects = {}) {
    expects(condition.element == dtype::boolean, "check: the condition is not a bool");
    return {};
  }
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    auto const n = elements(r.inputs[0].shape());
    return kernel([n, message = decode<attributes>(r.at.attributes).message](kernel_call const& call) {
      auto const* const holds = call.in<bool>(0);
      auto const at = std::find(holds, holds + n, false) - holds;
      if (at == n) return;
      throw error(code::failed_precondition,
                  (message.empty() ? std::string("a condition is false") : message) +
                      (n == 1 ? "" : " (element " + std::to_string(at) + " of " + std::to_string(n) + ")"));
    });
  }
#endif
};

}  // namespace rill::ops

namespace rill {

/// Fails with error(failed_precondition) and the message unless every element of the condition is true. Run it as a
/// target, or order it before what it guards: `g.after({check(n > 0, "…")}, [&] { … })`.
template <operand C> operation check(C condition, std::string_view message) try {
  if constexpr (typed<C>) detail::result_types<ops::check_op, no_attributes{}, C>();
  return record_erased<ops::check_op>(detail::graph_of(condition), {std::string(message)}, {condition});
} catch (...) {
  rethrow_as_error();
}

}  // namespace rill
