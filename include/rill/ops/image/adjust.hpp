// Brightness, contrast and standardization of images, given or random.
#pragma once
#include <cmath>

#include "rill/ops/image/crop.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/cast.hpp"
#include "rill/ops/reduction/norm.hpp"
#include "rill/ops/sum/sum.hpp"

namespace rill {

namespace detail {

/// Applies `f` to images as floats. Images of uint8 are converted to numbers from 0 to 1 and back, rounded and
/// saturated, as TensorFlow does.
template <operand X, class F> X on_floats(X x, F f) {
  auto const element = x.type().element;
  if (element == dtype::uint8) {
    auto const y = f(cast(value(x), dtype::float32) * (1 / 255.f));
    return X{cast(y * 255.5f, dtype::uint8)};
  }
  expects(dtypes::floats.contains(element), "brightness and contrast need images of floats or uint8; cast them");
  return X{in_wide(f, value(x))};
}

/// Provides kernels for the static element type of images in a header-only program.
template <operand X> void provide_adjustments() {
  if constexpr (typed<X>) {
    constexpr dtypes set = dtypes{X::static_type.element} | dtype::float32;
    provide_kernels<ops::cast_op, set>(), provide_kernels<ops::add_op, set>(), provide_kernels<ops::sub_op, set>();
    provide_kernels<ops::mul_op, set>(), provide_kernels<ops::div_op, set>(), provide_kernels<ops::mean_op, set>();
    provide_kernels<ops::sum_op, set>(), provide_kernels<ops::sqrt_op, set>(), provide_kernels<ops::square_op, set>();
    provide_kernels<ops::maximum_op, set>(), provide_kernels<ops::uniform_op, set>();
    provide_kernels<ops::equal_op, set>(), provide_kernels<ops::select_op, set>();
  }
}

inline value with_contrast(value x, value factor) {
  auto const middle = mean(x, extents{-3, -2}, true);
  return (x - middle) * factor + middle;
}

inline value standardized(value x) {
  auto const all = extents{-3, -2, -1};
  auto const apart = x - mean(x, all, true);
  auto const deviation = root(mean(square(apart), all, true), 0.5);
  // The deviation of an image of one colour is 0: the divisor is then the deviation of an image that differs by 1 in
  // one pixel.
  auto const pixels = sum(broadcast_like(like(x, 1), x), all, true);
  return apart / maximum(deviation, like(x, 1) / sqrt(pixels));
}

}  // namespace detail

/// Returns images with `delta` added to every value, as a fraction of the full range, which is 255 for uint8 and 1 for
/// floats. Values of uint8 saturate at 0 and 255. Throws error(invalid_argument) for other element types.
template <operand X> X adjust_brightness(X x, double delta) {
  detail::provide_adjustments<X>();
  return detail::on_floats(x, [&](value v) { return v + delta; });
}
/// Returns the same with a delta from -most to most for each image, drawn anew in every step.
template <operand X> X random_brightness(X x, double most) {
  expects(most > 0, "random_brightness: the largest change must be positive");
  detail::provide_adjustments<X>();
  return detail::on_floats(x, [&](value v) { return v + detail::drawn_for_each(v, v.type().element, -most, most); });
}

/// Returns images whose values are `factor` times as far from the mean of their channel in their image. Values of uint8
/// saturate at 0 and 255. Throws error(invalid_argument) for element types other than uint8 and floats.
template <operand X> X adjust_contrast(X x, double factor) {
  detail::provide_adjustments<X>();
  return detail::on_floats(x, [&](value v) { return detail::with_contrast(v, like(v, factor)); });
}
/// Returns the same with a factor from `low` to `high` for each image, drawn anew in every step.
template <operand X> X random_contrast(X x, double low, double high) {
  expects(low >= 0 && low < high, "random_contrast: the factors must be 0 <= low < high");
  detail::provide_adjustments<X>();
  return detail::on_floats(
      x, [&](value v) { return detail::with_contrast(v, detail::drawn_for_each(v, v.type().element, low, high)); });
}

/// Returns images of mean 0 and variance 1: minus the mean, divided by the standard deviation, or by 1 / sqrt(values in
/// an image) if that is larger. The derivative of the deviation of an image of one colour is 0. Where squares overflow,
/// the result is 0. Integers become float32.
template <operand X> auto per_image_standardization(X x) {
  detail::provide_adjustments<X>();
  if constexpr (!typed<X>) {
    value const floats = dtypes::integers.contains(x.type().element) ? cast(x, dtype::float32) : x;
    return detail::in_wide(detail::standardized, floats);
  } else if constexpr (dtypes::integers.contains(X::static_type.element))
    return per_image_standardization(cast<float>(x));
  else return X{detail::in_wide(detail::standardized, value(x))};
}

}  // namespace rill
