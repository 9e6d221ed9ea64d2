// A number of epochs.
#pragma once
#include <cstdint>

namespace rill {

/// How many times all examples are read.
struct epochs {
  std::int64_t count;
  constexpr explicit epochs(std::int64_t n) : count(n) {}
};

}  // namespace rill
