// AdaGrad (J. Duchi, E. Hazan and Y. Singer, JMLR 2011).
#pragma once
#include "rill/train/optimizer.hpp"

namespace rill {

/// Updates s += dw²; w -= rate / (1 + rate_decay * t) * dw / (√s + epsilon), with t steps before this one. The slot
/// "<variable>/adagrad" holds s. For variables with 16-bit elements, s and the update are computed in float32.
struct adagrad {
  rill::rate rate = 0.01;
  double rate_decay = 0, initial_sum = 0, epsilon = 1e-10;
  rill::weight_decay weight_decay = {};

  /// Records an update of the given variables, or of all `trainable_variables(loss)`, that decreases the loss.
  operation minimize(value loss, std::vector<variable_value> const& of = {}) const {
    return apply(variable_gradients(loss, of));
  }
  /// Records an update by these gradients. Throws error(invalid_argument) if there are none or one is empty.
  operation apply(std::vector<variable_gradient> const& all) const;
};

#if RILL_RUNTIME

RILL_INLINE operation adagrad::apply(std::vector<variable_gradient> const& all) const {
  detail::step_count count(all, "adagrad");
  auto now = count.at(rate);
  if (rate_decay != 0) {
    auto const t = cast(count.number() - 1, dtype::float64);
    now = now.like(t) / (t * rate_decay + 1);
  }
  return detail::descend(all, "adagrad", now, weight_decay, [&](detail::descent const& at) {
    value const dw = at.gradient, s = assign_add(at.slot({}, initial_sum), dw * conj(dw));
    return dw * now.like(dw) / (sqrt(s) + epsilon);
  });
}

#endif

}  // namespace rill
