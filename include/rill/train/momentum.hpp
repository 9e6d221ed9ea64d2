// Gradient descent with momentum (Sutskever et al., "On the importance of initialization and momentum", ICML 2013).
#pragma once
#include "rill/train/optimizer.hpp"

namespace rill {

/// v = decay * v + dw; w -= rate * v. With Nesterov's momentum w -= rate * (dw + decay * v). v is the slot
/// "<variable>/momentum", numbered for a second such optimizer. A sparse gradient is made dense, for v moves every row
/// anyway. For variables of 16 bits v and the step are float32.
struct momentum {
  rill::rate rate = 0.01, decay = 0.9;
  bool nesterov = false;

  /// One step down for the given variables, or for all `trainable_variables(loss)`.
  operation minimize(value loss, std::vector<variable_value> const& of = {}) const;
  /// One step with these gradients.
  operation apply(std::vector<variable_gradient> const& all) const;
};

#if RILL_RUNTIME

RILL_INLINE operation momentum::minimize(value loss, std::vector<variable_value> const& of) const {
  return apply(variable_gradients(loss, of));
}

RILL_INLINE operation momentum::apply(std::vector<variable_gradient> const& all) const {
  return detail::update_each(all, "momentum", [&](variable_gradient const& each) {
    value const w = each.variable, dw = detail::widened(densify(each.by, w)), d = decay.like(dw);
    auto const slot = detail::slot(each.variable, "momentum");
    value const v = assign_add(slot, dw - (1 - d) * slot);  // in place
    return assign_sub(each.variable, cast((nesterov ? dw + d * v : v) * rate.like(dw), w.type().element));
  });
}

#endif

}  // namespace rill
