// The extents of a tensor, all of them known.
#pragma once
#include <cstdint>
#include <limits>

#include "rill/type/checks.hpp"
#include "rill/type/extents.hpp"

namespace rill {

/// The extents of a tensor; the empty list is the shape of a scalar.
struct shape : extents {
  using extents::extents;
  constexpr shape() = default;
  constexpr explicit shape(extents const& e) : extents(e) {}
  /// Returns the number of axes.
  constexpr std::size_t rank() const { return count; }
  friend constexpr bool operator==(shape const&, shape const&) = default;
};

/// Returns a * b for extents; throws error(invalid_argument) on overflow and if one is negative.
constexpr std::int64_t checked_product(std::int64_t a, std::int64_t b, checks expects = {}) {
  bool const fits = expects(a >= 0 && b >= 0, "an extent must not be negative") &&
                    expects(b == 0 || a <= std::numeric_limits<std::int64_t>::max() / b,
                            "the shape has more elements than 64 bits can count");
  return fits ? a * b : 0;
}

/// Returns the number of elements of a shape: 1 for a scalar, 0 if an extent is 0. The size in bytes of every element
/// type fits 64 bits, also for each part of the shape, because extents beside a 0 are checked, too; throws
/// error(invalid_argument) otherwise.
constexpr std::int64_t elements(extents const& s, checks expects = {}) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 16;
  std::int64_t product = 1;
  bool empty = false;
  for (auto e : s) {
    if (e == 0) empty = true;
    else product = checked_product(product, e, expects);
    expects(product <= most, "the shape has more elements than 64 bits can count");
  }
  return empty ? 0 : product;
}

}  // namespace rill
