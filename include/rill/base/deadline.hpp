// When a time is over.
#pragma once
#include <chrono>

namespace rill {

/// The point in time that is so far from now; no time is too long for that.
inline std::chrono::steady_clock::time_point deadline_after(std::chrono::nanoseconds time) {
  using clock = std::chrono::steady_clock;
  auto const now = clock::now();
  return time < clock::time_point::max() - now ? now + time : clock::time_point::max();
}

}  // namespace rill
