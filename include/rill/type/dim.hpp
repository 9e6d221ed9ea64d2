// One extent of a shape: a number, a named axis, or unknown.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "rill/base/error.hpp"

namespace rill {

/// An extent, a named axis (any extent, but one for the whole step; at most 11 characters), or unknown. Characters
/// rather than packed bits, so that compilers print the name.
struct dim {
  std::int64_t extent = 0;
  char name[12] = {};

  constexpr dim() = default;
  /// A number, or -1 for unknown; error(invalid_argument) for any other negative number and for those beyond int64.
  template <std::integral Integer> constexpr dim(Integer e) : extent(static_cast<std::int64_t>(e)) {
    expects(extent >= 0 || (extent == -1 && std::is_signed_v<Integer>),
            "an extent is negative, and not -1 (rill::unknown) for one that only the run will know");
  }
  template <std::size_t N>
    requires(N > 1 && N <= 12)
  constexpr dim(char const (&axis)[N]) : extent(-1) {
    for (std::size_t i = 0; i < N; ++i) name[i] = axis[i];
  }

  constexpr bool known() const { return extent >= 0; }
  constexpr bool named() const { return name[0] != '\0'; }
  std::string text() const { return known() ? std::to_string(extent) : named() ? std::string(name) : "?"; }
  friend constexpr bool operator==(dim const&, dim const&) = default;
};

/// An extent that only the run will know.
inline constexpr dim unknown{-1};

/// Whether two extents may turn out equal.
constexpr bool may_equal(dim const& a, dim const& b) { return !a.known() || !b.known() || a.extent == b.extent; }

}  // namespace rill
