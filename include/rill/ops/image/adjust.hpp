// Brightness and contrast of images: given, drawn by chance, or made the same for all.
#pragma once
#include <cmath>

#include "rill/ops/image/crop.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/cast.hpp"
#include "rill/ops/sum/sum.hpp"

namespace rill {

namespace detail {

/// Does something with images of floats. Those of uint8 become numbers from 0 to 1 for it, and whole ones again, those
/// beyond the range its nearest end, as TensorFlow converts them.
template <operand X, class F> X on_floats(X x, F f) {
  auto const element = x.type().element;
  if (element == dtype::uint8) {
    auto const y = f(cast(value(x), dtype::float32) * (1 / 255.f));
    return X{cast(y * 255.5f, dtype::uint8)};
  }
  expects(dtypes::floats.contains(element),
          "brightness and contrast are of images of floats or uint8: cast the others");
  return X{f(value(x))};
}

/// In a program of headers alone: kernels for the element type of images that the compiler knows.
template <operand X> void provide_adjustments() {
  if constexpr (typed<X>) {
    constexpr dtypes set = dtypes{X::static_type.element} | dtype::float32;
    provide_kernels<ops::cast_op, set>(), provide_kernels<ops::add_op, set>(), provide_kernels<ops::sub_op, set>();
    provide_kernels<ops::mul_op, set>(), provide_kernels<ops::div_op, set>(), provide_kernels<ops::mean_op, set>();
    provide_kernels<ops::sum_op, set>(), provide_kernels<ops::sqrt_op, set>(), provide_kernels<ops::square_op, set>();
    provide_kernels<ops::maximum_op, set>(), provide_kernels<ops::uniform_op, set>();
  }
}

inline value with_contrast(value x, value factor) {
  auto const middle = mean(x, extents{-3, -2}, true);
  return (x - middle) * factor + middle;
}

inline value standardized(value x) {
  auto const all = extents{-3, -2, -1};
  auto const apart = x - mean(x, all, true);
  auto const deviation = sqrt(mean(square(apart), all, true));
  // An image of one colour has no deviation: it is divided by that of an image with one step in one pixel.
  auto const pixels = sum(broadcast_like(like(x, 1), x), all, true);
  return apart / maximum(deviation, like(x, 1) / sqrt(pixels));
}

}  // namespace detail

/// Images with `delta` added to every value, in parts of the whole range, which is 255 for uint8 and 1 for floats.
/// Values of uint8 end at 0 and 255. Throws error(invalid_argument) for other element types.
template <operand X> X adjust_brightness(X x, double delta) {
  detail::provide_adjustments<X>();
  return detail::on_floats(x, [&](value v) { return v + delta; });
}
/// The same with a delta from -most to most for each image, drawn anew in every step.
template <operand X> X random_brightness(X x, double most) {
  expects(most > 0, "random_brightness: the largest change is not positive");
  detail::provide_adjustments<X>();
  return detail::on_floats(x, [&](value v) { return v + detail::drawn_for_each(v, v.type().element, -most, most); });
}

/// Images whose values are `factor` times as far from the mean of their channel in their image. Values of uint8 end at
/// 0 and 255. Throws error(invalid_argument) for element types other than uint8 and floats.
template <operand X> X adjust_contrast(X x, double factor) {
  detail::provide_adjustments<X>();
  return detail::on_floats(x, [&](value v) { return detail::with_contrast(v, like(v, factor)); });
}
/// The same with a factor from `low` to `high` for each image, drawn anew in every step.
template <operand X> X random_contrast(X x, double low, double high) {
  expects(low >= 0 && low < high, "random_contrast: the factors are not from 0 or above to a larger one");
  detail::provide_adjustments<X>();
  return detail::on_floats(
      x, [&](value v) { return detail::with_contrast(v, detail::drawn_for_each(v, v.type().element, low, high)); });
}

/// Images of mean 0 and variance 1: less the mean, divided by the standard deviation, or by 1 / sqrt(values in an
/// image) if that is larger. Integers become float32.
template <operand X> auto per_image_standardization(X x) {
  detail::provide_adjustments<X>();
  if constexpr (!typed<X>)
    return detail::standardized(dtypes::integers.contains(x.type().element) ? cast(x, dtype::float32) : x);
  else if constexpr (dtypes::integers.contains(X::static_type.element))
    return per_image_standardization(cast<float>(x));
  else return X{detail::standardized(x)};
}

}  // namespace rill
