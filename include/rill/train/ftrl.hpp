// FTRL-Proximal (H. B. McMahan et al., Ad Click Prediction: a View from the Trenches, KDD 2013).
#pragma once
#include "rill/ops/math/rounding.hpp"
#include "rill/train/optimizer.hpp"

namespace rill {

/// Keeps z and n, from which each weight follows (algorithm 1 of the paper): n' = n + dw²;
/// z += dw - (√n' - √n) / rate * w; w = 0 if |z| <= l1, else (sign(z) l1 - z) / ((beta + √n') / rate + l2). So l1 makes
/// weights exactly 0, and a weight that never had a gradient becomes 0. The slots "<variable>/ftrl/z" and
/// "<variable>/ftrl/n" hold z and n. TensorFlow's l2_regularization_strength is half of this l2. A sparse gradient is
/// made dense. The rate must be above 0 in each step, including a schedule's first. For variables with 16-bit elements,
/// z, n and the weights are computed in float32. The variables are of floats: complex numbers have no sign.
struct ftrl {
  rill::rate rate = 0.001;
  double l1 = 0, l2 = 0, beta = 0, initial_sum = 0.1;

  /// Records an update of the given variables, or of all `trainable_variables(loss)`, that decreases the loss.
  operation minimize(value loss, std::vector<variable_value> const& of = {}) const {
    return apply(variable_gradients(loss, of));
  }
  /// Records an update by these gradients. Throws error(invalid_argument) if there are none or one is empty.
  operation apply(std::vector<variable_gradient> const& all) const;
};

#if RILL_RUNTIME

RILL_INLINE operation ftrl::apply(std::vector<variable_gradient> const& all) const {
  auto const now = detail::step_count(all, "ftrl").at(rate);
  return detail::update_each(all, "ftrl", [&](variable_gradient const& each) {
    value const w = each.variable, dw = detail::wide_gradient(each.gradient, each.variable), r = now.like(dw);
    auto const linear = detail::slot(each.variable, "ftrl", "/z");
    auto const squares = detail::slot(each.variable, "ftrl", "/n", initial_sum);
    value const before = sqrt(value(squares)), after = sqrt(value(assign_add(squares, dw * conj(dw))));
    value const z = assign_add(linear, dw - (after - before) / r * detail::widened(w));
    value const weight = (sign(z) * l1 - z) / ((after + beta) / r + l2);
    return assign(each.variable, cast(select(less_equal(abs(z), l1), 0, weight), w.type().element));
  });
}

#endif

}  // namespace rill
