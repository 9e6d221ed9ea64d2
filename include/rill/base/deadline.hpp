// Deadlines.
#pragma once
#include <chrono>

namespace rill {

/// Returns the point in time `time` from now, or the latest that the clock can represent.
inline std::chrono::steady_clock::time_point deadline_after(std::chrono::nanoseconds time) {
  using clock = std::chrono::steady_clock;
  auto const now = clock::now();
  return time < clock::time_point::max() - now ? now + time : clock::time_point::max();
}

}  // namespace rill
