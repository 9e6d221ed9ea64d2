// Convolutions of images and their derivatives as kernels of a GPU.
#pragma once
#include <optional>
#include <span>

#include "rill/cuda/convolution_products.hpp"
#include "rill/cuda/depthwise_kernel.hpp"
#include "rill/device/device.hpp"
#include "rill/graph/kernel_request.hpp"

namespace rill::cuda {

/// Returns the kernel of a node that convolution_kernel_of has a factory for. Its extents make these choices, unless
/// they are given.
kernel convolution_kernel(kernel_request const& r, std::optional<convolution_choices> const& choices = {});

/// Returns the factory of a convolution's kernel; null: the operation is another one, or its elements are no floats.
kernel_factory convolution_kernel_of(op_def const& op, std::span<type const> inputs);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include "rill/cuda/launch.hpp"
#include "rill/cuda/operation_table.hpp"
#include "rill/graph/op_def.hpp"
#include "rill/ops/network/depthwise_conv2d.hpp"

namespace rill::cuda {

namespace detail {

/// How an operation is a convolution; null: it is none.
struct convolution_operation {
  convolution_node (*node)(kernel_request const&) = nullptr;
  bool by_channels = false;
};
inline convolution_operation find_convolution(op_def const& op) {
  static operation_table<convolution_operation> const all{
      {&definition<ops::conv2d_op>(), {result_node}},
      {&definition<ops::conv2d_input_gradient_op>(), {images_gradient_node}},
      {&definition<ops::conv2d_filter_gradient_op>(), {filter_gradient_node}},
      {&definition<ops::conv2d_transpose_op>(), {transposed_node}},
      {&definition<ops::depthwise_conv2d_op>(), {result_node, true}},
      {&definition<ops::depthwise_conv2d_input_gradient_op>(), {images_gradient_node, true}},
      {&definition<ops::depthwise_conv2d_filter_gradient_op>(), {filter_gradient_node, true}}};
  return all.find(op);
}

}  // namespace detail

RILL_CUDA_INLINE kernel convolution_kernel(kernel_request const& r, std::optional<convolution_choices> const& choices) {
  if (elements(r.outputs[0].shape()) == 0) return empty_kernel();
  auto const what = detail::find_convolution(*r.at.op);
  auto const& on = static_cast<gpu_device const&>(*r.on);
  auto const n = what.node(r);
  bool const wide = choices ? choices->wide : detail::needs_wide_counters(n.shape());
  convolution_numbers const numbers{r.outputs[0].element, wide};
  return what.by_channels ? detail::depthwise_kernel(on, numbers, n)
                          : detail::kernel_of_products(on, numbers, n, choices);
}

RILL_CUDA_INLINE kernel_factory convolution_kernel_of(op_def const& op, std::span<type const> inputs) {
  // The first operands may only give extents; the last one has elements of the result's type.
  bool const floats = !inputs.empty() && dtypes::floats.contains(inputs.back().element);
  if (!floats || !detail::find_convolution(op).node) return nullptr;
  return [](kernel_request const& r) { return convolution_kernel(r); };
}

}  // namespace rill::cuda
#endif
