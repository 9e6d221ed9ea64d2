// Copies words and finds the first one that is not finite.
#pragma once
#include <cstdint>

#include "rill/cuda/text/global.cuh"
#include "rill/cuda/text/warp.cuh"

namespace rill::text {

/// Copies n words, parts of floats that are not finite where all bits of `exponent` are set. Each warp finds the first
/// of its words that is not finite, or n. `to` may be `from`.
template <class Word>
void copy_finite(global<Word const> from, global<Word> to, global<std::int64_t> first, long n, Word exponent) {
  long const threads = static_cast<long>(gridDim.x) * blockDim.x;
  long const thread = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x;
  long bad = n;
  for (long i = thread; i < n; i += threads) {
    Word const word = from[i];
    if ((word & exponent) == exponent && bad == n) bad = i;
    to[i] = word;
  }
  for (int half = 16; half > 0; half /= 2) {
    long const other = __shfl_xor_sync(all_threads, bad, half);
    bad = other < bad ? other : bad;
  }
  if (threadIdx.x % 32 == 0) first[thread / 32] = bad;
}

}  // namespace rill::text
