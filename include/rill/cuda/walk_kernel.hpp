// Operations that go through an axis, element by element, as kernels of a GPU: cumsum, cumprod, delayed and
// linear_recurrence.
#pragma once
#include <string>
#include <string_view>

#include "rill/cuda/gpu_device.hpp"
#include "rill/graph/kernel_request.hpp"

namespace rill::cuda {

/// Returns the text of a kernel `along`, which goes through an axis element by element. `so_far` is the struct of
/// walks.cuh that holds the value so far; `has_factors` says that the first of two inputs has factors.
std::string walk_text(std::string_view so_far, dtype element, bool has_factors);

/// Return the kernels of these operations, of real numbers.
kernel cumsum_kernel(kernel_request const& r);
kernel cumprod_kernel(kernel_request const& r);
kernel delayed_kernel(kernel_request const& r);
kernel linear_recurrence_kernel(kernel_request const& r);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <cstdint>
#include <memory>

#include "rill/cuda/launch.hpp"
#include "rill/cuda/text_parts.hpp"
#include "rill/ops/reduction/cumprod.hpp"

namespace rill::cuda {

namespace detail {

/// A function of walks.cuh that is bound to extents.
class bound_walk {
 public:
  bound_walk(gpu_device const& on, std::string_view what, bool has_factors, dtype element, ops::axis_walk const& w)
      : on_(on), walk_(w) {
    // Where columns lie side by side a thread has one, else a warp has a line.
    how_ = w.inner > 1 ? blocks_for(w.outer * w.inner, 64, 64) : blocks_for(w.outer, 2, 64);
    run_ = on.find(walk_text(what, element, has_factors), "along");
  }

  template <class... A> void operator()(A... addresses) const {
    launch(on_, *run_, how_, addresses..., walk_.outer, walk_.length, walk_.inner, std::int32_t{walk_.exclusive},
           std::int32_t{walk_.reverse}, std::int32_t{walk_.lagged});
  }

 private:
  gpu_device const& on_;
  ops::axis_walk walk_;
  gpu_device::launch_shape how_{};
  std::shared_ptr<gpu_device::function const> run_;
};

template <class Op>
kernel walk_kernel(kernel_request const& r, std::string_view what, std::int64_t along, ops::axis_walk w) {
  auto const x = r.inputs[0].shape();
  auto const axis = checked_axis(along, x.rank(), Op::no_axis);
  w.length = x[axis];
  for (std::size_t i = 0; i < x.rank(); ++i)
    if (i != axis) (i < axis ? w.outer : w.inner) *= x[i];
  if (rill::elements(x) == 0) return empty_kernel();
  bool const has_factors = r.inputs.size() == 2;
  bound_walk const run(static_cast<gpu_device const&>(*r.on), what, has_factors, r.inputs[0].element, w);
  return kernel([=](kernel_call const& call) {
    if (has_factors) run(call.pointers[0], call.pointers[1], call.pointers[2]);
    else run(call.pointers[0], call.pointers[1]);
  });
}

}  // namespace detail

RILL_CUDA_INLINE std::string walk_text(std::string_view so_far, dtype element, bool has_factors) {
  auto const t = name_in_text(element), from = "global<" + t + " const> ";
  return text_head("walks.cuh") +
         kernel_in_text("along(" + (has_factors ? from + "a, " : "") + from + "b, global<" + t +
                            "> y, long outer, long length, long inner, int exclusive, int reverse, int lagged)",
                        "go_along<" + std::string(so_far) + ", " + t + ">(" + (has_factors ? "a" : "nullptr") +
                            ", b, y, {outer, length, inner, exclusive != 0, reverse != 0, lagged != 0});");
}

RILL_CUDA_INLINE kernel cumsum_kernel(kernel_request const& r) {
  auto const a = decode<ops::along_axis>(r.at.attributes);
  return detail::walk_kernel<ops::cumsum_op>(r, "sums", a.axis, {.exclusive = a.exclusive, .reverse = a.reverse});
}
RILL_CUDA_INLINE kernel cumprod_kernel(kernel_request const& r) {
  auto const a = decode<ops::along_axis>(r.at.attributes);
  return detail::walk_kernel<ops::cumprod_op>(r, "products", a.axis, {.exclusive = a.exclusive, .reverse = a.reverse});
}
RILL_CUDA_INLINE kernel delayed_kernel(kernel_request const& r) {
  auto const a = decode<ops::along_axis>(r.at.attributes);
  return detail::walk_kernel<ops::delayed_op>(r, "delay", a.axis, {.reverse = a.reverse});
}
RILL_CUDA_INLINE kernel linear_recurrence_kernel(kernel_request const& r) {
  auto const a = decode<ops::recurrence_axis>(r.at.attributes);
  return detail::walk_kernel<ops::linear_recurrence_op>(r, "recurrence", a.axis,
                                                        {.reverse = a.reverse, .lagged = a.lagged});
}

}  // namespace rill::cuda
#endif
