// Maxima and means over windows of images, and their gradients, on raw pointers.
#pragma once
#include "rill/ops/sum/reduce_kernels.hpp"

namespace rill::kernels {

/// Windows over an image [batch, height, width, channels]: output (y, x) is the largest of window_height x window_width
/// pixels from (y * stride_y - top, x * stride_x - left), those beyond the image left out.
struct pooling_shape {
  index batch, height, width, channels;
  index window_height, window_width;
  index out_height, out_width;
  index stride_y = 1, stride_x = 1;
  index top = 0, left = 0;

  /// Whether each pixel lies in one window, neither more nor fewer.
  constexpr bool tiles() const {
    return window_height == stride_y && window_width == stride_x && top >= 0 && left >= 0 &&
           out_height * stride_y - top >= height && out_width * stride_x - left >= width;
  }
};

namespace detail {

// Returns the pixels of a window that lie in the image.
struct pixel_range {
  index top, bottom, left, right;
};

inline pixel_range window_of(pooling_shape const& s, index y, index x) {
  index const top = y * s.stride_y - s.top, left = x * s.stride_x - s.left;
  return {upper(0, top), lower(s.height, top + s.window_height), upper(0, left), lower(s.width, left + s.window_width)};
}

// Up to a register of channels of one window at a time.
template <class T> struct pooling {
  using V = typename maximum<T>::value;
  using lanes_type = typename native<V>::type;
  static constexpr index lanes = native<V>::lanes;
  static constexpr index channels_at_once = 64;

  pooling_shape const& s;
  T const* input;

  T const* pixel(index batch, index y, index x) const {
    return input + ((batch * s.height + y) * s.width + x) * s.channels;
  }

  // The largest of a window, from the channel on.
  lanes_type largest(index batch, pixel_range const& window, index channel) const {
    lanes_type result = native<V>::broadcast(maximum<T>::identity);
    bool first = true;
    for (index y = window.top; y < window.bottom; ++y) {
      for (index x = window.left; x < window.right; ++x, first = false) {
        auto const here = load_as<V>(pixel(batch, y, x) + channel, s.channels - channel);
        result = first ? here : maximum<T>::apply(result, here);
      }
    }
    return result;
  }

  void forward_row(index batch, index y, T* output) const {
    for (index x = 0; x < s.out_width; ++x, output += s.channels) {
      auto const window = window_of(s, y, x);
      for (index c = 0; c < s.channels; c += lanes) {
        store_as<V>(output + c, largest(batch, window, c), s.channels - c);
      }
    }
  }

  // Adds what the output's gradient brings to one window: to the first pixel that is as large as the largest, or NaN as
  // it is. Where each pixel is in one window it is added to zeros that were never written.
  template <bool Tiles, class Sum>
  void backward_window(index batch, pixel_range const& window, index channel, T const* gradient, Sum* to) const {
    index const count = s.channels - channel;
    auto const most = largest(batch, window, channel), change = load_as<V>(gradient, count);
    auto open = lanes_type{} == lanes_type{};
    for (index y = window.top; y < window.bottom; ++y) {
      for (index x = window.left; x < window.right; ++x) {
        auto const here = load_as<V>(pixel(batch, y, x) + channel, count);
        auto const taken = open & ((here == most) | (here != here));
        Sum* const at = to + (pixel(batch, y, x) - input) + channel;
        auto const old = Tiles ? native<V>::broadcast(V{}) : load_as<V>(at, count);
        store_as<V>(at, taken ? old + change : old, count);
        open &= ~taken;
      }
    }
  }

  // Some channels of one image.
  template <bool Tiles, class Sum>
  void backward(index batch, index channel, index end, T const* gradient, Sum* to) const {
    if constexpr (!Tiles) clear(batch, channel, end, to);
    gradient += batch * s.out_height * s.out_width * s.channels;
    for (index y = 0; y < s.out_height; ++y) {
      for (index x = 0; x < s.out_width; ++x, gradient += s.channels) {
        auto const window = window_of(s, y, x);
        for (index c = channel; c < end; c += lanes) backward_window<Tiles>(batch, window, c, gradient + c, to);
      }
    }
  }

  template <class Sum> void clear(index batch, index channel, index end, Sum* to) const {
    for (index i = 0; i < s.height * s.width; ++i) {
      Sum* const at = to + (batch * s.height * s.width + i) * s.channels;
      for (index c = channel; c < end; ++c) at[c] = Sum{};
    }
  }

  // Rounds the sums of some channels of one image.
  void round(index batch, index channel, index end, V const* from, T* to) const {
    for (index i = 0; i < s.height * s.width; ++i) {
      index const at = (batch * s.height * s.width + i) * s.channels;
      for (index c = channel; c < end; ++c) to[at + c] = static_cast<T>(from[at + c]);
    }
  }
};

}  // namespace detail

/// The maximum of each window: [batch, out_height, out_width, channels]. A NaN in a window is its largest; a window
/// with no pixel of the image has the least value.
template <class T> void max_pool(pooling_shape const& s, T const* input, T* output, parallel const& threads) noexcept {
  index const line = s.out_width * s.channels;
  index const work =
      detail::upper(1, line * detail::lower(s.window_height, s.height) * detail::lower(s.window_width, s.width));
  share(threads, s.batch * s.out_height, detail::divide_up(1 << 14, work), [&](index begin, index end) {
    for (index row = begin; row < end; ++row) {
      detail::pooling<T>{s, input}.forward_row(row / s.out_height, row % s.out_height, output + row * line);
    }
  });
}

/// Computes the gradient of `max_pool`: the gradient of each output goes to the first maximum in its window. Windows
/// that overlap add up in their order: in T, or, for a narrow T, in `sums`, which has as many elements as the input.
template <class T>
void max_pool_gradient(pooling_shape const& s, T const* input, T const* output_gradient, T* input_gradient,
                       typename detail::pooling<T>::V* sums, parallel const& threads) noexcept {
  using pooling = detail::pooling<T>;
  constexpr bool narrow = !std::is_same_v<typename pooling::V, T>;
  index const blocks = detail::divide_up(s.channels, pooling::channels_at_once);
  share(threads, s.batch * blocks, 1, [&](index begin, index end) {
    for (index unit = begin; unit < end; ++unit) {
      index const channel = unit % blocks * pooling::channels_at_once;
      index const stop = detail::lower(s.channels, channel + pooling::channels_at_once);
      pooling const image{s, input};
      if (s.tiles()) image.template backward<true>(unit / blocks, channel, stop, output_gradient, input_gradient);
      else if (narrow && sums != nullptr) {
        image.template backward<false>(unit / blocks, channel, stop, output_gradient, sums);
        image.round(unit / blocks, channel, stop, sums, input_gradient);
      } else image.template backward<false>(unit / blocks, channel, stop, output_gradient, input_gradient);
    }
  });
}

namespace detail {

// Means over windows. 16-bit floats are summed as floats and rounded once.
template <class T> struct window_means {
  using V = std::conditional_t<(sizeof(T) < 4), float, T>;
  static constexpr index channels_at_once = 64;

  pooling_shape const& s;
  bool count_padding;

  // What the sum over a window is divided by.
  V count(pixel_range const& window) const {
    index const pixels =
        count_padding ? s.window_height * s.window_width : (window.bottom - window.top) * (window.right - window.left);
    return static_cast<V>(upper(1, pixels));
  }

  void forward_row(T const* image, index y, T* output) const {
    for (index x = 0; x < s.out_width; ++x, output += s.channels) {
      auto const window = window_of(s, y, x);
      V const by = count(window);
      for (index channel = 0; channel < s.channels; channel += channels_at_once) {
        index const channels = lower(channels_at_once, s.channels - channel);
        V sum[channels_at_once] = {};
        for (index p = window.top; p < window.bottom; ++p)
          for (index q = window.left; q < window.right; ++q) {
            T const* const at = image + (p * s.width + q) * s.channels + channel;
            for (index c = 0; c < channels; ++c) sum[c] += static_cast<V>(at[c]);
          }
        for (index c = 0; c < channels; ++c) output[channel + c] = static_cast<T>(sum[c] / by);
      }
    }
  }

  // The windows along one axis in which a pixel lies.
  struct range {
    index begin, end;
  };
  static range windows_over(index pixel, index before, index window, index stride, index windows) {
    index const at = pixel + before;
    return {at < window ? 0 : (at - window) / stride + 1, lower(windows, at / stride + 1)};
  }

  // A row of pixels takes its part of all windows that it lies in, in their order.
  void backward_row(T const* gradient, index p, T* to) const {
    auto const rows = windows_over(p, s.top, s.window_height, s.stride_y, s.out_height);
    for (index q = 0; q < s.width; ++q, to += s.channels) {
      auto const columns = windows_over(q, s.left, s.window_width, s.stride_x, s.out_width);
      for (index channel = 0; channel < s.channels; channel += channels_at_once) {
        index const channels = lower(channels_at_once, s.channels - channel);
        V sum[channels_at_once] = {};
        for (index y = rows.begin; y < rows.end; ++y)
          for (index x = columns.begin; x < columns.end; ++x) {
            T const* const at = gradient + (y * s.out_width + x) * s.channels + channel;
            V const by = count(window_of(s, y, x));
            for (index c = 0; c < channels; ++c) sum[c] += static_cast<V>(at[c]) / by;
          }
        for (index c = 0; c < channels; ++c) to[channel + c] = static_cast<T>(sum[c]);
      }
    }
  }
};

}  // namespace detail

/// Computes the mean of each window: [batch, out_height, out_width, channels]; of its pixels in the image, or of those
/// beyond, which are 0, as well.
template <class T>
void avg_pool(pooling_shape const& s, bool count_padding, T const* input, T* output, parallel const& threads) noexcept {
  index const line = s.out_width * s.channels, image = s.height * s.width * s.channels;
  index const work =
      detail::upper(1, line * detail::lower(s.window_height, s.height) * detail::lower(s.window_width, s.width));
  share(threads, s.batch * s.out_height, detail::divide_up(1 << 14, work), [&](index begin, index end) {
    for (index row = begin; row < end; ++row)
      detail::window_means<T>{s, count_padding}.forward_row(input + row / s.out_height * image, row % s.out_height,
                                                            output + row * line);
  });
}

/// Computes the gradient of `avg_pool`: the gradient of each output is divided equally among the pixels that it
/// averages.
template <class T>
void avg_pool_gradient(pooling_shape const& s, bool count_padding, T const* output_gradient, T* input_gradient,
                       parallel const& threads) noexcept {
  index const line = s.width * s.channels, image = s.out_height * s.out_width * s.channels;
  share(threads, s.batch * s.height, detail::divide_up(1 << 12, detail::upper(1, line)), [&](index begin, index end) {
    for (index row = begin; row < end; ++row)
      detail::window_means<T>{s, count_padding}.backward_row(output_gradient + row / s.height * image, row % s.height,
                                                             input_gradient + row * line);
  });
}

}  // namespace rill::kernels
