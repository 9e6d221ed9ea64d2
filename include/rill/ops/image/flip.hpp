// Images turned round, all of them or by chance.
#pragma once
#include "rill/ops/array/reverse.hpp"
#include "rill/ops/image/crop.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/math/select.hpp"

namespace rill {

/// Images [height, width, channels] or [n, height, width, channels] with left and right exchanged.
template <operand X> auto flip_left_right(X x) { return reverse<-2>(x); }
/// Images [height, width, channels] or [n, height, width, channels] with top and bottom exchanged.
template <operand X> auto flip_up_down(X x) { return reverse<-3>(x); }

namespace detail {

/// For each image of x, and anew in every step, x or y, as likely either.
template <operand X> X either(X x, X y) {
  if constexpr (typed<X>) provide_kernels<ops::select_op, X::static_type.element | dtypes{dtype::boolean}>();
  auto const coin = drawn_for_each(x, dtype::int32, 0, 2);
  return X{select(equal(coin, like(coin, 0)), value(x), value(y))};
}

}  // namespace detail

/// Each image with left and right exchanged or not, as likely either, drawn anew in every step.
template <operand X> X random_flip_left_right(X x) { return detail::either(x, X{flip_left_right(x)}); }
/// Each image with top and bottom exchanged or not, as likely either, drawn anew in every step.
template <operand X> X random_flip_up_down(X x) { return detail::either(x, X{flip_up_down(x)}); }

}  // namespace rill
