// Convolutions of each channel by itself and their gradients on raw pointers: neighbouring channels are the lanes of a
// register.
#pragma once
#include "rill/ops/base/share.hpp"
#include "rill/ops/network/convolution_kernels.hpp"
#include "rill/ops/sum/reduce_kernels.hpp"

namespace rill::kernels {

namespace detail {

// Some neighbouring channels: N registers of sums of products. `count` is the number of channels that there are; it is
// a constant type where all registers are full, so that loads need no check.
template <class T, index N> struct channel_sums {
  using V = sum_type<T>;
  static constexpr index lanes = native<V>::lanes, channels = N * lanes;
  typename native<V>::type sums[N] = {};

  // Adds products of the first `count` numbers of a and b.
  template <class Count> [[gnu::always_inline]] void add(T const* a, T const* b, Count count) {
    for (index k = 0; k < N; ++k)
      sums[k] = multiply_add(load_as<V>(a + k * lanes, count - k * lanes), load_as<V>(b + k * lanes, count - k * lanes),
                             sums[k]);
  }
  void store(T* to, index count) const {
    for (index k = 0; k < N; ++k) store_as<V>(to + k * lanes, sums[k], count - k * lanes);
  }
  void add_to(V* to, index count) const {
    for (index k = 0; k < N; ++k)
      store_as<V>(to + k * lanes, load_as<V>(to + k * lanes, count - k * lanes) + sums[k], count - k * lanes);
  }
};

// Calls `f(sums, channel, count)` for all channels, a block of registers at a time where there are as many.
template <class T, class F> inline void for_each_block(index channels, F const& f) {
  using block = channel_sums<T, 4>;
  using one = channel_sums<T, 1>;
  index channel = 0;
  for (; channel + block::channels <= channels; channel += block::channels)
    f(block{}, channel, std::integral_constant<index, block::channels>{});
  for (; channel < channels; channel += one::channels) f(one{}, channel, lower(one::channels, channels - channel));
}

// The taps along one axis that lie in an image of some extent, if the first one lies at `at`.
struct tap_range {
  index begin, end;

  constexpr tap_range(index at, index dilation, index taps, index extent)
      : begin(at >= 0 ? 0 : divide_up(-at, dilation)),
        end(at >= extent ? 0 : lower(taps, (extent - 1 - at) / dilation + 1)) {}
};

// A convolution of each channel by itself, whose filter and result may lie with any steps.
template <class T> struct depthwise_pass {
  convolution_shape shape;
  T const *input, *filter;
  index filter_row, filter_column;  // from a tap to the one below, and to the next one
  T* output;
  index image_step, row_step, column_step;  // from a pixel of the result to that of the next image, below, and next

  void run(parallel const& threads) const noexcept {
    auto const& s = shape;
    index const work = upper(1, s.out_width * s.filter_height * s.filter_width * s.channels);
    share(threads, s.batch * s.out_height, divide_up(1 << 14, work), [this](index begin, index end) {
      for (index row = begin; row < end; ++row) run_row(row / shape.out_height, row % shape.out_height);
    });
  }

 private:
  void run_row(index image, index y) const {
    auto const& s = shape;
    index const top = y * s.stride_y - s.top;
    tap_range const rows(top, s.dilation_y, s.filter_height, s.height);
    T* to = output + image * image_step + y * row_step;
    for (index x = 0; x < s.out_width; ++x, to += column_step) {
      index const left = x * s.stride_x - s.left;
      tap_range const columns(left, s.dilation_x, s.filter_width, s.width);
      T const* const corner = input + ((image * s.height + top) * s.width + left) * s.channels;
      for_each_block<T>(s.channels, [&](auto sums, index channel, auto count) {
        for (index i = rows.begin; i < rows.end; ++i)
          for (index j = columns.begin; j < columns.end; ++j)
            sums.add(corner + (i * s.dilation_y * s.width + j * s.dilation_x) * s.channels + channel,
                     filter + i * filter_row + j * filter_column + channel, count);
        sums.store(to + channel, count);
      });
    }
  }
};

// The gradient with respect to the filter of some images: each row's sum is added to those of the rows before.
template <class T> struct depthwise_filter_sums {
  using V = sum_type<T>;
  convolution_shape const& shape;
  T const *input, *output_gradient;

  void add_image(index image, V* to) const {
    for (index y = 0; y < shape.out_height; ++y) {
      index const top = y * shape.stride_y - shape.top;
      tap_range const rows(top, shape.dilation_y, shape.filter_height, shape.height);
      for (index i = rows.begin; i < rows.end; ++i)
        add_row(image, y, top + i * shape.dilation_y, to + i * shape.filter_width * shape.channels);
    }
  }

 private:
  // The products of row y of the output's gradient and row p of the input, for each tap of a row of the filter.
  void add_row(index image, index y, index p, V* to) const {
    auto const& s = shape;
    T const* const from = input + (image * s.height + p) * s.width * s.channels;
    T const* const gradient = output_gradient + (image * s.out_height + y) * s.out_width * s.channels;
    for (index j = 0; j < s.filter_width; ++j, to += s.channels) {
      index const first = j * s.dilation_x - s.left;  // the pixel of the input that output 0 meets
      index const begin = first >= 0 ? 0 : divide_up(-first, s.stride_x);
      index const end = first >= s.width ? 0 : lower(s.out_width, (s.width - 1 - first) / s.stride_x + 1);
      for_each_block<T>(s.channels, [&](auto sums, index channel, auto count) {
        for (index x = begin; x < end; ++x)
          sums.add(from + (first + x * s.stride_x) * s.channels + channel, gradient + x * s.channels + channel, count);
        sums.add_to(to + channel, count);
      });
    }
  }
};

// The images whose sums are one part of the gradient with respect to a filter; there are 64 parts or fewer.
constexpr index images_of_part(convolution_shape const& s) { return divide_up(s.batch, 64); }
constexpr index filter_parts(convolution_shape const& s) { return divide_up(s.batch, images_of_part(s)); }

}  // namespace detail

/// Computes output = input * filter [filter_height, filter_width, channels], each channel by itself.
template <class T>
void convolve_channels(convolution_shape const& s, T const* input, T const* filter, T* output,
                       parallel const& threads) noexcept {
  index const row = s.out_width * s.channels;
  detail::depthwise_pass<T>{s,   input,     filter, s.filter_width * s.channels, s.channels, output, s.out_height * row,
                            row, s.channels}
      .run(threads);
}

/// Computes the gradient with respect to the input: for each phase of the strides a convolution of the output's
/// gradient with the taps that meet it, the last one first.
template <class T>
void convolve_channels_input_gradient(convolution_shape const& s, T const* filter, T const* output_gradient,
                                      T* input_gradient, parallel const& threads) noexcept {
  index const line = s.width * s.channels;
  detail::for_each_phase(s, [&](detail::phase const& y, detail::phase const& x) {
    index const last = y.taps == 0 || x.taps == 0 ? 0 : (y.last_tap * s.filter_width + x.last_tap) * s.channels;
    auto back = detail::backward_shape(s, y, x);
    back.dilation_y = detail::upper(1, back.dilation_y);  // 0 for one tap, which has no next one
    back.dilation_x = detail::upper(1, back.dilation_x);
    detail::depthwise_pass<T>{back,
                              output_gradient,
                              filter + last,
                              -y.tap_step * s.filter_width * s.channels,
                              -x.tap_step * s.channels,
                              input_gradient + y.first * line + x.first * s.channels,
                              s.height * line,
                              s.stride_y * line,
                              s.stride_x * s.channels}
        .run(threads);
  });
}

/// Returns the bytes of scratch that `convolve_channels_filter_gradient` needs.
template <class T> constexpr std::size_t convolve_channels_filter_gradient_scratch_bytes(convolution_shape const& s) {
  return static_cast<std::size_t>(detail::filter_parts(s) * s.elements()) * sizeof(sum_type<T>) + 64;
}

/// Computes the gradient with respect to the filter: parts of the batch, and then the sum of the parts.
template <class T>
void convolve_channels_filter_gradient(convolution_shape const& s, T const* input, T const* output_gradient,
                                       T* filter_gradient, void* scratch, parallel const& threads) noexcept {
  using V = sum_type<T>;
  index const parts = detail::filter_parts(s), images = detail::images_of_part(s), size = s.elements();
  V* const sums = detail::aligned<V>(scratch);
  share(threads, parts, 1, [&](index begin, index end) {
    for (index part = begin; part < end; ++part) {
      V* const to = sums + part * size;
      for (index i = 0; i < size; ++i) to[i] = V{};
      for (index image = part * images; image < detail::lower(s.batch, (part + 1) * images); ++image)
        detail::depthwise_filter_sums<T>{s, input, output_gradient}.add_image(image, to);
    }
  });
  for (index i = 0; i < size; ++i) {
    V sum{};
    for (index part = 0; part < parts; ++part) sum += sums[part * size + i];
    filter_gradient[i] = static_cast<T>(sum);
  }
}

}  // namespace rill::kernels
