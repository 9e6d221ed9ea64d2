// What pooling operations share: how windows lie over images, and the call of a kernel.
#pragma once
#include "rill/dsl/expr.hpp"
#include "rill/ops/base/for_each_type.hpp"
#include "rill/ops/base/kernels.hpp"
#include "rill/ops/network/window.hpp"

#if RILL_KERNELS
#include "rill/ops/network/pooling_kernels.hpp"
#endif

namespace rill {

/// How windows lie over an image: `max_pool<pooling{.window = {2, 2}}>(x)`. Lists are of height and width; `pads` of
/// top, bottom, left and right, for padding::given.
struct pooling {
  extents window{2, 2}, stride{};  ///< no stride: the window's extents, so that windows don't overlap
  padding pad = padding::valid;
  extents pads{};
  static constexpr auto fields(auto const& take) {
    return take(field{"window", &pooling::window}, field{"stride", &pooling::stride}, field{"pad", &pooling::pad},
                field{"pads", &pooling::pads});
  }
};

namespace ops {

/// Windows on raw pointers: the images, one operand of the windows' extents or the images', and a result of the other.
struct pooling_call {
  std::int64_t batch, height, width, channels;
  std::int64_t window_height, window_width, out_height, out_width;
  std::int64_t stride_y, stride_x, top, left;
  bool count_padding;
  void const *x, *other;
  void* result;
};
struct pooling_table {
  std::array<void (*)(pooling_call const&, parallel const&), dtype_count> run{};
};

/// What operations over windows share: `How` says how these lie, and Op's `run<T>` computes one for elements of type T.
template <class Op, class How = pooling> struct windowing {
  using attributes = How;
  using kernels = pooling_table;

  static constexpr sliding along(How const& a, std::size_t axis, checks expects = {}) {
    auto const window = pair_of(a.window, 2, 1, "pooling: a window is two numbers from 1 on", expects);
    auto const stride =
        a.stride.empty() ? window : pair_of(a.stride, 1, 1, "pooling: a stride is two numbers from 1 on", expects);
    auto const pads = checked_pads(a.pad, a.pads, expects);
    for (std::size_t i = 0; i < 4; ++i)
      expects(pads[i] < window[i / 2],
              "pooling: a padding is as large as the window, which would lie beyond the image");
    return {window[axis], stride[axis], 1, a.pad, pads[2 * axis], pads[2 * axis + 1]};
  }
  static constexpr type result(How const& a, type const& x, checks expects = {}) {
    expects(!x.has_rank() || x.rank == 4, "pooling: the image is not of rank 4: [batch, height, width, channels]");
    type y{x.element, {unknown, unknown, unknown, unknown}};
    for (std::size_t i = 0; i < 2; ++i) {
      auto const windows = along(a, i, expects);
      if (x.has_rank())
        y[i + 1] = windows.windows(x[i + 1], true, "pooling: the window is larger than the padded image", expects);
    }
    if (x.has_rank()) y[0] = x[0], y[3] = x[3];
    return y;
  }
#if RILL_KERNELS
  static constexpr rill::kernels::pooling_shape shape_of(pooling_call const& c) {
    return {c.batch,      c.height,    c.width,    c.channels, c.window_height, c.window_width,
            c.out_height, c.out_width, c.stride_y, c.stride_x, c.top,           c.left};
  }
  template <dtypes Set> static constexpr pooling_table make_kernels() {
    pooling_table t;
    for_each_type<Op::elements & Set>([&]<class T>(std::size_t d) { t.run[d] = Op::template run<T>; });
    return t;
  }
#endif
#if RILL_DEFINITIONS
  static kernel make(kernel_request const& r, type const& x, type const& y) {
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
                   nullptr};
    if constexpr (requires { a.count_padding; }) c.count_padding = a.count_padding;
    if (rill::elements(r.outputs[0].shape()) == 0) return kernel([](kernel_call const&) {});
    auto const run = kernels_of<Op>(x.element).run[static_cast<std::size_t>(x.element)];
    return kernel([=](kernel_call const& call) {
      auto with = c;
      with.x = call.in(0);
      with.other = call.inputs > 1 ? call.in(1) : nullptr;
      with.result = call.out(0);
      run(with, call.threads);
    });
  }
#endif
};

}  // namespace ops
}  // namespace rill
