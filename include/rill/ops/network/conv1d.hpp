// Convolutions of sequences.
#pragma once
#include "rill/ops/array/expand_dims.hpp"
#include "rill/ops/network/conv2d.hpp"

namespace rill {

/// Options of a convolution of sequences: `conv1d<convolution1d{.stride = 2}>(x, filter)`. For padding::given, `before`
/// and `after` are the zeros at both ends; `.pad = padding::given, .before = (width - 1) * dilation` makes it causal.
struct convolution1d {
  std::int64_t stride = 1, dilation = 1;
  padding pad = padding::same;
  std::int64_t before = 0, after = 0;

  /// Returns the options of the convolution of images of height 1. Throws error(invalid_argument) for zeros without
  /// padding::given.
  constexpr convolution of_images() const {
    bool const given = pad == padding::given;
    if (!given && (before != 0 || after != 0))
      throw error(code::invalid_argument, "conv1d: `before` and `after` need padding::given");
    return {{1, stride}, {1, dilation}, pad, given ? extents{0, 0, before, after} : extents{}};
  }
};

/// Returns the convolution of sequences [n, time, channels] with a filter [width, channels, out_channels]: [n,
/// out_time, out_channels].
template <convolution1d How = convolution1d{}, operand X, operand F> auto conv1d(X x, F filter) {
  constexpr auto how = How.of_images();
  return squeeze<1>(conv2d<how>(expand_dims<1>(x), expand_dims<0>(filter)));
}
/// Returns the same for options known only at run time.
inline value conv1d(value x, value filter, convolution1d const& how) {
  return squeeze(conv2d(expand_dims(x, 1), expand_dims(filter, 0), how.of_images()), 1);
}

}  // namespace rill
