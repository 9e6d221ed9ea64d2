// How often examples are gone through.
#pragma once
#include <cstdint>

namespace rill {

/// How often all examples are gone through.
struct epochs {
  std::int64_t count;
  constexpr explicit epochs(std::int64_t n) : count(n) {}
};

}  // namespace rill
