// The kernels of pooling.
#pragma once

#if RILL_KERNELS
#include "rill/ops/network/pooling_kernels.hpp"

namespace rill::ops {

constexpr rill::kernels::pooling_shape shape_of(pooling_call const& c) {
  return {c.batch,      c.height,    c.width,    c.channels, c.window_height, c.window_width,
          c.out_height, c.out_width, c.stride_y, c.stride_x, c.top,           c.left};
}

template <class Op, class How> template <dtypes Set> constexpr pooling_table windowing<Op, How>::make_kernels() {
  pooling_table t;
  for_each_type<Op::elements & Set>([&]<class T>(std::size_t d) { t.run[d] = Op::template run<T>; });
  return t;
}

}  // namespace rill::ops
#endif

#if RILL_DEFINITIONS
namespace rill::ops {

template <class Op, class How> kernel windowing<Op, How>::cpu(kernel_request const& r) {
  if constexpr (requires { Op::takes_windows; }) return make(r, r.inputs[0], r.inputs[1]);
  else return make(r, r.inputs[0], r.outputs[0]);
}

template <class Op, class How> kernel windowing<Op, How>::make(kernel_request const& r, type const& x, type const& y) {
  auto const a = decode<How>(r.at.attributes);
  auto const vertical = along(a, 0), horizontal = along(a, 1);
  pooling_call c{x[0].extent,
                 x[1].extent,
                 x[2].extent,
                 x[3].extent,
                 vertical.window,
                 horizontal.window,
                 y[1].extent,
                 y[2].extent,
                 vertical.stride,
                 horizontal.stride,
                 vertical.first(x[1].extent),
                 horizontal.first(x[2].extent),
                 false,
                 nullptr,
                 nullptr,
                 nullptr,
                 nullptr};
  if constexpr (requires { a.count_padding; }) c.count_padding = a.count_padding;
  if (rill::elements(r.outputs[0].shape()) == 0) return kernel([](kernel_call const&) {});
  auto const run = kernels_of<Op>(x.element).run[static_cast<std::size_t>(x.element)];
  std::size_t sums = 0;  // bytes
  if constexpr (requires { Op::adds_windows; })
    if (bool const overlap = vertical.stride < vertical.window || horizontal.stride < horizontal.window;
        overlap && rill::detail::wide_element(x.element) != x.element)
      sums = static_cast<std::size_t>(rill::elements(x.shape())) * sizeof(float);
  return kernel(
      [=](kernel_call const& call) {
        auto with = c;
        with.x = call.in(0);
        with.other = call.inputs > 1 ? call.in(1) : nullptr;
        with.result = call.out(0);
        with.sums = sums != 0 ? call.scratch() : nullptr;
        run(with, call.threads);
      },
      sums);
}

}  // namespace rill::ops
#endif
