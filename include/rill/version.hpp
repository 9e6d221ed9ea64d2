// Which rill this is. The build reads the numbers from here.
#pragma once
#include <compare>

#define RILL_VERSION_MAJOR 0
#define RILL_VERSION_MINOR 1
#define RILL_VERSION_PATCH 0

namespace rill {

/// A release: `major.minor.patch`; before 1.0 a new minor may change what programs see.
struct release {
  int major, minor, patch;
  friend constexpr auto operator<=>(release const&, release const&) = default;
};

/// The release that this unit was compiled with.
inline constexpr release version{RILL_VERSION_MAJOR, RILL_VERSION_MINOR, RILL_VERSION_PATCH};

}  // namespace rill
