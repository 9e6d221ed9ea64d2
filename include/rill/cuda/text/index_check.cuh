// Indices out of range: kernels leave the position of the first one in memory, where the host reads it.
#pragma once
#include "rill/cuda/text/global.cuh"
#include "rill/cuda/text/threads.cuh"

namespace rill::text {

/// The least position of a bad index; the largest number if there is none.
using bad_position = unsigned long long;

/// Prepares the memory of a check.
inline void begin_check(global<bad_position> first) { *first = ~bad_position(0); }

/// Leaves a position if it is the least so far. Only bad indices cost something.
inline void note_bad(global<bad_position> first, bad_position at) { atomicMin(&*first, at); }

/// Checks that n indices lie in [0, extent).
template <class Index> void check_range(global<Index const> which, long n, long extent, global<bad_position> first) {
  for_each_index(n, [&](long i) {
    if (which[i] < 0 || which[i] >= extent) note_bad(first, static_cast<bad_position>(i));
  });
}

}  // namespace rill::text
