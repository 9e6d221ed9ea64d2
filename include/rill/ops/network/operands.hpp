// What losses and normalisations share: what they expect of their operands, while a program compiles if the types are
// known then, and weights.
#pragma once
#include "rill/ops/math/arithmetic.hpp"

namespace rill::detail {

/// Fails unless the elements of x are floats.
template <operand X> void expect_floats([[maybe_unused]] X const& x) {
  if constexpr (typed<X>)
    static_assert(is_float(X::static_type.element), "a loss or a normalisation: the operand is not of floats; cast it");
  else expects(is_float(x.type().element), "a loss or a normalisation: the operand is not of floats; cast it");
}

/// Whether there may be a label [...] for each row of x [..., classes].
constexpr bool labels_fit(type const& x, type const& labels) {
  if (!x.has_rank() || !labels.has_rank()) return true;
  if (x.rank != labels.rank + 1u) return false;
  for (std::size_t i = 0; i < labels.rank; ++i)
    if (!may_equal(x[i], labels[i])) return false;
  return true;
}
/// The same by static types. Where a type is not static, the answer is yes.
template <operand X, operand L> constexpr bool labels_may_fit() {
  if constexpr (typed<X> && typed<L>) return labels_fit(X::static_type, L::static_type);
  else return true;
}

/// Returns loss * weight, and 0 for an infinite loss with a weight of 0.
template <class L, class W> auto weighted(L loss, W weight) {
  return select(logical_and(equal(weight, zero(weight)), is_inf(loss)), zero(loss), loss) * weight;
}

}  // namespace rill::detail
