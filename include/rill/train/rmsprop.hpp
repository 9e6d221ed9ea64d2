// RMSProp (T. Tieleman and G. Hinton, 2012), centered as by A. Graves (2013), with momentum.
#pragma once
#include "rill/ops/math/rounding.hpp"
#include "rill/train/optimizer.hpp"

namespace rill {

/// Updates s = decay * s + (1 - decay) * dw²; v = momentum * v + dw / (√s + epsilon); w -= rate * v. If `centered`, the
/// square of the gradients' moving average is subtracted from s under the root; a negative difference counts as 0. The
/// slots
/// "<variable>/rmsprop/squares", "…/momentum" and "…/mean" hold s, v and the average, as far as they are needed. A
/// sparse gradient is made dense, because s decays in every row. For variables with 16-bit elements, the slots and the
/// update are computed in float32.
struct rmsprop {
  rill::rate rate = 0.01;
  double decay = 0.99, epsilon = 1e-8, momentum = 0;
  bool centered = false;
  rill::weight_decay weight_decay = {};

  /// Records an update of the given variables, or of all `trainable_variables(loss)`, that decreases the loss.
  operation minimize(value loss, std::vector<variable_value> const& of = {}) const {
    return apply(variable_gradients(loss, of));
  }
  /// Records an update by these gradients. Throws error(invalid_argument) if there are none or one is empty.
  operation apply(std::vector<variable_gradient> const& all) const;
};

#if RILL_RUNTIME

namespace detail {
/// Returns numbers that would not be negative but for rounding, as real or complex numbers.
inline value without_negatives(value x) {
  auto const element = x.type().element;
  return cast(value(maximum(cast(x, real_of(element)), 0)), element);
}
}  // namespace detail

RILL_INLINE operation rmsprop::apply(std::vector<variable_gradient> const& all) const {
  auto const now = detail::step_count(all, "rmsprop").at(rate);
  return detail::descend(all, "rmsprop", now, weight_decay, [&](detail::descent const& at) {
    value const dw = at.gradient;
    auto const follow = [&](variable_value slot, value x) { return assign_add(slot, (x - slot) * (1 - decay)); };
    value s = follow(at.slot("/squares"), dw * conj(dw));
    if (centered) {
      value const mean = follow(at.slot("/mean"), dw);
      s = detail::without_negatives(s - mean * conj(mean));
    }
    value step = dw / (sqrt(s) + epsilon);
    if (momentum != 0) {
      auto const v = at.slot("/momentum");
      step = assign_add(v, step - (1 - momentum) * v);
    }
    return step * now.like(dw);
  });
}

#endif

}  // namespace rill
