// The kernels of conv2d and its derivatives.
#pragma once

#if RILL_KERNELS
#include "rill/ops/network/convolution_kernels.hpp"

namespace rill::ops {

constexpr rill::kernels::convolution_shape shape_of(convolution_call const& c) {
  return {c.batch,        c.height,       c.width,      c.channels,   c.filter_height,
          c.filter_width, c.out_channels, c.out_height, c.out_width,  c.stride_y,
          c.stride_x,     c.top,          c.left,       c.dilation_y, c.dilation_x};
}

template <class Op> template <dtypes Set> constexpr convolution_table convolving<Op>::make_kernels() {
  convolution_table t;
  for_each_type<elements & Set>([&]<class T>(std::size_t d) {
    t.run[d] = Op::template run<T>;
    t.scratch[d] = Op::template scratch<T>;
  });
  return t;
}

template <class T> void conv2d_op::run(convolution_call const& c, parallel const& threads) {
  rill::kernels::convolve(shape_of(c), static_cast<T const*>(c.x), static_cast<T const*>(c.filter),
                          static_cast<T*>(c.y), c.scratch, threads);
}

template <class T> std::size_t conv2d_op::scratch(convolution_call const& c, int threads) {
  return rill::kernels::convolve_scratch_bytes<T>(shape_of(c), threads);
}

template <class T> void conv2d_input_gradient_op::run(convolution_call const& c, parallel const& threads) {
  rill::kernels::convolve_input_gradient(shape_of(c), static_cast<T const*>(c.filter), static_cast<T const*>(c.y),
                                         static_cast<T*>(c.x), c.scratch, threads);
}

template <class T> std::size_t conv2d_input_gradient_op::scratch(convolution_call const& c, int threads) {
  return rill::kernels::convolve_input_gradient_scratch_bytes<T>(shape_of(c), threads);
}

template <class T> void conv2d_filter_gradient_op::run(convolution_call const& c, parallel const& threads) {
  rill::kernels::convolve_filter_gradient(shape_of(c), static_cast<T const*>(c.x), static_cast<T const*>(c.y),
                                          static_cast<T*>(c.filter), c.scratch, threads);
}

template <class T> std::size_t conv2d_filter_gradient_op::scratch(convolution_call const& c, int threads) {
  return rill::kernels::convolve_filter_gradient_scratch_bytes<T>(shape_of(c), threads);
}

}  // namespace rill::ops
#endif

#if RILL_DEFINITIONS
namespace rill::ops {

template <class Op>
kernel convolving<Op>::make(kernel_request const& r, convolution const& a, type const& x, type const& filter,
                            type const& y, void (*place)(convolution_call&, kernel_call const&)) {
  auto const vertical = along(a, filter, 0), horizontal = along(a, filter, 1);
  convolution_call c{x[0].extent,
                     x[1].extent,
                     x[2].extent,
                     x[3].extent,
                     filter[0].extent,
                     filter[1].extent,
                     y[3].extent,
                     y[1].extent,
                     y[2].extent,
                     vertical.stride,
                     horizontal.stride,
                     vertical.first(x[1].extent),
                     horizontal.first(x[2].extent),
                     vertical.dilation,
                     horizontal.dilation,
                     nullptr,
                     nullptr,
                     nullptr,
                     nullptr};
  auto const bytes = r.outputs[0].bytes();
  if (rill::elements(x.shape()) == 0 || rill::elements(filter.shape()) == 0 || rill::elements(y.shape()) == 0)
    return kernel([bytes](kernel_call const& call) {
      if (bytes != 0) std::memset(call.out(0), 0, bytes);
    });
  auto const element = static_cast<std::size_t>(x.element);
  auto const& kernels = kernels_of<Op>(x.element);
  auto const run = kernels.run[element];
  return kernel(
      [=, threads = r.threads](kernel_call const& call) {
        auto with = c;
        place(with, call);
        with.scratch = call.scratch();
        parallel as_planned = call.threads;  // scratch has room for `threads`
        as_planned.threads = threads;
        run(with, as_planned);
      },
      kernels.scratch[element](c, r.threads));
}

inline kernel conv2d_op::cpu(kernel_request const& r) {
  return make(r, decode<convolution>(r.at.attributes), r.inputs[0], r.inputs[1], r.outputs[0],
              [](convolution_call& c, kernel_call const& call) {
                c.x = call.pointers[0];
                c.filter = call.pointers[1];
                c.y = call.pointers[2];
              });
}

inline kernel conv2d_input_gradient_op::cpu(kernel_request const& r) {
  return make(r, decode<convolution>(r.at.attributes), r.outputs[0], r.inputs[1], r.inputs[2],
              [](convolution_call& c, kernel_call const& call) {
                c.filter = call.pointers[1];
                c.y = call.pointers[2];
                c.x = call.pointers[3];
              });
}

inline kernel conv2d_filter_gradient_op::cpu(kernel_request const& r) {
  return make(r, decode<convolution>(r.at.attributes), r.inputs[0], r.outputs[0], r.inputs[2],
              [](convolution_call& c, kernel_call const& call) {
                c.x = call.pointers[0];
                c.y = call.pointers[2];
                c.filter = call.pointers[3];
              });
}

}  // namespace rill::ops
#endif
