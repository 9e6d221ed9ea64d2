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

  /// Records an update of the given variables, or of all `trainable_variables(loss)`, that decreases the loss.
  operation minimize(value loss, std::vector<variable_value> const& of = {}) const;
  /// Records an update by these gradients. Throws error(invalid_argument) if there are none or one is empty.
  operation apply(std::vector<variable_gradient> const& all) const;
};

#if RILL_RUNTIME

RILL_INLINE operation adam::minimize(value loss, std::vector<variable_value> const& of) const {
  return apply(variable_gradients(loss, of));
}

RILL_INLINE operation adam::apply(std::vector<variable_gradient> const& all) const {
  expects(!all.empty(), "adam: expected at least one gradient, got an empty list");
  auto& g = detail::graph_of(all[0].variable);
  auto const step =
      variable(constant(g, std::int64_t{0}), detail::numbered_variable(g, "adam", "/step"), {.trainable = false});
  auto const t = cast<double>(assign_add(step, constant(g, std::int64_t{1})));
  // Corrects scalars instead of each element: rate' = rate √c2 / c1 and epsilon' = epsilon √c2.
  auto const left = [&](double decay) { return 1.0 - exp(t * std::log(decay)); };
  auto const c1 = left(first_decay), root = sqrt(left(second_decay));
  value const scale = rate.like(root) * root / c1, floor = root * epsilon;
  return detail::update_each(all, "adam", [&](variable_gradient const& each) {
    value const w = each.variable, dw = detail::widened(densify(each.gradient, w));
    auto const wide = dw.type().element;
    auto const first = detail::slot(each.variable, "adam", "/m"), second = detail::slot(each.variable, "adam", "/v");
    value const m = assign_add(first, (dw - first) * (1 - first_decay));  // in place
    value const v = assign_add(second, (dw * conj(dw) - second) * (1 - second_decay));
    return assign_sub(each.variable, cast(m * cast(scale, wide) / (sqrt(v) + cast(floor, wide)), w.type().element));
  });
}

#endif

}  // namespace rill
