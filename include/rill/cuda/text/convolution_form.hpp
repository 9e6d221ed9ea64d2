// Convolutions as kernels take them: parameters that the host fills in and CUDA source reads.
#pragma once
#include <cstdint>

#include "rill/cuda/text/product_form.hpp"

namespace rill::cuda {

/// A number from 0 on that others are divided by. Numbers below 2^31 are divided by a multiplication, because a
/// division takes many instructions (T. Granlund, P. Montgomery, Division by invariant integers using multiplication,
/// PLDI 1994).
struct divisor {
  std::int64_t value = 1;
  std::uint32_t multiplier = 0;  // 2^shift / value, rounded up
  int shift = 0;

  constexpr divisor(std::int64_t number) : value(number) {
    constexpr std::int64_t most = std::int64_t{1} << 31;
    if (value < 1 || value > most) return;
    for (shift = 31; std::int64_t{1} << (shift - 31) < value;) ++shift;
    multiplier = static_cast<std::uint32_t>(((std::uint64_t{1} << shift) + static_cast<std::uint64_t>(value) - 1) /
                                            static_cast<std::uint64_t>(value));
  }
  constexpr operator std::int64_t() const { return value; }

  /// Returns the quotient of a number from 0 on.
  constexpr int divide(int number) const {
    return static_cast<int>((static_cast<std::uint64_t>(number) * multiplier) >> shift);
  }
  constexpr std::int64_t divide(std::int64_t number) const { return number / value; }
};

/// Windows over images [batch, height, width, channels], and zeros beyond them: tap (i, j) of the window of pixel
/// (y, x) lies in row y * stride_y - top + i * dilation_y and in column x * stride_x - left + j * dilation_x
/// (kernels::convolution_shape).
struct window_form {
  std::int64_t batch;
  divisor height, width, channels;
  std::int64_t filter_height;
  divisor filter_width, out_height, out_width;
  std::int64_t stride_y, stride_x, top, left, dilation_y, dilation_x;
};

/// A product whose A has the patches of images: a pixel a row and an element of its window a column, or transposed.
/// `product` has no steps of A; those of B are 1 and the row's, or those of the depth alone (`images`).
struct convolution_form {
  product_form product;
  window_form windows;

  /// Where B and C lie for a derivative with respect to images, in elements. B has the taps of a filter from the last
  /// one on, `tap_row` and `tap_column` apart; C has pixels that are `row` and `column` apart.
  struct steps {
    std::int64_t last_tap, tap_row, tap_column;
    std::int64_t first_pixel, image, row, column;
  } images = {};
};

}  // namespace rill::cuda
