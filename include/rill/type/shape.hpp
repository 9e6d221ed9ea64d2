// The extents of a tensor that exists: all known.
#pragma once
#include <cstdint>
#include <limits>

#include "rill/type/extents.hpp"

namespace rill {

/// The extents of a tensor; the empty list is a scalar.
struct shape : extents {
  using extents::extents;
  constexpr shape() = default;
  constexpr explicit shape(extents const& e) : extents(e) {}
  /// Returns the number of axes.
  constexpr std::size_t rank() const { return count; }
  friend constexpr bool operator==(shape const&, shape const&) = default;
};

/// a * b for extents; an error rather than a wrapped number. Neither may be negative.
constexpr std::int64_t checked_product(std::int64_t a, std::int64_t b) {
  expects(a >= 0 && b >= 0, "an extent is negative");
  expects(b == 0 || a <= std::numeric_limits<std::int64_t>::max() / b,
          "the elements of the shape are more than can be counted");
  return a * b;
}

/// How many elements a shape has: 1 for a scalar, 0 if any extent is 0. Whatever the element type, their bytes can be
/// counted, and so can those of every part of the shape: extents that are not 0 are multiplied beside one that is, too.
constexpr std::int64_t elements(extents const& s) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 16;
  std::int64_t product = 1;
  bool none = false;
  for (auto e : s) {
    if (e == 0) none = true;
    else product = checked_product(product, e);
    expects(product <= most, "the elements of the shape are more than can be counted");
  }
  return none ? 0 : product;
}

}  // namespace rill
