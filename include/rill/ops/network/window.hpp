// Sliding windows over an image: strides, padding and the resulting extents.
#pragma once
#include "rill/type/type.hpp"

namespace rill {

/// The padding of an image: as much as makes ceil(extent / stride) windows, half of it before and the larger half after
/// the image; none; or as much as `pads` says.
enum class padding : std::uint8_t { same, valid, given };

namespace ops {

/// How windows lie along one axis.
struct sliding {
  std::int64_t window = 1, stride = 1, dilation = 1;
  padding pad = padding::same;
  std::int64_t before = 0, after = 0;  ///< given padding

  /// Returns the extent of a window with its dilation, in pixels.
  constexpr std::int64_t reach() const { return (window - 1) * dilation + 1; }
  /// Returns the number of windows over an extent. Fails with `why` if the window is larger than the padded image.
  constexpr std::int64_t count(std::int64_t extent, char const* why, checks expects = {}) const {
    if (!expects(extent <= INT64_MAX / 4, "an extent is too large for sliding windows")) return 0;
    if (pad == padding::same) return extent / stride + (extent % stride != 0);
    auto const padded = extent + (pad == padding::given ? before + after : 0);
    if (!expects(padded >= reach(), why)) return 0;
    return (padded - reach()) / stride + 1;
  }
  /// Returns the padding before the first pixel.
  constexpr std::int64_t first(std::int64_t extent) const {
    if (pad != padding::same) return pad == padding::given ? before : 0;
    auto const windows = extent / stride + (extent % stride != 0);
    auto const total = (windows - 1) * stride + reach() - extent;
    return windows == 0 || total < 0 ? 0 : total / 2;
  }
  /// Returns the number of windows, unknown if the extent is. A named axis keeps its name if the windows don't change
  /// its extent.
  constexpr dim windows(dim extent, bool window_known, char const* why, checks expects = {}) const {
    if (pad == padding::same && stride == 1) return extent;
    if (!extent.known() || (!window_known && pad != padding::same)) return unknown;
    return count(extent.extent, why, expects);
  }
};

/// Returns a list of two numbers for height and width, each in [least, 2^31); `otherwise` for both if the list is
/// empty or refused.
constexpr extents pair_of(extents const& given, std::int64_t otherwise, std::int64_t least, char const* why,
                          checks expects = {}) {
  if (given.empty()) return extents{otherwise, otherwise};
  if (!expects(given.size() == 2, why)) return extents{otherwise, otherwise};
  for (auto v : given)
    if (!expects(v >= least && v <= INT32_MAX, why)) return extents{otherwise, otherwise};
  return given;
}

/// Returns the padding at top, bottom, left and right.
constexpr extents checked_pads(padding pad, extents const& pads, checks expects = {}) {
  expects(pad == padding::same || pad == padding::valid || pad == padding::given,
          "unknown padding (same, valid, given)");
  expects((pad == padding::given) == !pads.empty(), "`pads` must be set if, and only if, `pad` is padding::given");
  extents const none{0, 0, 0, 0};
  if (pads.empty() || !expects(pads.size() == 4, "`pads` must have four numbers: top, bottom, left and right"))
    return none;
  for (auto p : pads)
    if (!expects(p >= 0 && p <= INT32_MAX, "a padding is negative, or too large")) return none;
  return pads;
}

}  // namespace ops
}  // namespace rill
