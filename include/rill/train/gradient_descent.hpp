// Gradient descent.
#pragma once
#include "rill/ops/table/scatter_update.hpp"
#include "rill/train/optimizer.hpp"

namespace rill {

/// Updates w -= rate * dw. A sparse gradient changes only its own rows. For variables of 16-bit floats, the slot
/// "<variable>/gradient_descent/master" holds w in float32, and the update is computed in float32.
struct gradient_descent {
  rill::rate rate = 0.01;
  rill::weight_decay weight_decay = {};

  /// Records an update of the given variables, or of all `trainable_variables(loss)`, that decreases the loss.
  operation minimize(value loss, std::vector<variable_value> const& of = {}) const;
  /// Records an update by these gradients. Throws error(invalid_argument) if there are none or one is empty.
  operation apply(std::vector<variable_gradient> const& all) const;
};

#if RILL_RUNTIME

namespace detail {

/// Records w[which] -= down, as descend_by does for all rows. An index may occur more than once.
inline operation descend_rows(variable_value w, value which, value down) {
  if (!has_master(w)) return scatter_sub(w, which, down);
  auto& g = graph_of(w);
  auto const master = slot(w, "gradient_descent", "/master");
  value const now = gather(w, which);
  auto const begun = scatter_update(master, which, exact_values(gather(master, which), now));
  auto const moved = g.after({begun}, [&] { return scatter_sub(master, which, down); });
  return g.after({moved},
                 [&] { return scatter_update(w, which, cast(value(gather(master, which)), now.type().element)); });
}

}  // namespace detail

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
    auto const rows = detail::widened(dw.sparse() ? dw.rows : dw.dense), down = rows * now.like(rows);
    if (dw.sparse()) return detail::descend_rows(w, dw.indices, down);
    return detail::descend_by(w, down, "gradient_descent");
  });
}

#endif

}  // namespace rill
