// Dropout (N. Srivastava et al., Dropout: A Simple Way to Prevent Neural Networks from Overfitting, JMLR 15, 2014).
#pragma once
#include <concepts>

#include "rill/ops/control/cond.hpp"
#include "rill/ops/math/cast.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/math/select.hpp"
#include "rill/ops/random/uniform.hpp"

namespace rill {

namespace detail {
/// x with elements set to 0 if `training`, else x; both check x and the rate.
value drop(value x, double rate, bool training);
value drop_if(value training, value x, double rate);
}  // namespace detail

/// x in training with each element set to 0 with the probability `rate`, and the others divided by 1 - rate; drawn anew
/// in each step. Else x itself: `dropout(x, 0.5, training)`, where `training` is a bool of the program or, so that one
/// graph does both, of the graph: `placeholder<bool>(g, "training")`. Throws error(invalid_argument) unless x holds
/// floats and 0 <= rate < 1.
template <operand X> X dropout(X x, double rate, std::same_as<bool> auto training) {
  return X{detail::drop(x, rate, training)};
}
template <operand X, operand T> X dropout(X x, double rate, T training) {
  return X{detail::drop_if(training, x, rate)};
}

#if RILL_RUNTIME
namespace detail {

inline void check_dropout(value x, double rate) {
  expects(is_float(x.type().element), "dropout: the operand does not hold floats");
  expects(rate >= 0 && rate < 1, "dropout: the rate is not a number from 0 to below 1");
}

RILL_INLINE value drop(value x, double rate, bool training) {
  check_dropout(x, rate);
  if (!training) return x;
  auto const wide = size_of(x.type().element) == 2 ? cast(x, dtype::float32) : x;  // 16 bits would be coarse
  auto const kept = less(uniform_like(wide), like(wide, 1 - rate));
  return select(kept, mul(x, like(x, 1 / (1 - rate))), zero(x));
}

RILL_INLINE value drop_if(value training, value x, double rate) {
  check_dropout(x, rate);
  return cond(training, [&] { return drop(x, rate, true); }, [&] { return x; });
}

}  // namespace detail
#endif

}  // namespace rill
