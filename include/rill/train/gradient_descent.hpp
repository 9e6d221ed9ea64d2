// Gradient descent.
#pragma once
#include "rill/ops/table/scatter_update.hpp"
#include "rill/train/optimizer.hpp"

namespace rill {

/// Updates w -= rate * dw. A sparse gradient changes only its own rows.
struct gradient_descent {
  rill::rate rate = 0.01;
  rill::weight_decay weight_decay = {};

  /// Records an update of the given variables, or of all `trainable_variables(loss)`, that decreases the loss.
  operation minimize(value loss, std::vector<variable_value> const& of = {}) const;
  /// Records an update by these gradients. Throws error(invalid_argument) if there are none or one is empty.
  operation apply(std::vector<variable_gradient> const& all) const;
};

#if RILL_RUNTIME

RILL_INLINE operation gradient_descent::minimize(value loss, std::vector<variable_value> const& of) const {
  return apply(variable_gradients(loss, of));
}

RILL_INLINE operation gradient_descent::apply(std::vector<variable_gradient> const& all) const {
  auto const now = detail::step_count(all, "gradient_descent").at(rate);
  if (weight_decay.is_set())
    return detail::descend(all, "gradient_descent", now, weight_decay,
                           [&](detail::descent const& d) { return d.gradient * now.like(d.gradient); });
  return detail::update_each(all, "gradient_descent", [&](variable_gradient const& each) -> operation {
    auto const& [dw, w] = each;
    auto const r = now.like(w);
    if (dw.sparse()) return scatter_sub(w, dw.indices, dw.rows * r);
    return assign_sub(w, dw.dense * r);
  });
}

#endif

}  // namespace rill
