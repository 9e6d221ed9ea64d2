// One extent of a type: a number, a named axis, or unknown.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "rill/base/error.hpp"

namespace rill {

/// A known extent, a named axis (any extent, but the same one throughout a step; at most 11 characters), or unknown.
/// The name is an array of characters, so that compilers print it.
struct dim {
  std::int64_t extent = 0;
  char name[12] = {};

  constexpr dim() = default;
  /// A known extent, or -1 for unknown; throws error(invalid_argument) for other negative numbers and for numbers
  /// beyond int64.
  template <std::integral Integer> constexpr dim(Integer e) : extent(static_cast<std::int64_t>(e)) {
    expects(extent >= 0 || (extent == -1 && std::is_signed_v<Integer>),
            "an extent must be 0 or more, or -1 (rill::unknown) if it is known only at run time");
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

/// An extent that is known only at run time.
inline constexpr dim unknown{-1};

/// Whether two extents can be equal at run time.
constexpr bool may_equal(dim const& a, dim const& b) { return !a.known() || !b.known() || a.extent == b.extent; }

}  // namespace rill
