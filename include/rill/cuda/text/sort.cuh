// A stable sort of positions by key: an LSD radix sort by digits of 8 bits. Each pass counts the digits of each tile,
// adds the counts up, and puts each element behind those of its digit that come before it. There are no atomics, so the
// order does not depend on that of threads.
#pragma once
#include "rill/cuda/text/global.cuh"
#include "rill/cuda/text/sort_form.hpp"
#include "rill/cuda/text/warp.cuh"

namespace rill::text {

using cuda::sort_digit_bits;
using cuda::sort_digits;
using cuda::sort_rounds;
using cuda::sort_sum_threads;
using cuda::sort_threads;
using cuda::sort_tile;
using cuda::sort_warps;

/// The counts of a block's digits: a warp has a tile of elements, and 32 of them in each round.
template <class Count> class digit_counts {
 public:
  explicit digit_counts(Count n) : n_(n) {
    for (int i = threadIdx.x; i < sort_warps * sort_digits; i += sort_threads) table()[i] = 0;
    __syncthreads();
  }

  /// Calls f(i, digit, taking, peers) with this thread's elements in order. Peers are the lanes with its digit.
  template <class F> void for_each(global<Count const> keys, int shift, F const& f) const {
    Count const first = (static_cast<Count>(blockIdx.x) * sort_warps + threadIdx.x / 32) * sort_tile;
    for (int round = 0; round < sort_rounds; ++round) {
      Count const i = first + round * 32 + threadIdx.x % 32;
      bool const taking = i < n_;
      int const digit = taking ? static_cast<int>(keys[i] >> shift & (sort_digits - 1)) : 0;
      f(i, digit, taking, peers_of(digit, taking));
    }
  }
  /// Returns how many elements with this digit the warp has, and adds more. All lanes of the warp call it together.
  Count add(int digit, bool taking, unsigned peers) const {
    Count& own = table()[threadIdx.x / 32 * sort_digits + digit];
    Count const before = own;
    __syncwarp();
    if (taking && (peers & lanes_before()) == 0) own = before + __popc(peers);
    __syncwarp();
    return before;
  }
  static unsigned lanes_before() { return (1u << threadIdx.x % 32) - 1; }
  static Count& of_warp(int warp, int digit) { return table()[warp * sort_digits + digit]; }

 private:
  static unsigned peers_of(int digit, bool taking) {
    unsigned peers = __ballot_sync(all_threads, taking);
    for (int bit = 0; bit < sort_digit_bits; ++bit) {
      bool const set = (digit >> bit & 1) != 0;
      unsigned const others = __ballot_sync(all_threads, set);
      peers &= set ? others : ~others;
    }
    return peers;
  }
  static Count* table() {
    __shared__ Count counts[sort_warps * sort_digits];
    return counts;
  }

  Count n_;
};

/// Counts the digits of each block: counts[digit, block].
template <class Count> void count_digits(global<Count const> keys, global<Count> counts, Count n, int shift) {
  digit_counts<Count> const own(n);
  own.for_each(keys, shift, [&](Count, int digit, bool taking, unsigned peers) { own.add(digit, taking, peers); });
  __syncthreads();
  int const digit = threadIdx.x;
  Count sum = 0;
  for (int warp = 0; warp < sort_warps; ++warp) sum += own.of_warp(warp, digit);
  counts[static_cast<Count>(digit) * gridDim.x + blockIdx.x] = sum;
}

/// Replaces n counts by the sums of those before them, by one block of sort_sum_threads.
template <class Count> void add_counts_up(global<Count> counts, Count n) {
  __shared__ Count of_warps[sort_sum_threads / 32];
  Count const each = (n + sort_sum_threads - 1) / sort_sum_threads, first = threadIdx.x * each,
              last = first + each < n ? first + each : n;
  Count own = 0;
  for (Count i = first; i < last; ++i) own += counts[i];
  unsigned const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  Count sum = own;
  for (unsigned by = 1; by < 32; by *= 2) {
    Count const other = __shfl_up_sync(all_threads, sum, by);
    if (lane >= by) sum += other;
  }
  if (lane == 31) of_warps[warp] = sum;
  __syncthreads();
  Count before = sum - own;
  for (unsigned w = 0; w < warp; ++w) before += of_warps[w];
  for (Count i = first; i < last; ++i) {
    Count const count = counts[i];
    counts[i] = before;
    before += count;
  }
}

/// Moves keys and positions to where they belong by a digit. Without positions an element's is its own.
template <class Count>
void place_by_digit(global<Count const> keys, global<Count const> positions, global<Count> to_keys,
                    global<Count> to_positions, global<Count const> before, Count n, int shift) {
  digit_counts<Count> const own(n);
  own.for_each(keys, shift, [&](Count, int digit, bool taking, unsigned peers) { own.add(digit, taking, peers); });
  __syncthreads();
  int const of = threadIdx.x;
  Count sum = before[static_cast<Count>(of) * gridDim.x + blockIdx.x];
  for (int warp = 0; warp < sort_warps; ++warp) {
    Count const count = own.of_warp(warp, of);
    own.of_warp(warp, of) = sum;
    sum += count;
  }
  __syncthreads();
  own.for_each(keys, shift, [&](Count i, int digit, bool taking, unsigned peers) {
    Count const to = own.add(digit, taking, peers) + __popc(peers & own.lanes_before());
    if (!taking) return;
    to_keys[to] = keys[i];
    to_positions[to] = positions ? positions[i] : i;
  });
}

}  // namespace rill::text
