// The kernels of depthwise_conv2d and its derivatives.
#pragma once

#if RILL_KERNELS
#include "rill/ops/network/depthwise_kernels.hpp"

namespace rill::ops {

template <class T> void depthwise_conv2d_op::run(convolution_call const& c, parallel const& threads) {
  rill::kernels::convolve_channels(shape_of(c), static_cast<T const*>(c.x), static_cast<T const*>(c.filter),
                                   static_cast<T*>(c.y), threads);
}

template <class T> std::size_t depthwise_conv2d_op::scratch(convolution_call const&, int) { return 0; }

template <class T> void depthwise_conv2d_input_gradient_op::run(convolution_call const& c, parallel const& threads) {
  rill::kernels::convolve_channels_input_gradient(shape_of(c), static_cast<T const*>(c.filter),
                                                  static_cast<T const*>(c.y), static_cast<T*>(c.x), threads);
}

template <class T> std::size_t depthwise_conv2d_input_gradient_op::scratch(convolution_call const&, int) { return 0; }

template <class T> void depthwise_conv2d_filter_gradient_op::run(convolution_call const& c, parallel const& threads) {
  rill::kernels::convolve_channels_filter_gradient(shape_of(c), static_cast<T const*>(c.x), static_cast<T const*>(c.y),
                                                   static_cast<T*>(c.filter), c.scratch, threads);
}

template <class T> std::size_t depthwise_conv2d_filter_gradient_op::scratch(convolution_call const& c, int) {
  return rill::kernels::convolve_channels_filter_gradient_scratch_bytes<T>(shape_of(c));
}

}  // namespace rill::ops
#endif

#if RILL_DEFINITIONS
namespace rill::ops {

inline kernel depthwise_conv2d_op::cpu(kernel_request const& r) {
  return make(r, decode<convolution>(r.at.attributes), r.inputs[0], r.inputs[1], r.outputs[0],
              [](convolution_call& c, kernel_call const& call) {
                c.x = call.pointers[0];
                c.filter = call.pointers[1];
                c.y = call.pointers[2];
              });
}

inline kernel depthwise_conv2d_input_gradient_op::cpu(kernel_request const& r) {
  return make(r, decode<convolution>(r.at.attributes), r.outputs[0], r.inputs[1], r.inputs[2],
              [](convolution_call& c, kernel_call const& call) {
                c.filter = call.pointers[1];
                c.y = call.pointers[2];
                c.x = call.pointers[3];
              });
}

inline kernel depthwise_conv2d_filter_gradient_op::cpu(kernel_request const& r) {
  return make(r, decode<convolution>(r.at.attributes), r.inputs[0], r.outputs[0], r.inputs[2],
              [](convolution_call& c, kernel_call const& call) {
                c.x = call.pointers[0];
                c.y = call.pointers[2];
                c.filter = call.pointers[3];
              });
}

}  // namespace rill::ops
#endif
