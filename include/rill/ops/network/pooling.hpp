// What pooling operations share: the windows over images, and the call of a kernel.
#pragma once
#include "rill/dsl/expr.hpp"
#include "rill/ops/base/for_each_type.hpp"
#include "rill/ops/base/kernels.hpp"
#include "rill/ops/math/cast.hpp"
#include "rill/ops/network/window.hpp"

namespace rill {

/// The windows over an image: `max_pool<pooling{.window = {2, 2}}>(x)`. Lists have a number for height and one for
/// width; `pads` has top, bottom, left and right, for padding::given.
struct pooling {
  extents window{2, 2}, stride{};  ///< empty: the extents of the window, so that windows don't overlap
  padding pad = padding::valid;
  extents pads{};
  static constexpr auto fields(auto const& take) {
    return take(field{"window", &pooling::window}, field{"stride", &pooling::stride}, field{"pad", &pooling::pad},
                field{"pads", &pooling::pads});
  }
};

namespace ops {

/// A call of a pooling kernel on raw pointers: the images, another operand of the extents of the images or of the
/// windows, and the result.
struct pooling_call {
  std::int64_t batch, height, width, channels;
  std::int64_t window_height, window_width, out_height, out_width;
  std::int64_t stride_y, stride_x, top, left;
  bool count_padding;
  void const *x, *other;
  void* result;
  void* sums;  // memory for sums of 16-bit floats in float32, or null
};
struct pooling_table {
  std::array<void (*)(pooling_call const&, parallel const&), dtype_count> run{};
};

/// What operations over windows share. `How` describes the windows; `Op::run<T>` computes the operation for elements of
/// type T. Input 1 of an operation with `takes_windows` has an element for each window. An operation with
/// `adds_windows` adds up overlapping windows of 16-bit floats in float32.
template <class Op, class How = pooling> struct windowing {
  using attributes = How;
  using kernels = pooling_table;

  static constexpr sliding along(How const& a, std::size_t axis, checks expects = {}) {
    auto const window = pair_of(a.window, 2, 1, "pooling: windows must be two positive numbers", expects);
    auto const stride =
        a.stride.empty() ? window : pair_of(a.stride, 1, 1, "pooling: strides must be two positive numbers", expects);
    auto const pads = checked_pads(a.pad, a.pads, expects);
    for (std::size_t i = 0; i < 4; ++i)
      expects(pads[i] < window[i / 2], "pooling: the padding must be smaller than the window");
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
  template <dtypes Set> static constexpr pooling_table make_kernels();
  static kernel cpu(kernel_request const& r);
  static kernel make(kernel_request const& r, type const& x, type const& y);
};

}  // namespace ops
}  // namespace rill

#include "rill/ops/network/pooling.ipp"
