// AdaDelta (M. Zeiler, 2012).
#pragma once
#include "rill/train/optimizer.hpp"

namespace rill {

/// Updates s = decay * s + (1 - decay) * dw²; d = dw * √(u + epsilon) / √(s + epsilon);
/// u = decay * u + (1 - decay) * d²; w -= rate * d. The slots "<variable>/adadelta/gradients" and
/// "<variable>/adadelta/updates" hold s and u. A sparse gradient is made dense, because s and u decay in every row. For
/// variables with 16-bit elements, s, u and the update are computed in float32.
struct adadelta {
  rill::rate rate = 1.0;
  double decay = 0.9, epsilon = 1e-6;
  rill::weight_decay weight_decay = {};

  /// Records an update of the given variables, or of all `trainable_variables(loss)`, that decreases the loss.
  operation minimize(value loss, std::vector<variable_value> const& of = {}) const {
    return apply(variable_gradients(loss, of));
  }
  /// Records an update by these gradients. Throws error(invalid_argument) if there are none or one is empty.
  operation apply(std::vector<variable_gradient> const& all) const;
};

#if RILL_RUNTIME

RILL_INLINE operation adadelta::apply(std::vector<variable_gradient> const& all) const {
  auto const now = detail::step_count(all, "adadelta").at(rate);
  return detail::descend(all, "adadelta", now, weight_decay, [&](detail::descent& at) {
    value const dw = at.gradient;
    auto const gradients = at.slot("/gradients"), updates = at.slot("/updates");
    value const s = assign_add(gradients, (dw * conj(dw) - gradients) * (1 - decay));  // in place
    value const d = dw * sqrt(updates + epsilon) / sqrt(s + epsilon);
    at.updates.push_back(assign_add(updates, (d * conj(d) - updates) * (1 - decay)));
    return d * now.like(dw);
  });
}

#endif

}  // namespace rill
