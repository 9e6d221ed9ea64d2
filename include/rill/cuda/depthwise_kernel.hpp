// Convolutions of each channel by itself as kernels of a GPU.
#pragma once
#include <string>

#include "rill/cuda/convolution_node.hpp"
#include "rill/cuda/gpu_device.hpp"

namespace rill::cuda {

/// Returns the text of a kernel `convolve`, which computes a part of y = x * filter for each channel by itself. Its
/// parameters are the addresses of the two operands and of the result, a window_form, and for derivatives the numbers
/// that text/depthwise.cuh describes. The result has the sums of each part of the batch if `apart`.
std::string depthwise_text(convolution_part part, convolution_numbers numbers, bool apart);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>

#include "rill/cuda/launch.hpp"
#include "rill/device/kernel.hpp"
#include "rill/ops/network/depthwise_kernels.hpp"

namespace rill::cuda {

namespace detail {

/// The derivative of a depthwise convolution with respect to its filter, in parts of the batch.
class bound_depthwise_filter {
 public:
  bound_depthwise_filter(gpu_device const& on, convolution_numbers numbers, convolution_shape const& s)
      : on_(on),
        windows_(windows_of(s)),
        size_(s.elements()),
        images_of_part_(rill::kernels::detail::images_of_part(s)),
        parts_(s.batch == 0 ? 1 : rill::kernels::detail::filter_parts(s)),
        run_(on.find(depthwise_text(convolution_part::filter_gradient, numbers, parts_ > 1), "convolve")) {
    if (parts_ == 1) return;
    add_ = on.find(add_pieces_text(numbers.element), "add_pieces");
    scratch_ = static_cast<std::size_t>(parts_ * size_) * sum_bytes(numbers.element);
  }

  std::size_t scratch() const { return scratch_; }
  void operator()(void* images, void* change, void* filter, void* scratch) const {
    launch(on_, *run_, blocks_for((size_ + 31) / 32 * parts_, 1, 256), images, change, add_ ? scratch : filter,
           windows_, images_of_part_);
    if (add_)
      launch(on_, *add_, on_.shape_for(static_cast<std::size_t>(size_)), scratch, filter, size_, parts_,
             std::int64_t{1});
  }

 private:
  gpu_device const& on_;
  window_form windows_;
  std::int64_t size_, images_of_part_, parts_;
  std::size_t scratch_ = 0;
  std::shared_ptr<gpu_device::function const> run_, add_;
};

inline kernel depthwise_kernel(gpu_device const& on, convolution_numbers numbers, convolution_node const& n) {
  auto const s = n.shape();
  if (n.part == convolution_part::filter_gradient) {
    bound_depthwise_filter run(on, numbers, s);
    auto const bytes = run.scratch();
    return kernel([=](kernel_call const& call) { run(n.x.in(call), n.y.in(call), n.filter.in(call), call.scratch()); },
                  bytes);
  }
  auto const how =
      on.shape_for(static_cast<std::size_t>(elements((n.part == convolution_part::result ? n.y : n.x).type.shape())));
  auto const windows = windows_of(s);
  auto const run = on.find(depthwise_text(n.part, numbers, false), "convolve");
  if (n.part == convolution_part::result)
    return kernel([&on, n, how, windows, run](kernel_call const& call) {
      launch(on, *run, how, n.x.in(call), n.filter.in(call), n.y.in(call), windows);
    });
  auto const tap_row = s.stride_y / std::gcd(s.stride_y, s.dilation_y);
  auto const tap_column = s.stride_x / std::gcd(s.stride_x, s.dilation_x);
  return kernel([&on, n, how, windows, run, tap_row, tap_column](kernel_call const& call) {
    launch(on, *run, how, n.filter.in(call), n.y.in(call), n.x.in(call), windows, tap_row, tap_column);
  });
}

}  // namespace detail

RILL_CUDA_INLINE std::string depthwise_text(convolution_part part, convolution_numbers numbers, bool apart) {
  auto const in = name_in_text(numbers.element), out = detail::result_in_text(numbers.element, apart);
  std::string what = "convolve_channels<", types = in, parameters, arguments;
  if (part == convolution_part::images_gradient) {
    what = "convolve_channels_for_images<";
    parameters = ", long tap_row, long tap_column", arguments = ", tap_row, tap_column";
  } else if (part == convolution_part::filter_gradient) {
    what = "convolve_channels_for_filter<", types += ", " + out;
    parameters = ", long images_of_part", arguments = ", images_of_part";
  }
  return "#include \"rill/cuda/text/depthwise.cuh\"\n" +
         kernel_in_text("convolve(rill::text::global<" + in + " const> a, rill::text::global<" + in +
                            " const> b, rill::text::global<" + out +
                            "> result, __grid_constant__ rill::cuda::window_form const windows" + parameters + ")",
                        "rill::text::" + what + signed_counter_in_text(numbers.wide) + ", " + types +
                            ">(a, b, result, windows" + arguments + ");");
}

}  // namespace rill::cuda
#endif
