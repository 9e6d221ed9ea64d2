// Images and windows over them as kernels take them: parameters that the host fills in and CUDA source reads. Numbers
// are ints where all of them are small, else longs.
#pragma once

namespace rill::cuda {

/// The place of an element of images.
template <class Index> struct pixel {
  Index image, row, column, channel;
};

/// The extents of images [n, height, width, channels].
template <class Index> struct images {
  Index height, width, channels;

  /// Returns the number of an element, counted from the first one.
  constexpr Index number(Index image, Index row, Index column, Index channel) const {
    return ((image * height + row) * width + column) * channels + channel;
  }
  /// Returns where the element of a number lies.
  constexpr pixel<Index> place(Index number) const {
    Index const column = number / channels, row = column / width, image = row / height;
    return {image, row - image * height, column - row * width, number - column * channels};
  }
  template <class To> constexpr images<To> as() const {
    return {static_cast<To>(height), static_cast<To>(width), static_cast<To>(channels)};
  }
};

/// Some pixels or windows that lie side by side: [begin, end).
template <class Index> struct part_of_line {
  Index begin, end;
};

/// Windows along an axis: window i has the pixels from i * stride - before on.
template <class Index> struct window_axis {
  Index size, stride, before;

  /// Returns the pixels of a window, without those beyond an image of `pixels`.
  constexpr part_of_line<Index> pixels_in(Index window, Index pixels) const {
    Index const first = window * stride - before, end = first + size;
    return {first < 0 ? 0 : first, end < pixels ? end : pixels};
  }
  /// Returns the windows that a pixel lies in, of `windows` ones.
  constexpr part_of_line<Index> windows_over(Index pixel, Index windows) const {
    Index const at = pixel + before, end = at / stride + 1;
    return {at < size ? 0 : (at - size) / stride + 1, end < windows ? end : windows};
  }
  template <class To> constexpr window_axis<To> as() const {
    return {static_cast<To>(size), static_cast<To>(stride), static_cast<To>(before)};
  }
};

/// Windows over the images x, each of which becomes a pixel of y. `counts_padding`: of means, whether pixels beyond the
/// image count as zeros.
template <class Index> struct image_windows {
  images<Index> x, y;
  window_axis<Index> rows, columns;
  bool counts_padding;

  template <class To> constexpr image_windows<To> as() const {
    return {x.template as<To>(), y.template as<To>(), rows.template as<To>(), columns.template as<To>(),
            counts_padding};
  }
};

/// Images x that become images y of another height and width.
template <class Index> struct image_change {
  images<Index> x, y;

  template <class To> constexpr image_change<To> as() const { return {x.template as<To>(), y.template as<To>()}; }
};

}  // namespace rill::cuda
