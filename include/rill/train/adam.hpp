// Adam (Kingma and Ba, ICLR 2015).
#pragma once
#include <cmath>

#include "rill/ops/math/exponential.hpp"
#include "rill/train/optimizer.hpp"

namespace rill {

/// Updates m = b1 m + (1 - b1) dw; v = b2 v + (1 - b2) dw²; w -= rate * (m / (1 - b1ᵗ)) / (√(v / (1 - b2ᵗ)) + epsilon).
/// The slots "<variable>/adam/m" and "<variable>/adam/v" hold m and v; the variable "adam/step" holds t. The names of a
/// second adam have a number: "adam_1/step". A sparse gradient is made dense, because m and v decay in every row. For
/// variables with 16-bit elements, m, v and the update are computed in float32.
struct adam {
  rill::rate rate = 1e-3;
  double first_decay = 0.9, second_decay = 0.999, epsilon = 1e-8;
  rill::weight_decay weight_decay = {};

  /// Records an update of the given variables, or of all `trainable_variables(loss)`, that decreases the loss.
  operation minimize(value loss, std::vector<variable_value> const& of = {}) const;
  /// Records an update by these gradients. Throws error(invalid_argument) if there are none or one is empty.
  operation apply(std::vector<variable_gradient> const& all) const;
};

/// Adam with decoupled weight decay (I. Loshchilov and F. Hutter, ICLR 2019). Its slots are adam's.
struct adamw {
  rill::rate rate = 1e-3;
  double first_decay = 0.9, second_decay = 0.999, epsilon = 1e-8;
  rill::weight_decay weight_decay = {.decoupled = 0.01};

  /// Records an update of the given variables, or of all `trainable_variables(loss)`, that decreases the loss.
  operation minimize(value loss, std::vector<variable_value> const& of = {}) const {
    return apply(variable_gradients(loss, of));
  }
  /// Records an update by these gradients. Throws error(invalid_argument) if there are none or one is empty.
  operation apply(std::vector<variable_gradient> const& all) const {
    return adam{rate, first_decay, second_decay, epsilon, weight_decay}.apply(all);
  }
};

#if RILL_RUNTIME

RILL_INLINE operation adam::minimize(value loss, std::vector<variable_value> const& of) const {
  return apply(variable_gradients(loss, of));
}

RILL_INLINE operation adam::apply(std::vector<variable_gradient> const& all) const {
  detail::step_count count(all, "adam");
  auto const t = cast(count.number(), dtype::float64);
  auto const now = count.at(rate);
  // Corrects scalars instead of each element: rate' = rate √c2 / c1 and epsilon' = epsilon √c2.
  auto const left = [&](double decay) { return 1.0 - exp(t * std::log(decay)); };
  auto const c1 = left(first_decay), root = sqrt(left(second_decay));
  value const scale = now.like(root) * root / c1, floor = root * epsilon;
  return detail::descend(all, "adam", now, weight_decay, [&](detail::descent const& at) {
    value const dw = at.gradient;
    auto const wide = dw.type().element;
    auto const first = at.slot("/m"), second = at.slot("/v");
    value const m = assign_add(first, (dw - first) * (1 - first_decay));  // in place
    value const v = assign_add(second, (dw * conj(dw) - second) * (1 - second_decay));
    return m * cast(scale, wide) / (sqrt(v) + cast(floor, wide));
  });
}

#endif

}  // namespace rill
