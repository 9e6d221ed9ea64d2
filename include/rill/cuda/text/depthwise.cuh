// Convolutions of each channel by itself in the order of summation of rill/ops/network/depthwise_kernels.hpp. `I` is
// the type of counters: int, or long for large arrays.
#pragma once
#include "rill/cuda/text/convolution.cuh"

namespace rill::text {

/// Computes the convolution with a filter [filter_height, filter_width, channels], a number by a thread.
template <class I, class T>
void convolve_channels(global<T const> images, global<T const> filter, global<T> y, window_form const& w) {
  I const channels = static_cast<I>(w.channels);
  for_each_index(w.batch * w.out_height * w.out_width * w.channels, [&](std::int64_t number) {
    I const channel = static_cast<I>(number) % channels;
    auto const window = window_of<I>(static_cast<I>(number) / channels, w);
    sum_of<T> sum{};
    for (I i = 0; i < static_cast<I>(w.filter_height); ++i)
      for (I j = 0; j < static_cast<I>(w.filter_width); ++j) {
        I const tap = (i * static_cast<I>(w.filter_width) + j) * channels + channel;
        auto const at = window + in_window<I>(tap, w);
        if (at.is_in(w))
          sum = multiply_add(static_cast<sum_of<T>>(images[at.elements]), static_cast<sum_of<T>>(filter[tap]), sum);
      }
    y[number] = static_cast<T>(sum);
  });
}

/// The pixel of the result whose window has a tap at some row, or at some column; none if the stride has no such one.
template <class I> struct pixel_of_tap {
  I at;
  bool any;

  /// `from_first`: how far the tap lies from the first window's begin on, less the tap's own distance.
  pixel_of_tap(I from_first, std::int64_t stride, std::int64_t extent)
      : at(from_first / static_cast<I>(stride)),
        any(from_first >= 0 && at * static_cast<I>(stride) == from_first && at < static_cast<I>(extent)) {}
};

/// Computes the derivative with respect to the images, a number by a thread, from that of the result: the last tap is
/// the first.
template <class I, class T>
void convolve_channels_for_images(global<T const> filter, global<T const> change, global<T> images,
                                  window_form const& w) {
  using sum_type = sum_of<T>;
  I const channels = static_cast<I>(w.channels);
  for_each_index(w.batch * w.height * w.width * w.channels, [&](std::int64_t number) {
    I const channel = static_cast<I>(number) % channels;
    digits<I> const pixel(static_cast<I>(number) / channels, w.height, w.width);
    sum_type sum{};
    for (I i = static_cast<I>(w.filter_height) - 1; i >= 0; --i) {
      pixel_of_tap<I> const y(pixel.second + static_cast<I>(w.top - i * w.dilation_y), w.stride_y, w.out_height);
      for (I j = static_cast<I>(w.filter_width) - 1; y.any && j >= 0; --j) {
        pixel_of_tap<I> const x(pixel.third + static_cast<I>(w.left - j * w.dilation_x), w.stride_x, w.out_width);
        if (!x.any) continue;
        I const from = (pixel.first * static_cast<I>(w.out_height) + y.at) * static_cast<I>(w.out_width) + x.at;
        sum = multiply_add(static_cast<sum_type>(change[from * channels + channel]),
                           static_cast<sum_type>(filter[(i * static_cast<I>(w.filter_width) + j) * channels + channel]),
                           sum);
      }
    }
    images[number] = static_cast<T>(sum);
  });
}

/// The derivative of one row of the result's pixels with respect to an element of the filter.
template <class I, class T>
sum_of<T> filter_sum_of_row(global<T const> images, global<T const> change, I row, I element, window_form const& w) {
  I const channels = static_cast<I>(w.channels), out_width = static_cast<I>(w.out_width);
  auto const in = in_window<I>(element, w);
  sum_of<T> sum{};
  for (I x = 0; x < out_width; ++x) {
    I const pixel = row * out_width + x;
    auto const at = window_of<I>(pixel, w) + in;
    if (at.is_in(w))
      sum = multiply_add(static_cast<sum_of<T>>(images[at.elements]),
                         static_cast<sum_of<T>>(change[pixel * channels + element % channels]), sum);
  }
  return sum;
}

/// Computes the derivative with respect to the filter from that of the result, or the sums of its parts:
/// `images_of_part` images each. A block of 256 threads has 32 elements of a part; 8 rows of pixels are summed at once,
/// and their sums added in the order of rows. A row outside of the images adds 0, which changes no sum: none is -0.
template <class I, class T, class R>
void convolve_channels_for_filter(global<T const> images, global<T const> change, global<R> to, window_form const& w,
                                  std::int64_t images_of_part) {
  constexpr int across = 32, rows = 8;
  __shared__ sum_of<T> sums[rows][across];
  std::int64_t const size = w.filter_height * w.filter_width * w.channels, groups = (size + across - 1) / across;
  std::int64_t const parts = images_of_part == 0 ? 1 : (w.batch + images_of_part - 1) / images_of_part;
  int const column = static_cast<int>(threadIdx.x) % across, line = static_cast<int>(threadIdx.x) / across;
  for (std::int64_t unit = blockIdx.x; unit < groups * parts; unit += gridDim.x) {
    std::int64_t const part = unit / groups, element = unit % groups * across + column;
    std::int64_t const begin = part * images_of_part * w.out_height;
    std::int64_t const last = (part + 1) * images_of_part, end = (last < w.batch ? last : w.batch) * w.out_height;
    sum_of<T> all{};
    for (std::int64_t first = begin; first < end; first += rows) {
      sums[line][column] = sum_of<T>{};
      if (first + line < end && element < size)
        sums[line][column] =
            filter_sum_of_row<I>(images, change, static_cast<I>(first + line), static_cast<I>(element), w);
      __syncthreads();
      for (int i = 0; i < rows; ++i) all = all + sums[i][column];
      __syncthreads();
    }
    if (line == 0 && element < size) to[part * size + element] = static_cast<R>(all);
  }
}

}  // namespace rill::text
