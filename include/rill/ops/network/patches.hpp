// Patches of an image as rows of a matrix that is never stored whole: what makes a convolution a matrix product.
#pragma once
#include "rill/ops/matrix/gemm.hpp"

namespace rill::kernels {

/// A two-dimensional convolution: input [batch, height, width, channels], filter [filter_height, filter_width,
/// channels, out_channels], output [batch, out_height, out_width, out_channels]. Output (y, x) reads input (y *
/// stride_y - top + i * dilation_y, x * stride_x - left + j * dilation_x) for (i, j) in the filter, and zeros beyond
/// the image.
struct convolution_shape {
  index batch, height, width, channels;
  index filter_height, filter_width, out_channels;
  index out_height, out_width;
  index stride_y = 1, stride_x = 1;
  index top = 0, left = 0;
  index dilation_y = 1, dilation_x = 1;

  /// Returns the number of rows of the matrix of patches: the pixels of the output.
  constexpr index pixels() const { return batch * out_height * out_width; }
  /// Returns the number of its columns: the taps of the filter times the channels.
  constexpr index elements() const { return filter_height * filter_width * channels; }
};

/// The matrix [pixels, elements] of an image.
template <class T, class Sum> struct patches {
  convolution_shape shape;
  T const* input;

  /// Writes some columns of some rows to `to`, whose rows are `to_row` apart.
  void write(Sum* to, index to_row, index pixel0, index pixels, index element0, index elements) const {
    auto const& s = shape;
    index const run = run_length(), runs = s.filter_width * s.channels / run;
    index const first = element0 / run, start = element0 % run;
    bool const whole = runs == 1 && element0 == 0 && elements == s.elements();
    index x = pixel0 % s.out_width, y = pixel0 / s.out_width % s.out_height;
    T const* image = input + pixel0 / s.out_width / s.out_height * image_size();
    for (index p = 0; p < pixels; ++p, to += to_row) {
      if (whole && inside(y, x)) write_inside(to, image, y, x, run);
      else write_row(to, image, y, x, {first / runs, first % runs, start}, elements, run, runs);
      if (++x < s.out_width) continue;
      x = 0;
      if (++y < s.out_height) continue;
      y = 0;
      image += image_size();
    }
  }

  /// What is contiguous in the input and in a patch.
  index run_length() const { return shape.dilation_x == 1 ? shape.filter_width * shape.channels : shape.channels; }

 private:
  // Where a row of the matrix stands: in a row of the filter, in one of its runs, at an element of that.
  struct position {
    index filter_row, run, element;
  };

  index image_size() const { return shape.height * shape.width * shape.channels; }

  // Whether a patch without holes lies in the image: most do, and they need no look at each of their runs.
  bool inside(index y, index x) const {
    auto const& s = shape;
    index const y0 = y * s.stride_y - s.top, x0 = x * s.stride_x - s.left;
    return y0 >= 0 && y0 + (s.filter_height - 1) * s.dilation_y < s.height && x0 >= 0 && x0 + s.filter_width <= s.width;
  }

  void write_inside(Sum* to, T const* image, index y, index x, index run) const {
    auto const& s = shape;
    index const line = s.width * s.channels;
    T const* from = image + (y * s.stride_y - s.top) * line + (x * s.stride_x - s.left) * s.channels;
    for (index i = 0; i < s.filter_height; ++i, to += run, from += s.dilation_y * line) {
      detail::copy_line(to, from, 1, run);
    }
  }

  void write_row(Sum* to, T const* image, index y, index x, position at, index elements, index run, index runs) const {
    auto const& s = shape;
    index const y0 = y * s.stride_y - s.top, offset = (x * s.stride_x - s.left) * s.channels;
    for (Sum* const end = to + elements; to < end;) {
      index const stop = detail::lower(run, at.element + (end - to));
      write_run(to, image, y0 + at.filter_row * s.dilation_y, offset + at.run * s.dilation_x * s.channels, at.element,
                stop);
      to += stop - at.element;
      at.element = 0;
      if (++at.run == runs) at.run = 0, ++at.filter_row;
    }
  }

  // Elements [begin, end) of the run that starts at an offset in a row of the image; both may lie beyond it.
  void write_run(Sum* to, T const* image, index y, index offset, index begin, index end) const {
    index const row = shape.width * shape.channels;
    if (y < 0 || y >= shape.height) return clear(to, end - begin);
    T const* const line = image + y * row;
    if (offset + begin >= 0 && offset + end <= row) {
      return detail::copy_line(to, line + (offset + begin), 1, end - begin);
    }
    index const low = detail::upper(begin, detail::lower(end, -offset));
    index const high = detail::upper(low, detail::lower(end, row - offset));
    clear(to, low - begin);
    if (low < high) detail::copy_line(to + (low - begin), line + (offset + low), 1, high - low);
    clear(to + (high - begin), end - high);
  }

  static void clear(Sum* to, index count) {
    for (index i = 0; i < count; ++i) to[i] = Sum{};
  }
};

}  // namespace rill::kernels
