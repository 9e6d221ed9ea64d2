// Schedules of learning rates. Each is a function from the number of steps before this one, a scalar of any number
// type, to the rate, a float64 scalar: `adam{.rate = cosine_decay{.start = 1e-3, .steps = 10000}}` counts its own
// steps, and `cosine_decay{…}(step)` is a value of the graph. Each throws error(invalid_argument) for numbers of steps
// that are not positive.
#pragma once
#include <cmath>
#include <cstddef>
#include <numbers>
#include <string>
#include <vector>

#include "rill/ops/math/activations.hpp"
#include "rill/ops/math/exponential.hpp"
#include "rill/ops/math/power.hpp"
#include "rill/ops/math/rounding.hpp"
#include "rill/ops/math/trigonometry.hpp"
#include "rill/tensor/print.hpp"
#include "rill/train/rate.hpp"

namespace rill {

/// start * factor^(step / steps). With `staircase`, the exponent is rounded down: the rate falls once in `steps` steps.
struct exponential_decay {
  double start = 0.1, factor = 0.96, steps = 1;
  bool staircase = false;

  value operator()(value step) const;
};

/// Falls from start to end along half a cosine, in `steps` steps, and stays there.
struct cosine_decay {
  double start = 0.1, end = 0, steps = 1000;

  value operator()(value step) const;
};

/// Cosine decay that starts again (SGDR: I. Loshchilov and F. Hutter, ICLR 2017): the first period has `steps` steps,
/// and each period is `growth` times as long as the one before and starts at `shrink` times its start.
struct cosine_restarts {
  double start = 0.1, end = 0, steps = 1000, growth = 1, shrink = 1;

  /// Throws error(invalid_argument) if growth < 1.
  value operator()(value step) const;
};

/// values[i] from step boundaries[i - 1] on; values[0] before all boundaries.
struct piecewise_constant {
  std::vector<double> boundaries, values;

  /// Throws error(invalid_argument) unless the boundaries ascend and there is one value more than boundaries.
  value operator()(value step) const;
};

/// (start - end) * (1 - step / steps)^power + end, and `end` after `steps` steps. A power of 1 is a straight line.
struct polynomial_decay {
  double start = 0.1, end = 0, steps = 1000, power = 1;

  value operator()(value step) const;
};

/// The first rate of `then`, times a factor that grows from `from` to 1 in a straight line, in `steps` steps; then
/// `then`, from its step 0 on: `warm_up{.steps = 500, .then = cosine_decay{…}}`.
struct warm_up {
  double from = 0, steps = 100;
  rate then = 0.1;

  value operator()(value step) const;
};

/// One cycle (L. Smith and N. Topin, Super-Convergence, 2018), as PyTorch's OneCycleLR: rises from peak / divide to
/// `peak` in the first part of the `steps` steps, the fraction `rise`, and falls to peak / divide / divide_end; along
/// half a cosine, or in a straight line if `linear`.
struct one_cycle {
  double peak = 0.1, steps = 1000, rise = 0.3, divide = 25, divide_end = 1e4;
  bool linear = false;

  /// Throws error(invalid_argument) unless 0 <= rise <= 1, and steps > 1.
  value operator()(value step) const;
};

#if RILL_RUNTIME

namespace detail {

inline void check_steps(std::string_view who, double steps) try {
  if (!(steps > 0))
    throw error(code::invalid_argument,
                std::string(who) + ": expected a number of steps above 0, got " + printing::number_text(steps, ""));
} catch (...) {
  rethrow_as_error();
}

/// Returns the step as a float64.
inline value number_of(value step) { return cast(step, dtype::float64); }

/// Returns how far a step is on the way, from 0 to 1.
inline value progress(value step, double steps) { return clamp(number_of(step) / steps, 0, 1); }

/// Returns a number between two others, along half a cosine.
inline value along_cosine(value from, value to, value progress) {
  return to + (from - to) * 0.5 * (cos(progress * std::numbers::pi) + 1);
}

}  // namespace detail

RILL_INLINE value exponential_decay::operator()(value step) const {
  detail::check_steps("exponential_decay", steps);
  value const times = detail::number_of(step) / steps;
  return pow(factor, staircase ? value(floor(times)) : times) * start;
}

RILL_INLINE value cosine_decay::operator()(value step) const {
  detail::check_steps("cosine_decay", steps);
  value const done = detail::progress(step, steps);
  return detail::along_cosine(like(done, start), like(done, end), done);
}

RILL_INLINE value cosine_restarts::operator()(value step) const try {
  detail::check_steps("cosine_restarts", steps);
  if (!(growth >= 1))
    throw error(code::invalid_argument,
                "cosine_restarts: expected a growth of 1 or more, got " + printing::number_text(growth, ""));
  value const periods = detail::number_of(step) / steps;
  value restarts = floor(periods), done = periods - restarts;
  if (growth != 1) {
    // A sum of powers of growth; the small number makes up for the logarithm's rounding at a restart.
    restarts = floor(log(periods * (growth - 1) + 1) / std::log(growth) + 1e-9);
    value const length = pow(growth, restarts);
    done = maximum(periods - (length - 1) / (growth - 1), 0) / length;
  }
  value const low = like(done, end),
              high = shrink == 1 ? value(like(done, start)) : value(pow(shrink, restarts) * start);
  return detail::along_cosine(high, low, done);
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE value piecewise_constant::operator()(value step) const try {
  if (values.size() != boundaries.size() + 1)
    throw error(code::invalid_argument, "piecewise_constant: expected one value more than the " +
                                            std::to_string(boundaries.size()) + " boundaries, got " +
                                            std::to_string(values.size()));
  for (std::size_t i = 1; i < boundaries.size(); ++i)
    if (!(boundaries[i - 1] < boundaries[i]))
      throw error(code::invalid_argument, "piecewise_constant: expected boundaries that ascend, got " +
                                              printing::number_text(boundaries[i], "") + " after " +
                                              printing::number_text(boundaries[i - 1], ""));
  value const now = detail::number_of(step);
  value chosen = like(now, values[0]);
  for (std::size_t i = 0; i < boundaries.size(); ++i) chosen = select(now >= boundaries[i], values[i + 1], chosen);
  return chosen;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE value polynomial_decay::operator()(value step) const {
  detail::check_steps("polynomial_decay", steps);
  value const left = 1 - detail::progress(step, steps);
  return (power == 1 ? left : value(pow(left, power))) * (start - end) + end;
}

RILL_INLINE value warm_up::operator()(value step) const {
  detail::check_steps("warm_up", steps);
  value const now = detail::number_of(step);
  value const factor = detail::progress(now, steps) * (1 - from) + from;
  return then.at(maximum(now - steps, 0)).like(now) * factor;
}

RILL_INLINE value one_cycle::operator()(value step) const try {
  detail::check_steps("one_cycle", steps - 1);
  if (!(rise >= 0 && rise <= 1))
    throw error(code::invalid_argument,
                "one_cycle: expected a rise from 0 to 1, got " + printing::number_text(rise, ""));
  double const top = rise * steps - 1, last = steps - 1;  // the steps with the highest and with the lowest rate
  value const now = detail::number_of(step);
  auto const between = [&](double from, double to, value done) -> value {
    if (linear) return done * (to - from) + from;
    return detail::along_cosine(like(done, from), like(done, to), done);
  };
  double const low = peak / divide, lowest = low / divide_end;
  if (!(top > 0)) return between(peak, lowest, detail::progress(now, last));
  value const up = between(low, peak, detail::progress(now, top));
  if (!(top < last)) return up;
  return select(now <= top, up, between(peak, lowest, detail::progress(now - top, last - top)));
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill
