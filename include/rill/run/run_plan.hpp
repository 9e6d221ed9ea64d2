// Runs a plan once, in a plan_instance.
#pragma once
#include <span>

#include "rill/base/pool.hpp"
#include "rill/run/parallel_walk.hpp"
#include "rill/run/plan/plan_instance.hpp"
#include "rill/run/walk_in_order.hpp"

namespace rill {

namespace detail {

/// Calls `f`, and releases the instance if `f` throws.
template <class F> void releasing_on_failure(plan_instance& on, F const& f) {
  struct guard {
    plan_instance& of;
    bool failed = true;
    ~guard() {
      if (failed) of.release();
    }
  } running{on};
  f();
  running.failed = false;
}

}  // namespace detail

/// Runs a step. Kernels may use all threads of `workers`; so does the step itself if its plan forks. Without workers
/// the calling thread runs everything. Errors name the node. The instance can be used again, after an error too.
inline void run_step(plan_instance& on, std::span<tensor const> fed, pool* workers, step_context& step) {
  on.begin(fed, step);
  detail::releasing_on_failure(on, [&] {
    if (workers && on.plan().forks()) detail::driven_walk(on, *workers, step).run();
    else run_sequentially(on, workers ? workers->parallel() : parallel{}, step);
  });
}

/// Runs a body whose results are new tensors, because their extents may be open.
inline void run_open_body(plan_instance& on, std::span<tensor const> fed, parallel const& threads, step_context& step) {
  step.carried = nullptr;  // else all users of the results would have to check for values
  on.borrow_arena(step);
  on.prepare_body(fed);
  detail::releasing_on_failure(on, [&] { run_sequentially(on, threads, step); });
}

/// Runs a body whose arguments and results have the addresses set by `plan_instance::argument` and `result`. It may
/// leave a failure in `step.carried`.
inline void run_body(plan_instance& on, parallel const& threads, step_context& step) {
  auto* const carried = step.carried;
  on.borrow_arena(step);
  detail::releasing_on_failure(on, [&] { run_sequentially(on, threads, step); });
  if (carried && *carried) return on.release();
  on.copy_results();
}

}  // namespace rill
