// Two-dimensional convolutions and their gradients on raw pointers: products of matrices of patches, of which lines of
// the image, or the patches themselves, are written block by block as the product needs them.
#pragma once
#include "rill/ops/network/padded_lines.hpp"

namespace rill::kernels {

namespace detail {

// The taps of a filter that reach the input pixels first, first + stride, ... of one dimension. Tap i of the filter
// joins input p and output o if p = o * stride - before + i * dilation; so for p = first + stride * j the output is
// o = j + (first + before - i * dilation) / stride wherever that divides. From the last such tap backwards, o grows by
// a constant: a convolution of the output's gradient with stride 1.
struct phase {
  index first, count;        // input pixels
  index last_tap, tap_step;  // taps last_tap, last_tap - tap_step, ...
  index taps, dilation, before;

  constexpr phase(index first_, index extent, index filter, index stride, index dilation_, index before_)
      : first(first_),
        count(divide_up(extent - first_, stride)),
        last_tap(-1),
        tap_step(1),
        taps(0),
        dilation(1),
        before(0) {
    for (index i = 0; i < filter; ++i) {
      if ((first + before_ - i * dilation_) % stride != 0) continue;
      if (taps++ > 0) tap_step = i - last_tap;
      last_tap = i;
    }
    if (taps == 0) return;
    dilation = tap_step * dilation_ / stride;
    before = -(first + before_ - last_tap * dilation_) / stride;
  }
};

// The convolution of the output's gradient whose result are the input pixels of two phases.
constexpr convolution_shape backward_shape(convolution_shape const& s, phase const& y, phase const& x) {
  return {.batch = s.batch,
          .height = s.out_height,
          .width = s.out_width,
          .channels = s.out_channels,
          .filter_height = y.taps,
          .filter_width = x.taps,
          .out_channels = s.channels,
          .out_height = y.count,
          .out_width = x.count,
          .top = y.before,
          .left = x.before,
          .dilation_y = y.dilation,
          .dilation_x = x.dilation};
}

template <class F> constexpr void for_each_phase(convolution_shape const& s, F const& f) {
  for (index y = 0; y < lower(s.stride_y, s.height); ++y) {
    for (index x = 0; x < lower(s.stride_x, s.width); ++x) {
      f(phase(y, s.height, s.filter_height, s.stride_y, s.dilation_y, s.top),
        phase(x, s.width, s.filter_width, s.stride_x, s.dilation_x, s.left));
    }
  }
}

// The taps of two phases as the filter of their backward convolution: [taps, taps, out_channels, channels].
template <class T>
void turn_filter(convolution_shape const& s, phase const& y, phase const& x, T const* filter, T* to) {
  index const size = s.channels * s.out_channels;
  for (index i = 0; i < y.taps; ++i) {
    for (index j = 0; j < x.taps; ++j, to += size) {
      index const tap = (y.last_tap - i * y.tap_step) * s.filter_width + x.last_tap - j * x.tap_step;
      copy_across(to, s.channels, matrix_view<T>{filter + tap * size, s.out_channels, 1}, s.channels, s.out_channels);
    }
  }
}

// The pixels of two phases of an image [batch, height, width, channels].
template <class T, class Sum> struct phase_result {
  convolution_shape const& shape;
  phase y, x;
  T* image;

  Sum* open(Sum* tile, tile_range r, index& row) const {
    row = r.columns;
    return tile;
  }
  void close(Sum const* tile, tile_range r) const {
    for (index i = 0; i < r.rows; ++i) {
      index const pixel = r.row0 + i, batch = pixel / (x.count * y.count);
      index const row = y.first + pixel / x.count % y.count * shape.stride_y;
      index const column = x.first + pixel % x.count * shape.stride_x;
      T* const to = image + ((batch * shape.height + row) * shape.width + column) * shape.channels + r.column0;
      copy_line(to, tile + i * r.columns, 1, r.columns);
    }
  }
};

template <class T> using convolution_plan = gemm_plan<sum_type<T>>;

template <class T> constexpr std::size_t plan_bytes(convolution_plan<T> const& plan) {
  return static_cast<std::size_t>(plan.scratch()) * sizeof(sum_type<T>) + 64;
}

template <class T> inline constexpr bool sums_are_rounded = !std::is_same_v<T, sum_type<T>>;

// `gathers`: tiles of the result go elsewhere than in a matrix.
template <class T>
constexpr convolution_plan<T> forward_plan(convolution_shape const& s, int threads, bool gathers = false) {
  return {s.pixels(), s.out_channels, s.elements(), threads, gathers || sums_are_rounded<T>};
}

template <class T> constexpr convolution_plan<T> filter_plan(convolution_shape const& s, int threads) {
  return {s.elements(), s.out_channels, s.pixels(), threads, sums_are_rounded<T>};
}

// Large blocks of B are copied to panels unless they are panels.
template <class T> constexpr bool copies_columns(convolution_plan<T> const& plan) {
  return plan.n != tile_shape<sum_type<T>>::columns && plan.m > 2 * tile_shape<sum_type<T>>::rows;
}

}  // namespace detail

/// Returns the bytes of scratch that `convolve` needs.
template <class T> constexpr std::size_t convolve_scratch_bytes(convolution_shape const& s, int threads) noexcept {
  return detail::plan_bytes<T>(detail::forward_plan<T>(s, threads));
}

/// Computes output = input * filter.
template <class T>
void convolve(convolution_shape const& s, T const* input, T const* filter, T* output, void* scratch,
              parallel const& threads) noexcept {
  using sum = sum_type<T>;
  auto const plan = detail::forward_plan<T>(s, threads.threads);
  gemm_of(plan, rows_of_patches<T, sum>{{s, input}},
          columns_of_matrix<T, sum>{{filter, s.out_channels, 1}, detail::copies_columns<T>(plan)},
          matrix_result<T, sum>{output, s.out_channels}, scratch, threads);
}

/// Returns the bytes of scratch that `convolve_filter_gradient` needs.
template <class T>
constexpr std::size_t convolve_filter_gradient_scratch_bytes(convolution_shape const& s, int threads) noexcept {
  return detail::plan_bytes<T>(detail::filter_plan<T>(s, threads));
}

/// Computes the gradient with respect to the filter: transposed patches times the output's gradient.
template <class T>
void convolve_filter_gradient(convolution_shape const& s, T const* input, T const* output_gradient, T* filter_gradient,
                              void* scratch, parallel const& threads) noexcept {
  using sum = sum_type<T>;
  auto const plan = detail::filter_plan<T>(s, threads.threads);
  gemm_of(plan, columns_of_patches<T, sum>{{s, input}},
          columns_of_matrix<T, sum>{{output_gradient, s.out_channels, 1}, detail::copies_columns<T>(plan)},
          matrix_result<T, sum>{filter_gradient, s.out_channels}, scratch, threads);
}

/// Returns the bytes of scratch that `convolve_input_gradient` needs.
template <class T>
constexpr std::size_t convolve_input_gradient_scratch_bytes(convolution_shape const& s, int threads) noexcept {
  std::size_t most = 0;
  detail::for_each_phase(s, [&](detail::phase const& y, detail::phase const& x) {
    auto const bytes = detail::plan_bytes<T>(detail::forward_plan<T>(detail::backward_shape(s, y, x), threads, true));
    most = bytes > most ? bytes : most;
  });
  return most + static_cast<std::size_t>(s.elements() * s.out_channels) * sizeof(T) + 64;
}

/// Computes the gradient with respect to the input: for each phase of the strides a convolution of the output's
/// gradient with the taps that meet it, turned round.
template <class T>
void convolve_input_gradient(convolution_shape const& s, T const* filter, T const* output_gradient, T* input_gradient,
                             void* scratch, parallel const& threads) noexcept {
  using sum = sum_type<T>;
  T* const turned = detail::aligned<T>(scratch);
  void* const rest = turned + s.elements() * s.out_channels;
  detail::for_each_phase(s, [&](detail::phase const& y, detail::phase const& x) {
    auto const back = detail::backward_shape(s, y, x);
    auto const plan = detail::forward_plan<T>(back, threads.threads, true);
    detail::turn_filter(s, y, x, filter, turned);
    gemm_of(plan, rows_of_patches<T, sum>{{back, output_gradient}},
            columns_of_matrix<T, sum>{{turned, s.channels, 1}, detail::copies_columns<T>(plan)},
            detail::phase_result<T, sum>{s, y, x, input_gradient}, rest, threads);
  });
}

}  // namespace rill::kernels
