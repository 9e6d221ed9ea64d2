// The gated linear unit.
#pragma once
#include "rill/ops/array/split.hpp"
#include "rill/ops/math/cast.hpp"
#include "rill/ops/math/exponential.hpp"

namespace rill {

/// Returns a sigmoid(b) for the halves a and b of x along an axis (Y. Dauphin et al., Language Modeling with Gated
/// Convolutional Networks, ICML 2017): `glu(x)` of [batch, 2 n] is [batch, n].
template <std::int64_t Axis = -1, operand X> auto glu(X x) {
  return detail::in_wide(
      [](auto v) {
        auto const halves = split<2, Axis>(v);
        return halves[0] * sigmoid(halves[1]);
      },
      x);
}
/// Returns the same along an axis known only at run time.
inline value glu(value x, std::int64_t axis) {
  auto const halves = split(detail::widened(x), 2, axis);
  return detail::narrowed_to(x, halves[0] * sigmoid(halves[1]));
}

}  // namespace rill
