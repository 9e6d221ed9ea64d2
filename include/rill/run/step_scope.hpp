// Sets a step's context up at its begin, and cleans up at its end.
#pragma once
#include <cstdint>
#include <optional>

#include "rill/device/observer.hpp"
#include "rill/device/step.hpp"
#include "rill/run/compiled_step.hpp"
#include "rill/run/plan/arena_pool.hpp"
#include "rill/run/step_counts.hpp"
#include "rill/state/container.hpp"

namespace rill {

/// The objects that the steps of an executor share.
struct step_setting {
  container& state;
  log_callback const& log;
  arena_pool& arenas;
  step_counts* counts;          ///< they number the step; null: it is a share, and has its step's numbers
  std::int64_t generation = 0;  ///< of the session whose share it is (container::begin_generation)
};

/// Gives a step its number, the version of the variables, log and arenas, and tells its observer that it begins. Its
/// destructor tells the observer that the step has ended, and releases what the step holds.
class step_scope {
 public:
  [[gnu::always_inline]]  // measured: calls of a prepared step take longer without it
  step_scope(step_setting const& all, compiled_step const& compiled, step_context& step)
      : step_(step) {
    if (compiled.uses().variables) step.version = variables_.emplace(all.state).version();
    if (all.counts) all.counts->number(step, compiled.uses());
    else all.state.expect_generation(all.generation);  // after it has its version of the variables
    step.log = all.log ? &all.log : nullptr;
    step.holdings = &holdings_;
    step.arenas = &all.arenas;
    if (step.watch) step.watch->step_begins(step.number);
  }
  [[gnu::always_inline]] ~step_scope() {
    if (step_.watch) step_.watch->step_ended(step_.number);
  }
  step_scope(step_scope const&) = delete;
  step_scope& operator=(step_scope const&) = delete;

 private:
  step_context& step_;
  std::optional<container::reading> variables_;
  step_holdings holdings_;
};

}  // namespace rill
