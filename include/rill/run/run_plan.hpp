// Runs a plan once, in an instance of it.
#pragma once
#include <span>

#include "rill/base/pool.hpp"
#include "rill/run/parallel_walk.hpp"
#include "rill/run/plan/plan_instance.hpp"
#include "rill/run/walk_in_order.hpp"

namespace rill {

namespace detail {

/// Lets go of what a step handed out if it fails.
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

/// Runs a step. Kernels may use all threads of `workers`, and so does the step itself where its plan forks; without
/// workers the calling thread does all. An error carries the node's name, and the instance can be used again.
inline void run_step(plan_instance& on, std::span<tensor const> fed, pool* workers, step_context& step) {
  on.begin(fed, step);
  detail::releasing_on_failure(on, [&] {
    if (workers && on.plan().forks()) detail::driven_walk(on, *workers, step).run();
    else run_sequentially(on, workers ? workers->parallel() : parallel{}, step);
  });
}

/// Runs a body whose results are tensors of its own, with the extents that come up.
inline void run_open_body(plan_instance& on, std::span<tensor const> fed, parallel const& threads, step_context& step) {
  on.borrow_arena(step);
  on.prepare_body(fed);
  detail::releasing_on_failure(on, [&] { run_sequentially(on, threads, step); });
}

/// Runs a body whose arguments and results lie where `plan_instance::argument` and `result` said.
inline void run_body(plan_instance& on, parallel const& threads, step_context& step) {
  on.borrow_arena(step);
  detail::releasing_on_failure(on, [&] { run_sequentially(on, threads, step); });
  on.copy_results();
}

}  // namespace rill
