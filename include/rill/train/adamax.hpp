// Adamax (Kingma and Ba, ICLR 2015, section 7.1).
#pragma once
#include <cmath>

#include "rill/ops/math/exponential.hpp"
#include "rill/ops/math/rounding.hpp"
#include "rill/train/optimizer.hpp"

namespace rill {

/// Updates m = b1 m + (1 - b1) dw; u = max(b2 u, |dw| + epsilon); w -= rate / (1 - b1ᵗ) * m / u. The slots
/// "<variable>/adamax/m" and "<variable>/adamax/u" hold m and u; the variable "adamax/step" holds t. A sparse gradient
/// is made dense, because m and u decay in every row. For variables with 16-bit elements, m, u and the update are
/// computed in float32. The variables are of floats: complex numbers have no maximum.
struct adamax {
  rill::rate rate = 2e-3;
  double first_decay = 0.9, second_decay = 0.999, epsilon = 1e-8;
  rill::weight_decay weight_decay = {};

  /// Records an update of the given variables, or of all `trainable_variables(loss)`, that decreases the loss.
  operation minimize(value loss, std::vector<variable_value> const& of = {}) const {
    return apply(variable_gradients(loss, of));
  }
  /// Records an update by these gradients. Throws error(invalid_argument) if there are none or one is empty.
  operation apply(std::vector<variable_gradient> const& all) const;
};

#if RILL_RUNTIME

RILL_INLINE operation adamax::apply(std::vector<variable_gradient> const& all) const {
  detail::step_count count(all, "adamax");
  auto const t = cast(count.number(), dtype::float64);
  auto const now = count.at(rate);
  value const scale = now.like(t) / (1 - exp(t * std::log(first_decay)));
  return detail::descend(all, "adamax", now, weight_decay, [&](detail::descent const& at) {
    value const dw = at.gradient;
    auto const first = at.slot("/m"), largest = at.slot("/u");
    value const m = assign_add(first, (dw - first) * (1 - first_decay));  // in place
    value const u = assign(largest, maximum(largest * second_decay, abs(dw) + epsilon));
    return m * cast(scale, dw.type().element) / u;
  });
}

#endif

}  // namespace rill
