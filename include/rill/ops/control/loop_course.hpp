// The iterations of a loop: their number, order, random numbers and errors.
#pragma once
#include "rill/ops/control/body.hpp"

#if RILL_RUNTIME
#include "rill/base/philox.hpp"
#include "rill/device/step.hpp"

namespace rill::ops {

/// The iterations of a loop on one thread; `Attributes` are the loop's attributes.
class loop_course {
 public:
  template <class Attributes>
  loop_course(kernel_request const& r, Attributes const& a, dim const& count)
      : given_count_(a.given_count ? static_cast<std::size_t>(a.references) : SIZE_MAX),
        backwards_(a.backwards),
        draws_(r.at.op->effect != effect::none),
        key_(static_cast<std::uint64_t>(a.key)),
        count_(count.known() ? count.extent : -1) {}

  /// Sets the key of an iteration's random numbers: a backward loop draws the same numbers.
  void enter(kernel_call const& call, step_context& step, std::int64_t iteration, std::int64_t row) const {
    step.iteration = iteration;
    if (draws_)
      step.stream =
          random_stream::key_of(random_stream::key_of(call.step.stream, key_), static_cast<std::uint64_t>(row));
  }
  /// Does the same for the condition after iteration i; its first evaluation uses the numbers of iteration 0.
  void enter_condition(kernel_call const& call, step_context& step, std::int64_t i) const {
    enter(call, step, i + 1, i + 1);
    step.iteration = i;  // as in errors if the condition is part of the body
  }

  /// Whether an iteration draws numbers of its own.
  bool draws() const { return draws_; }
  /// Whether the last row comes first.
  bool backwards() const { return backwards_; }
  /// Returns the number of iterations of a loop without a condition.
  std::int64_t count(kernel_call const& call) const {
    auto const count = given_count_ != SIZE_MAX ? *call.in<std::int64_t>(given_count_) : count_;
    if (count < 0 || (count_ >= 0 && count > count_))
      throw error(code::invalid_argument,
                  "loop: the given count, " + std::to_string(count) + ", is negative or more than there are rows");
    return count;
  }

  /// Calls `turn(i)` for iterations 0, 1, … while it returns true; before the first one it calls `go_on`. Returns the
  /// number of iterations. A call may run several iterations, which it counts in `step.iteration`.
  template <class Turn>
  std::int64_t while_true(kernel_call const& call, step_context& step, bool go_on, Turn const& turn) const {
    std::int64_t i = 0;
    for (; go_on; i = step.iteration + 1) {
      enter(call, step, i, i);
      if (step.can_end_early()) step.check();
      go_on = turn(i);
    }
    return i;
  }
  /// Calls `turn(i, row)` for `count` iterations.
  template <class Turn>
  void count_up(kernel_call const& call, step_context& step, std::int64_t count, Turn const& turn) const {
    for (std::int64_t i = 0; i < count; ++i) {
      auto const row = backwards_ ? count - 1 - i : i;
      enter(call, step, i, row);
      if (step.can_end_early()) step.check();
      turn(i, row);
    }
  }

  /// Calls `f()` and adds the iteration to its errors.
  template <class F> static void locating(step_context const& step, F const& f) {
    try {
      f();
    } catch (error const& e) {
      if (detail::placed_errors::holds(e)) throw;
      throw error(e.kind(), "in iteration " + std::to_string(step.iteration) + detail::place_of(e), {}, e.device());
    }
  }

 private:
  std::size_t given_count_;  // the input with the number; SIZE_MAX: none
  bool backwards_, draws_;
  std::uint64_t key_;
  std::int64_t count_;  // -1: unknown before it runs
};

}  // namespace rill::ops
#endif
