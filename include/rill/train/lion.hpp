// Lion (X. Chen et al., Symbolic Discovery of Optimization Algorithms, NeurIPS 2023).
#pragma once
#include "rill/ops/math/rounding.hpp"
#include "rill/train/optimizer.hpp"

namespace rill {

/// Updates w -= rate * sign(b1 m + (1 - b1) dw), then m = b2 m + (1 - b2) dw. The slot "<variable>/lion" holds m. A
/// sparse gradient is made dense, because m moves every row. For variables with 16-bit elements, m and the update are
/// computed in float32. The variables are of floats: complex numbers have no sign.
struct lion {
  rill::rate rate = 1e-4;
  double first_decay = 0.9, second_decay = 0.99;
  rill::weight_decay weight_decay = {};

  /// Records an update of the given variables, or of all `trainable_variables(loss)`, that decreases the loss.
  operation minimize(value loss, std::vector<variable_value> const& of = {}) const {
    return apply(variable_gradients(loss, of));
  }
  /// Records an update by these gradients. Throws error(invalid_argument) if there are none or one is empty.
  operation apply(std::vector<variable_gradient> const& all) const;
};

#if RILL_RUNTIME

RILL_INLINE operation lion::apply(std::vector<variable_gradient> const& all) const {
  auto const now = detail::step_count(all, "lion").at(rate);
  return detail::descend(all, "lion", now, weight_decay, [&](detail::descent& at) {
    value const dw = at.gradient;
    auto const m = at.slot();
    value const direction = sign(m * first_decay + dw * (1 - first_decay));
    at.updates.push_back(assign_add(m, (dw - m) * (1 - second_decay)));  // in place
    return direction * now.like(dw);
  });
}

#endif

}  // namespace rill
