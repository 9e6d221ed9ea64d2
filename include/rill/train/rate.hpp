// A learning rate or another number of an optimizer: a constant, a value of the graph, or a schedule.
#pragma once
#include <concepts>
#include <functional>
#include <utility>

#include "rill/ops/array/constant.hpp"
#include "rill/ops/math/cast.hpp"
#include "rill/ops/state/variable.hpp"

namespace rill {

/// A function that returns the number for a step from the number of steps before it, a float64 scalar:
/// `cosine_decay{…}` (train/schedule.hpp), or a lambda from value to value.
template <class S>
concept schedule = !operand<S> && requires(S const& s, value step) {
  { s(step) } -> std::convertible_to<value>;
};

/// A learning rate or another number of an optimizer: a constant, a scalar of the graph that may change in each step,
/// or a schedule, for which the optimizer counts its steps.
class rate {
 public:
  template <number N> rate(N n) : number_(static_cast<double>(n)) {}
  /// Throws error(invalid_argument) unless `scalar` is a scalar.
  rate(value scalar);
  template <schedule S> rate(S s) : schedule_([s = std::move(s)](value step) -> value { return s(step); }) {}

  bool is_scheduled() const { return static_cast<bool>(schedule_); }
  /// Returns the rate after `step` steps, which is not scheduled. Throws error(invalid_argument) if the schedule gives
  /// no scalar.
  rate at(value step) const { return is_scheduled() ? rate(schedule_(cast(step, dtype::float64))) : *this; }
  /// Returns the number as a scalar of x's element type. Throws error(failed_precondition) if the rate is scheduled.
  value like(value x) const;

 private:
  double number_ = 0;
  value from_;
  std::function<value(value)> schedule_;
};

#if RILL_RUNTIME

RILL_INLINE rate::rate(value scalar) try : from_(scalar) {
  if (!scalar.type().is_scalar())
    throw error(code::invalid_argument, "a rate: expected a scalar, got " + scalar.type().text(), scalar.name());
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE value rate::like(value x) const {
  if (is_scheduled())
    throw error(code::failed_precondition, "a rate is a schedule: ask for its number by rate.at(step).like(x)");
  return from_ ? cast(from_, x.type().element) : rill::like(x, number_);
}

#endif

}  // namespace rill
