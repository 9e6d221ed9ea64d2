// Allocations and starts of threads that fail: the n-th of them, or all from the n-th on.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace rill::faults {

enum class what { memory, threads };

/// How often memory (or a thread) was asked for since `arm`, and from which time on there is none.
struct plan {
  std::int64_t first = 0;  ///< 0: none fails
  bool all = false;        ///< those that follow fail as well
};

/// From now on it fails so, in all threads of the program. Memory is that of operator new.
void arm(what kind, plan p);
/// No more; how often it was asked for.
std::int64_t disarm(what kind);

bool start_fails();

}  // namespace rill::faults
