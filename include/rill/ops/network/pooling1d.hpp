// Max and average pooling of sequences.
#pragma once
#include "rill/ops/array/expand_dims.hpp"
#include "rill/ops/network/avg_pool.hpp"
#include "rill/ops/network/max_pool.hpp"

namespace rill {

/// The windows over sequences: `max_pool1d<pooling1d{.window = 3, .stride = 2}>(x)`. For padding::given, `before` and
/// `after` are the padding at both ends.
struct pooling1d {
  std::int64_t window = 2, stride = 0;  ///< 0: the window, so that windows don't overlap
  padding pad = padding::valid;
  std::int64_t before = 0, after = 0;
  bool count_padding = false;  ///< avg_pool1d divides by the size of the whole window, including padding

  /// Returns the windows over images of height 1. Throws error(invalid_argument) for numbers without padding::given.
  constexpr average_pooling of_images() const {
    bool const given = pad == padding::given;
    if (!given && (before != 0 || after != 0))
      throw error(code::invalid_argument, "pooling1d: `before` and `after` need padding::given");
    return {{1, window},
            {1, stride == 0 ? window : stride},
            pad,
            given ? extents{0, 0, before, after} : extents{},
            count_padding};
  }
  /// Returns the same for max_pool.
  constexpr pooling of_largest() const {
    if (count_padding) throw error(code::invalid_argument, "max_pool1d: padding never counts");
    auto const same = of_images();
    return {same.window, same.stride, same.pad, same.pads};
  }
};

/// Returns the largest of each window of sequences [n, time, channels]: `max_pool1d(x)` (windows of 2, no padding).
template <pooling1d How = pooling1d{}, operand X> auto max_pool1d(X x) {
  constexpr auto how = How.of_largest();
  return squeeze<1>(max_pool<how>(expand_dims<1>(x)));
}
/// Returns the same for options known only at run time.
inline value max_pool1d(value x, pooling1d const& how) {
  return squeeze(max_pool(expand_dims(x, 1), how.of_largest()), 1);
}
/// Returns the mean of each window of sequences [n, time, channels]. Padding does not count unless `count_padding` is
/// set.
template <pooling1d How = pooling1d{}, operand X> auto avg_pool1d(X x) {
  constexpr auto how = How.of_images();
  return squeeze<1>(avg_pool<how>(expand_dims<1>(x)));
}
/// Returns the same for options known only at run time.
inline value avg_pool1d(value x, pooling1d const& how) {
  return squeeze(avg_pool(expand_dims(x, 1), how.of_images()), 1);
}

}  // namespace rill
