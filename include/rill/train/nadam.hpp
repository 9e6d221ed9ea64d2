// NAdam (T. Dozat, Incorporating Nesterov Momentum into Adam, 2016).
#pragma once
#include <cmath>

#include "rill/ops/math/exponential.hpp"
#include "rill/train/optimizer.hpp"

namespace rill {

/// Updates m and v as adam does, with Nesterov's momentum μₜ = b1 (1 - 0.5 · 0.96^(t · momentum_decay)):
/// w -= rate * (μₜ₊₁ m / (1 - μ₁…μₜ₊₁) + (1 - μₜ) dw / (1 - μ₁…μₜ)) / (√(v / (1 - b2ᵗ)) + epsilon). The slots
/// "<variable>/nadam/m" and "<variable>/nadam/v" hold m and v; the variables "nadam/step" and "nadam/product" hold t
/// and μ₁…μₜ. A sparse gradient is made dense, because m and v decay in every row. For variables with 16-bit elements,
/// m, v and the update are computed in float32.
struct nadam {
  rill::rate rate = 2e-3;
  double first_decay = 0.9, second_decay = 0.999, epsilon = 1e-8, momentum_decay = 0.004;
  rill::weight_decay weight_decay = {};

  /// Records an update of the given variables, or of all `trainable_variables(loss)`, that decreases the loss.
  operation minimize(value loss, std::vector<variable_value> const& of = {}) const {
    return apply(variable_gradients(loss, of));
  }
  /// Records an update by these gradients. Throws error(invalid_argument) if there are none or one is empty.
  operation apply(std::vector<variable_gradient> const& all) const;
};

#if RILL_RUNTIME

RILL_INLINE operation nadam::apply(std::vector<variable_gradient> const& all) const {
  detail::step_count count(all, "nadam");
  auto const t = cast(count.number(), dtype::float64);
  auto const now = count.at(rate);
  auto const momentum_at = [&](value n) {
    return first_decay * (1 - 0.5 * exp(n * (momentum_decay * std::log(0.96))));
  };
  auto& g = detail::graph_of(all);
  value const mu = momentum_at(t), next = momentum_at(t + 1);
  value const so_far = detail::with_task_of(all[0].variable, [&] {
    auto const product =
        variable(constant(g, 1.0), detail::numbered_variable(g, "nadam", "/product"), {.trainable = false});
    return value(assign(product, value(product) * mu));
  });
  value const of_gradient = now.like(t) * (1 - mu) / (1 - so_far), of_first = now.like(t) * next / (1 - so_far * next);
  value const root = sqrt(1 - exp(t * std::log(second_decay)));
  return detail::descend(all, "nadam", now, weight_decay, [&](detail::descent const& at) {
    value const dw = at.gradient;
    auto const wide = dw.type().element;
    auto const first = at.slot("/m"), second = at.slot("/v");
    value const m = assign_add(first, (dw - first) * (1 - first_decay));  // in place
    value const v = assign_add(second, (dw * conj(dw) - second) * (1 - second_decay));
    return (m * cast(of_first, wide) + dw * cast(of_gradient, wide)) / (sqrt(v) / cast(root, wide) + epsilon);
  });
}

#endif

}  // namespace rill
