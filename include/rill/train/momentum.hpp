// Gradient descent with momentum (Sutskever et al., "On the importance of initialization and momentum", ICML 2013).
#pragma once
#include "rill/train/optimizer.hpp"

namespace rill {

/// Updates v = decay * v + dw; w -= rate * v; with Nesterov's momentum, w -= rate * (dw + decay * v). The slot
/// "<variable>/momentum" holds v; the slot of a second momentum has a number. A sparse gradient is made dense, because
/// v moves every row. For variables with 16-bit elements, v and the update are computed in float32.
struct momentum {
  rill::rate rate = 0.01, decay = 0.9;
  bool nesterov = false;
  rill::weight_decay weight_decay = {};

  /// Records an update of the given variables, or of all `trainable_variables(loss)`, that decreases the loss.
  operation minimize(value loss, std::vector<variable_value> const& of = {}) const;
  /// Records an update by these gradients. Throws error(invalid_argument) if there are none or one is empty.
  operation apply(std::vector<variable_gradient> const& all) const;
};

#if RILL_RUNTIME

RILL_INLINE operation momentum::minimize(value loss, std::vector<variable_value> const& of) const {
  return apply(variable_gradients(loss, of));
}

RILL_INLINE operation momentum::apply(std::vector<variable_gradient> const& all) const {
  detail::step_count count(all, "momentum");
  auto const now = count.at(rate), kept = count.at(decay);
  return detail::descend(all, "momentum", now, weight_decay, [&](detail::descent const& at) {
    value const dw = at.gradient, d = kept.like(dw);
    auto const slot = at.slot();
    value const v = assign_add(slot, dw - (1 - d) * slot);  // in place
    return (nesterov ? dw + d * v : v) * now.like(dw);
  });
}

#endif

}  // namespace rill
