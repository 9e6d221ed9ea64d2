// Convolutions as kernels take them: parameters that the host fills in and CUDA source reads.
#pragma once
#include <cstdint>

#include "rill/cuda/text/product_form.hpp"

namespace rill::cuda {

/// Windows over images [batch, height, width, channels], and zeros beyond them: tap (i, j) of the window of pixel
/// (y, x) lies in row y * stride_y - top + i * dilation_y and in column x * stride_x - left + j * dilation_x
/// (kernels::convolution_shape).
struct window_form {
  std::int64_t batch, height, width, channels;
  std::int64_t filter_height, filter_width;
  std::int64_t out_height, out_width;
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
