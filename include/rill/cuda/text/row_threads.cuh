// Threads that share a row of numbers. A processor adds up a row in as many lanes as 64 bytes hold, and those as a tree
// (lane_sums of rill/ops/network/softmax_kernels.hpp). Here a lane is a thread.
//
// Threads without a row take part in every function, for the others wait for them: then `n` is 0.
#pragma once
#include <limits>

#include "rill/cuda/text/warp.cuh"

namespace rill::text {

/// Lanes of the sums of V.
template <class V> constexpr int lanes_of_row = 64 / sizeof(V);

/// Returns the larger number, or `a` if one is a NaN.
template <class V> V larger(V a, V b) { return b > a ? b : a; }

/// Returns the lanes' sum, in the first of them.
template <class V> V sum_of_lanes(V sum) {
  for (int half = lanes_of_row<V> / 2; half > 0; half /= 2)
    sum += __shfl_down_sync(all_threads, sum, half, lanes_of_row<V>);
  return sum;
}

/// A thread for each lane. A block has several rows.
template <class V> struct threads_of_row {
  static constexpr int lanes = lanes_of_row<V>, rows = 256 / lanes, block = 256;

  /// Returns which of the block's rows is this thread's.
  static int row() { return threadIdx.x / lanes; }
  /// Whether the thread writes what a row has one of.
  static bool is_first() { return threadIdx.x % lanes == 0; }
  /// Calls `f` with this thread's part of the indices below n.
  template <class F> static void for_each(long n, F const& f) {
    for (long i = threadIdx.x % lanes; i < n; i += lanes) f(i);
  }
  /// Returns the largest f(i) that is a number; -infinity if there is none.
  template <class F> static V largest(long n, F const& f) {
    V top = -std::numeric_limits<V>::infinity();
    for_each(n, [&](long i) { top = larger(top, f(i)); });
    for (int half = lanes / 2; half > 0; half /= 2) top = larger(top, __shfl_xor_sync(all_threads, top, half, lanes));
    return top;
  }
  /// Returns the sum of f(i).
  template <class F> static V sum(long n, F const& f) {
    V sum = 0;
    for_each(n, [&](long i) { sum += f(i); });
    return __shfl_sync(all_threads, sum_of_lanes(sum), 0, lanes);
  }
};

/// A block of threads for each row, which is long: as few threads as there are lanes would be too few. The first warp
/// adds up, and the others compute what it adds, a tile at a time.
template <class V> struct block_of_row {
  static constexpr int lanes = lanes_of_row<V>, rows = 1, block = 288;

  static int row() { return 0; }
  static bool is_first() { return threadIdx.x == 0; }
  template <class F> static void for_each(long n, F const& f) {
    for (long i = threadIdx.x; i < n; i += block) f(i);
  }
  template <class F> static V largest(long n, F const& f) {
    __shared__ V of_warps[block / 32];
    V top = -std::numeric_limits<V>::infinity();
    for_each(n, [&](long i) { top = larger(top, f(i)); });
    for (int half = 16; half > 0; half /= 2) top = larger(top, __shfl_xor_sync(all_threads, top, half));
    __syncthreads();  // nobody reads those of the row before
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = top;
    __syncthreads();
    for (int i = 0; i < block / 32; ++i) top = larger(top, of_warps[i]);
    return top;
  }
  template <class F> static V sum(long n, F const& f) {
    __shared__ V total;
    V sum = 0;
    long const count = (n + tile - 1) / tile;
    for (long t = 0; t <= count; ++t) {
      if (threadIdx.x >= adding && t < count) fill(tile_of(t), t * tile, n, f);
      if (threadIdx.x < lanes && t > 0)
        for (int i = threadIdx.x; i < tile; i += lanes) sum += tile_of(t - 1)[i];
      __syncthreads();
    }
    if (threadIdx.x < adding) {
      sum = sum_of_lanes(sum);
      if (threadIdx.x == 0) total = sum;
    }
    __syncthreads();
    return total;
  }

 private:
  static constexpr int adding = 32, tile = 8192 / sizeof(V);  // two tiles take 16 KiB

  // All sums of a kernel share two tiles.
  static V* tile_of(long t) {
    __shared__ V tiles[2][tile];
    return tiles[t % 2];
  }
  template <class F> static void fill(V* values, long first, long n, F const& f) {
    for (int i = threadIdx.x - adding; i < tile; i += block - adding) values[i] = first + i < n ? f(first + i) : V(0);
  }
};

/// Calls f(row, n) with this thread's rows.
template <class Threads, class F> void for_each_row(long rows, long n, F const& f) {
  for (long first = static_cast<long>(blockIdx.x) * Threads::rows; first < rows;
       first += static_cast<long>(gridDim.x) * Threads::rows) {
    long const row = first + Threads::row();
    f(row, row < rows ? n : 0);
  }
}

}  // namespace rill::text
