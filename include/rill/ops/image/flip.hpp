// Flips images, always or at random.
#pragma once
#include "rill/ops/array/reverse.hpp"
#include "rill/ops/image/crop.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/math/select.hpp"

namespace rill {

/// Returns images [height, width, channels] or [n, height, width, channels] with left and right exchanged.
template <operand X> auto flip_left_right(X x) { return reverse<-2>(x); }
/// Returns images [height, width, channels] or [n, height, width, channels] with top and bottom exchanged.
template <operand X> auto flip_up_down(X x) { return reverse<-3>(x); }

namespace detail {

/// Returns for each image either x or y, with probability 1/2, drawn anew in every step.
template <operand X> X either(X x, X y) {
  if constexpr (typed<X>) provide_kernels<ops::select_op, X::static_type.element | dtypes{dtype::boolean}>();
  auto const coin = drawn_for_each(x, dtype::int32, 0, 2);
  return X{select(equal(coin, like(coin, 0)), value(x), value(y))};
}

}  // namespace detail

/// Returns each image flipped left to right with probability 1/2, drawn anew in every step.
template <operand X> X random_flip_left_right(X x) { return detail::either(x, X{flip_left_right(x)}); }
/// Returns each image flipped top to bottom with probability 1/2, drawn anew in every step.
template <operand X> X random_flip_up_down(X x) { return detail::either(x, X{flip_up_down(x)}); }

}  // namespace rill
