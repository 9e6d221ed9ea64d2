// The version of rill. The build reads the numbers from here.
#pragma once
#include <compare>

#define RILL_VERSION_MAJOR 0
#define RILL_VERSION_MINOR 1
#define RILL_VERSION_PATCH 0

namespace rill {

/// A release, `major.minor.patch`. Before 1.0 a new minor version may change interfaces.
struct release {
  int major, minor, patch;
  friend constexpr auto operator<=>(release const&, release const&) = default;
};

/// The release with which this translation unit was compiled.
inline constexpr release version{RILL_VERSION_MAJOR, RILL_VERSION_MINOR, RILL_VERSION_PATCH};

}  // namespace rill
