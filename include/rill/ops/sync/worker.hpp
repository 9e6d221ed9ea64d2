// Which of several sessions runs a step: the sessions of one graph that train together are told apart by a number
// (session_options::worker).
#pragma once
#include <array>
#include <span>
#include <vector>

#include "rill/dsl/expr.hpp"

namespace rill::ops {

/// Becomes a constant when a step is compiled (pass/bind_worker.hpp).
struct worker_number_op {
  using library = void;
  static constexpr std::string_view name = "worker_number", doc = "the number of the session among those that train";
  static constexpr std::int8_t arity = 0;
  static constexpr rill::effect effect = rill::effect::reads;
  static constexpr type infer(no_attributes, std::span<type const>) { return type(dtype::int64); }
};

/// Waits for what one worker's sessions run; in the others this is not part of the step.
struct on_worker_op {
  using library = void;
  static constexpr std::string_view name = "on_worker",
                                    doc = "does nothing; what it is ordered after runs in the sessions of one worker";
  static constexpr std::int8_t arity = 0;
  static constexpr std::size_t outputs = 0;
  struct attributes {
    std::int64_t worker = 0;
    static constexpr auto fields(auto const& take) { return take(field{"worker", &attributes::worker}); }
  };
  static constexpr std::array<type, 0> infer(attributes const& a, std::span<type const>) {
    expects(a.worker >= 0, "on_worker: the number of a worker must not be negative");
    return {};
  }
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const&) {
    return kernel([](kernel_call const&) {});
  }
#endif
};

}  // namespace rill::ops

namespace rill {

namespace detail {
/// Throws error(failed_precondition) if a body or function is being recorded.
void expect_outside_bodies(graph& g, std::string_view what);
}  // namespace detail

/// Returns the number of the session that runs the step among those that train together: `session_options::worker`.
/// Throws error(failed_precondition) in the body of a loop, branch or function.
expr<of<std::int64_t>> worker_number(graph& g);
/// Returns an operation that comes after `members` in the sessions of worker `number`. In the other sessions it comes
/// after nothing, and the members run only if the step needs them for something else. Throws
/// error(failed_precondition) in the body of a loop, branch or function.
operation on_worker(graph& g, std::int64_t number, std::vector<operation> const& members);

#if RILL_RUNTIME
RILL_INLINE void detail::expect_outside_bodies(graph& g, std::string_view what) try {
  if (g.innermost().is_body())
    throw error(code::failed_precondition,
                std::string(what) + " can't be recorded in the body of a loop, branch or function: record it outside");
} catch (...) {
  rethrow_as_error();
}
RILL_INLINE expr<of<std::int64_t>> worker_number(graph& g) try {
  detail::expect_outside_bodies(g, "worker_number");
  return {record_erased<ops::worker_number_op>(g, {}, {})};
} catch (...) {
  rethrow_as_error();
}
RILL_INLINE operation on_worker(graph& g, std::int64_t number, std::vector<operation> const& members) try {
  detail::expect_outside_bodies(g, "on_worker");
  return g.after(members, [&] { return operation(record_erased<ops::on_worker_op>(g, {number}, {})); });
} catch (...) {
  rethrow_as_error();
}
#endif

}  // namespace rill
