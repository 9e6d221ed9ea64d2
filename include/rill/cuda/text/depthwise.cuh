// Convolutions of each channel by itself in the order of summation of rill/ops/network/depthwise_kernels.hpp. `I` is
// the type of counters: int, or long for large arrays.
#pragma once
#include "rill/cuda/text/convolution.cuh"

namespace rill::text {

/// Adds a product of two elements.
template <class T> void add_product(sum_of<T>& sum, T a, T b) {
  sum = multiply_add(static_cast<sum_of<T>>(a), static_cast<sum_of<T>>(b), sum);
}

/// Computes the convolution with a filter [filter_height, filter_width, channels], a number by a thread.
template <class I, class T>
void convolve_channels(global<T const> images, global<T const> filter, global<T> y, window_form const& w) {
  I const channels = static_cast<I>(w.channels), row = static_cast<I>(w.dilation_y * w.width * w.channels);
  I const column = static_cast<I>(w.dilation_x * w.channels), dilation_x = static_cast<I>(w.dilation_x);
  for_each_index(w.batch * w.out_height * w.out_width * w.channels, [&](std::int64_t number) {
    I const pixel = w.channels.divide(static_cast<I>(number));
    I tap = static_cast<I>(number) - pixel * channels;
    auto line = window_of<I>(pixel, w);
    line.elements += tap;
    sum_of<T> sum{};
    for (I i = 0; i < static_cast<I>(w.filter_height); ++i) {
      auto at = line;
      for (I j = 0; j < static_cast<I>(w.filter_width); ++j) {
        if (at.is_in(w)) add_product<T>(sum, images[at.elements], filter[tap]);
        at.x += dilation_x, at.elements += column, tap += channels;
      }
      line.y += static_cast<I>(w.dilation_y), line.elements += row;
    }
    y[number] = static_cast<T>(sum);
  });
}

/// Goes through the taps along one axis that meet a pixel of the images, and the pixels of the result whose window has
/// it there, from the last tap to the first.
template <class I> class tap_walk {
 public:
  /// `from_first`: how far the pixel lies from the begin of the first window; `tap_step`: stride / gcd(stride,
  /// dilation), how far taps lie from each other.
  tap_walk(I from_first, std::int64_t taps, std::int64_t stride, std::int64_t dilation, std::int64_t tap_step)
      : tap_(static_cast<I>(taps) - 1),
        tap_step_(static_cast<I>(tap_step)),
        step_(static_cast<I>(dilation * tap_step / stride)) {
    I const by = static_cast<I>(stride), each = static_cast<I>(dilation);
    I distance = from_first - tap_ * each;
    while (tap_ >= 0 && distance % by != 0) --tap_, distance += each;
    at_ = distance / by;
  }

  bool more() const { return tap_ >= 0; }
  void next() { tap_ -= tap_step_, at_ += step_; }
  I tap() const { return tap_; }
  I at() const { return at_; }
  bool is_below(std::int64_t extent) const { return at_ >= 0 && at_ < static_cast<I>(extent); }

 private:
  I tap_, at_, tap_step_, step_;
};

/// Computes the derivative with respect to the images, a number by a thread, from that of the result: the last tap is
/// the first. `tap_row` and `tap_column` are the steps of tap_walk.
template <class I, class T>
void convolve_channels_for_images(global<T const> filter, global<T const> change, global<T> images,
                                  window_form const& w, std::int64_t tap_row, std::int64_t tap_column) {
  I const channels = static_cast<I>(w.channels);
  for_each_index(w.batch * w.height * w.width * w.channels, [&](std::int64_t number) {
    I const all = w.channels.divide(static_cast<I>(number)), channel = static_cast<I>(number) - all * channels;
    digits<I> const pixel(all, w.height, w.width);
    tap_walk<I> const columns(pixel.third + static_cast<I>(w.left), w.filter_width, w.stride_x, w.dilation_x,
                              tap_column);
    tap_walk<I> y(pixel.second + static_cast<I>(w.top), w.filter_height, w.stride_y, w.dilation_y, tap_row);
    sum_of<T> sum{};
    for (; y.more(); y.next()) {
      if (!y.is_below(w.out_height)) continue;
      I const line = (pixel.first * static_cast<I>(w.out_height) + y.at()) * static_cast<I>(w.out_width);
      for (auto x = columns; x.more(); x.next())
        if (x.is_below(w.out_width))
          add_product<T>(sum, change[(line + x.at()) * channels + channel],
                         filter[(y.tap() * static_cast<I>(w.filter_width) + x.tap()) * channels + channel]);
    }
    images[number] = static_cast<T>(sum);
  });
}

/// Returns the derivative of one row of the result's pixels with respect to an element of the filter.
template <class I, class T>
sum_of<T> filter_sum_of_row(global<T const> images, global<T const> change, I row, I element, window_form const& w) {
  I const channels = static_cast<I>(w.channels), out_width = static_cast<I>(w.out_width);
  I const stride = static_cast<I>(w.stride_x);
  auto at = window_of<I>(row * out_width, w) + in_window<I>(element, w);
  I from = row * out_width * channels + element - w.channels.divide(element) * channels;
  sum_of<T> sum{};
  for (I x = 0; x < out_width; ++x) {
    if (at.is_in(w)) add_product<T>(sum, images[at.elements], change[from]);
    at.x += stride, at.elements += stride * channels, from += channels;
  }
  return sum;
}

/// Computes the derivative with respect to the filter from that of the result, or the sums of its parts of
/// `images_of_part` images each. A block of 256 threads has 32 elements of a part: 8 rows of pixels are summed at once,
/// and their sums are added in the order of rows. A row outside of the images adds 0, which changes no sum: none is -0.
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
    std::int64_t const begin = part * images_of_part * w.out_height, last = (part + 1) * images_of_part;
    std::int64_t const end = (last < w.batch ? last : w.batch) * w.out_height;
    sum_of<T> all{};
    for (std::int64_t first = begin; first < end; first += rows) {
      bool const any = first + line < end && element < size;
      sums[line][column] =
          any ? filter_sum_of_row<I>(images, change, static_cast<I>(first + line), static_cast<I>(element), w)
              : sum_of<T>{};
      __syncthreads();
      for (int i = 0; i < rows; ++i) all = all + sums[i][column];
      __syncthreads();
    }
    if (line == 0 && element < size) to[part * size + element] = static_cast<R>(all);
  }
}

}  // namespace rill::text
