// What operations on images share: [height, width, channels], or [n, height, width, channels].
#pragma once
#include "rill/dsl/expr.hpp"

namespace rill::ops {

/// The extents of images, which are known.
struct image_extents {
  std::int64_t count = 1, height = 0, width = 0, channels = 0;

  explicit constexpr image_extents(type const& t) {
    if (t.rank == 4) count = t[0].extent;
    height = t[t.rank - 3u].extent, width = t[t.rank - 2u].extent, channels = t[t.rank - 1u].extent;
  }
};

/// Returns the type of images with another height and width. Fails with `why` if x can't be images.
constexpr type resized(type const& x, std::int64_t height, std::int64_t width, char const* why, checks expects = {}) {
  if (!x.has_rank() || height < 0 || width < 0 || !expects(x.rank == 3 || x.rank == 4, why)) return x;
  type y = x;
  y[y.rank - 3u] = height, y[y.rank - 2u] = width;
  return y;
}

}  // namespace rill::ops
