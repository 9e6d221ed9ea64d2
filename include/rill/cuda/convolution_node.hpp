// Which convolution a node is, and what its kernels on a GPU count with.
#pragma once
#include <cstddef>
#include <cstdint>

#include "rill/type/dtype.hpp"

namespace rill::cuda {

/// What is computed of y = x * filter.
enum class convolution_part : std::uint8_t { result, images_gradient, filter_gradient };

/// The numbers of a text: the type of elements, and whether counters need 64 bits.
struct convolution_numbers {
  dtype element;
  bool wide = false;
};

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <algorithm>
#include <string>

#include "rill/cuda/product_kernel.hpp"
#include "rill/cuda/text/convolution_form.hpp"
#include "rill/cuda/text_parts.hpp"
#include "rill/device/kernel.hpp"
#include "rill/graph/kernel_request.hpp"
#include "rill/ops/network/conv2d_transpose.hpp"
#include "rill/ops/network/convolution_kernels.hpp"

namespace rill::cuda::detail {

using rill::kernels::convolution_shape;

/// An array of a node.
struct node_array {
  rill::type type;
  std::size_t number;  // among a call's pointers

  std::int64_t operator[](std::size_t axis) const { return type[axis].extent; }
  void* in(kernel_call const& call) const { return call.pointers[number]; }
};

/// The arrays of y = x * filter, and which of them is computed.
struct convolution_node {
  convolution_part part;
  convolution how;
  node_array x, filter, y;

  convolution_shape shape() const {
    auto const vertical = ops::conv2d_op::along(how, filter.type, 0);
    auto const horizontal = ops::conv2d_op::along(how, filter.type, 1);
    return {.batch = x[0],
            .height = x[1],
            .width = x[2],
            .channels = x[3],
            .filter_height = filter[0],
            .filter_width = filter[1],
            .out_channels = y[3],
            .out_height = y[1],
            .out_width = y[2],
            .stride_y = vertical.stride,
            .stride_x = horizontal.stride,
            .top = vertical.first(x[1]),
            .left = horizontal.first(x[2]),
            .dilation_y = vertical.dilation,
            .dilation_x = horizontal.dilation};
  }
};

inline convolution_node result_node(kernel_request const& r) {
  auto const how = decode<convolution>(r.at.attributes);
  return {convolution_part::result, how, {r.inputs[0], 0}, {r.inputs[1], 1}, {r.outputs[0], 2}};
}
inline convolution_node images_gradient_node(kernel_request const& r) {
  auto const how = decode<convolution>(r.at.attributes);
  return {convolution_part::images_gradient, how, {r.outputs[0], 3}, {r.inputs[1], 1}, {r.inputs[2], 2}};
}
inline convolution_node filter_gradient_node(kernel_request const& r) {
  auto const how = decode<convolution>(r.at.attributes);
  return {convolution_part::filter_gradient, how, {r.inputs[0], 0}, {r.outputs[0], 3}, {r.inputs[2], 2}};
}
inline convolution_node transposed_node(kernel_request const& r) {
  auto const how = decode<transposed_convolution>(r.at.attributes).of_result();
  return {convolution_part::images_gradient, how, {r.outputs[0], 2}, {r.inputs[1], 1}, {r.inputs[0], 0}};
}

inline window_form windows_of(convolution_shape const& s) {
  return {s.batch,     s.height,   s.width,    s.channels, s.filter_height, s.filter_width, s.out_height,
          s.out_width, s.stride_y, s.stride_x, s.top,      s.left,          s.dilation_y,   s.dilation_x};
}

// Whether what kernels count may need 64 bits: places in arrays, or in images as far as windows reach.
inline bool needs_wide_counters(convolution_shape const& s) {
  constexpr double most = 1 << 30;
  auto const number = [](std::int64_t n) { return static_cast<double>(n); };
  // How far windows reach along an axis, padding and all.
  auto const reach = [&](std::int64_t extent, std::int64_t windows, std::int64_t stride, std::int64_t before,
                         std::int64_t taps, std::int64_t dilation) {
    return number(extent) + number(before) + (number(windows) + 1) * number(stride) +
           (number(taps) + 1) * number(dilation);
  };
  double const rows = reach(s.height, s.out_height, s.stride_y, s.top, s.filter_height, s.dilation_y);
  double const columns = reach(s.width, s.out_width, s.stride_x, s.left, s.filter_width, s.dilation_x);
  auto const images = [&](std::int64_t height, std::int64_t width, std::int64_t channels) {
    return (number(s.batch) * number(height) + rows) * (number(width) + columns) * number(channels);
  };
  double const taps = number(s.filter_height + 1) * number(s.filter_width) * number(s.channels);
  return std::max({rows, columns, images(s.height, s.width, 1), images(s.height, s.width, s.channels),
                   images(s.out_height, s.out_width, 1), images(s.out_height, s.out_width, s.out_channels), taps,
                   taps * number(s.out_channels)}) > most;
}

inline std::string result_in_text(dtype element, bool apart) {
  auto const in = name_in_text(element);
  return apart && size_of(element) != sum_bytes(element) ? "rill::text::sum_of<" + in + ">" : in;
}

}  // namespace rill::cuda::detail
#endif
