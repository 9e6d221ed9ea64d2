// Pooling of images, and its derivatives, as kernels of a GPU.
#pragma once
#include <string>
#include <string_view>

#include "rill/cuda/gpu_device.hpp"
#include "rill/cuda/image_kernel.hpp"
#include "rill/graph/kernel_request.hpp"

namespace rill::cuda {

/// Returns the text of a kernel `pool`, which calls a function of window.cuh. Sizes and positions are 64 bits wide if
/// `wide`, else 32.
std::string pool_text(std::string_view function, dtype element, bool wide);

/// Return the kernels of these operations.
kernel max_pool_kernel(kernel_request const& r);
kernel max_pool_gradient_kernel(kernel_request const& r);
kernel max_pool_pick_kernel(kernel_request const& r);
kernel avg_pool_kernel(kernel_request const& r);
kernel avg_pool_gradient_kernel(kernel_request const& r);

/// Returns the factory of the kernel of an operation on images that isn't elementwise; null: it is another operation.
kernel_factory window_kernel_of(op_def const& op);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "rill/cuda/launch.hpp"
#include "rill/cuda/operation_table.hpp"
#include "rill/cuda/text_parts.hpp"
#include "rill/graph/op_def.hpp"
#include "rill/ops/network/avg_pool.hpp"
#include "rill/ops/network/max_pool.hpp"

namespace rill::cuda {

namespace detail {

using windows_of_numbers = image_windows<std::int64_t>;
using bound_pool = bound_images<windows_of_numbers>;

/// The windows of an operation over images of type x. Each becomes a pixel of y.
struct pool_shape {
  windows_of_numbers windows;
  bool wide;

  /// Returns a kernel that calls a function of window.cuh, and whose results have the type `result`.
  bound_pool kernel_of(gpu_device const& on, std::string_view function, type const& result) const {
    return bound_pool(on, pool_text(function, result.element, wide), "pool", elements(result.shape()), windows, wide);
  }
};

template <class Op> pool_shape pool_shape_of(kernel_request const& r, type const& x, type const& y) {
  auto const a = decode<typename Op::attributes>(r.at.attributes);
  std::int64_t most = larger_count(x, y);
  auto const axis = [&](std::size_t i) -> window_axis<std::int64_t> {
    auto const along = Op::along(a, i);
    auto const pixels = x[i + 1].extent, before = along.first(pixels);
    most = std::max(most, (y[i + 1].extent + 1) * along.stride + before + along.window + pixels);
    return {along.window, along.stride, before};
  };
  pool_shape s{{images_of(x), images_of(y), axis(0), axis(1), false}, false};
  if constexpr (requires { a.count_padding; }) s.windows.counts_padding = a.count_padding;
  s.wide = bound_pool::is_wide(most);
  return s;
}

/// Returns the kernel of an operation that a function of window.cuh of the same name computes. The function reads the
/// last `Inputs` inputs.
template <class Op, std::size_t Inputs> kernel pool_kernel(kernel_request const& r, type const& x, type const& y) {
  auto const& result = r.outputs[0];
  auto const shape = pool_shape_of<Op>(r, x, y);
  if (elements(result.shape()) == 0) return empty_kernel();
  return kernel(
      [run = shape.kernel_of(static_cast<gpu_device const&>(*r.on), Op::name, result)](kernel_call const& call) {
        auto const* const first = call.pointers + call.inputs - Inputs;
        if constexpr (Inputs == 1) run(first[0], first[1]);
        else run(first[0], first[1], first[2]);
      });
}

}  // namespace detail

RILL_CUDA_INLINE std::string pool_text(std::string_view function, dtype element, bool wide) {
  std::string const places = "global<counter const> places, ", x = "global<element const> x, ";
  std::string parameters = x + "global<element> y", arguments = "x, y";
  if (function == "max_pool_places") parameters = x + "global<counter> y";
  if (function == "max_pool_gradient") parameters = places + parameters, arguments = "places, x, y";
  if (function == "max_pool_pick")
    parameters = x + "global<element const> from, global<element> y", arguments = "x, from, y";
  return text_head("window.cuh") + "using element = " + name_in_text(element) +
         ";\nusing counter = " + signed_counter_in_text(wide) + ";\n" +
         kernel_in_text("pool(" + parameters + ", counter n, image_windows<counter> w)",
                        std::string(function) + "(" + arguments + ", n, w);");
}

RILL_CUDA_INLINE kernel max_pool_kernel(kernel_request const& r) {
  return detail::pool_kernel<ops::max_pool_op, 1>(r, r.inputs[0], r.outputs[0]);
}
RILL_CUDA_INLINE kernel max_pool_pick_kernel(kernel_request const& r) {
  return detail::pool_kernel<ops::max_pool_pick_op, 2>(r, r.inputs[0], r.outputs[0]);
}
RILL_CUDA_INLINE kernel avg_pool_kernel(kernel_request const& r) {
  return detail::pool_kernel<ops::avg_pool_op, 1>(r, r.inputs[0], r.outputs[0]);
}
RILL_CUDA_INLINE kernel avg_pool_gradient_kernel(kernel_request const& r) {
  return detail::pool_kernel<ops::avg_pool_gradient_op, 1>(r, r.outputs[0], r.inputs[1]);
}

// The largest pixel of each window is found once, not by each pixel in it.
RILL_CUDA_INLINE kernel max_pool_gradient_kernel(kernel_request const& r) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  auto const &x = r.inputs[0], &dy = r.inputs[1];
  auto const shape = detail::pool_shape_of<ops::max_pool_gradient_op>(r, x, dy);
  if (elements(x.shape()) == 0) return empty_kernel();
  return kernel(
      [find = shape.kernel_of(on, "max_pool_places", dy),
       add = shape.kernel_of(on, "max_pool_gradient", x)](kernel_call const& call) {
        void* const places = call.scratch();
        find(call.pointers[0], places);
        add(places, call.pointers[1], call.pointers[2]);
      },
      static_cast<std::size_t>(elements(dy.shape())) * (shape.wide ? 8 : 4));
}

RILL_CUDA_INLINE kernel_factory window_kernel_of(op_def const& op) {
  static operation_table<kernel_factory> const all{{&definition<ops::max_pool_op>(), max_pool_kernel},
                                                   {&definition<ops::max_pool_gradient_op>(), max_pool_gradient_kernel},
                                                   {&definition<ops::max_pool_pick_op>(), max_pool_pick_kernel},
                                                   {&definition<ops::avg_pool_op>(), avg_pool_kernel},
                                                   {&definition<ops::avg_pool_gradient_op>(), avg_pool_gradient_kernel},
                                                   {&definition<ops::resize_nearest_op>(), resize_nearest_kernel},
                                                   {&definition<ops::resize_bilinear_op>(), resize_bilinear_kernel},
                                                   {&definition<ops::resize_gradient_op>(), resize_gradient_kernel},
                                                   {&definition<ops::crop_op>(), crop_kernel},
                                                   {&definition<ops::crop_gradient_op>(), crop_gradient_kernel}};
  return all.find(op);
}

}  // namespace rill::cuda
#endif
