// Sums and softmax by a GPU in the order of rill/ops/sum/reduce_kernels.hpp and rill/ops/network/softmax_kernels.hpp:
// the lanes that a processor holds in registers are threads here, and are joined as the same tree.
#pragma once
#include "rill/program/elementary.hpp"
#include "rill/type/half.hpp"

namespace bench {

constexpr unsigned all_threads = 0xffff'ffffu;

/// The sum of a line by a warp, in its first thread: 256 bytes of lanes, then the lanes by halves.
template <class V, class T> V sum_of_line(T const* at, long count) {
  if (count < 16) {
    V sum = 0;
    for (long i = 0; i < count; ++i) sum += static_cast<V>(at[i]);
    return sum;
  }
  constexpr int each = 256 / sizeof(V) / 32;
  V sums[each] = {};
  for (long i = threadIdx.x % 32; i < (count + 32 * each - 1) / (32 * each) * (32 * each); i += 32 * each)
    for (int e = 0; e < each; ++e) sums[e] += i + 32 * e < count ? static_cast<V>(at[i + 32 * e]) : V(0);
  V sum = sums[0];
  if constexpr (each == 2) sum += sums[1];
  for (int half = 16; half > 0; half /= 2) sum += __shfl_down_sync(all_threads, sum, half);
  return sum;
}

/// Sums [outer, middle] over parts of 4,096 elements, a warp for each: partial[outer, parts].
template <class V, class T> void sum_lines(T const* from, long outer, long middle, long parts, V* partial) {
  long const unit = (static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  if (unit >= outer * parts) return;
  long const first = unit % parts * 4096, rest = middle - first;
  V const sum = sum_of_line<V>(from + unit / parts * middle + first, rest < 4096 ? rest : 4096);
  if (threadIdx.x % 32 == 0) partial[unit] = sum;
}

/// Sums [outer, middle, inner] over parts of 256 rows, a thread for each column: partial[outer, parts, inner]. Rows are
/// added in groups of four.
template <class V, class T>
void sum_columns(T const* from, long outer, long middle, long inner, long parts, V* partial) {
  long const unit = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (unit >= outer * parts * inner) return;
  long const first = unit / inner % parts * 256, end = first + 256 < middle ? first + 256 : middle;
  T const* const at = from + unit / inner / parts * middle * inner + unit % inner;
  auto const row = [&](long i) { return static_cast<V>(at[i * inner]); };
  V sum = 0;
  for (long i = first; i < end; i += 4) {
    V group;
    if (i + 4 <= end) {
      group = (row(i) + row(i + 1)) + (row(i + 2) + row(i + 3));
    } else {
      group = row(i);
      for (long j = i + 1; j < end; ++j) group += row(j);
    }
    sum += group;
  }
  partial[unit] = sum;
}

/// Adds the parts of each outer index, neighbours first, by a block for each: the sums are those of part 0.
template <class V, class T> void join_parts(V* partial, long inner, long parts, T* to) {
  V* const first = partial + static_cast<long>(blockIdx.x) * parts * inner;
  for (long step = 1; step < parts; step *= 2) {
    long const pairs = (parts - step + 2 * step - 1) / (2 * step);
    for (long i = threadIdx.x; i < pairs * inner; i += blockDim.x) {
      V* const a = first + i / inner * 2 * step * inner + i % inner;
      *a += a[step * inner];
    }
    __syncthreads();
  }
  for (long i = threadIdx.x; i < inner; i += blockDim.x) to[blockIdx.x * inner + i] = static_cast<T>(first[i]);
}

/// Softmax of rows of n floats, 16 threads for each: a processor's 64 bytes of lanes.
inline void softmax_rows(float const* from, long rows, long n, float* to) {
  long const row = (static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x) / 16;
  if (row >= rows) return;  // rows are a multiple of a warp's
  float const* const x = from + row * n;
  float* const y = to + row * n;
  int const lane = threadIdx.x % 16;
  float largest = -std::numeric_limits<float>::infinity();
  for (long i = lane; i < n; i += 16) largest = x[i] > largest ? x[i] : largest;
  for (int half = 8; half > 0; half /= 2) {
    float const other = __shfl_xor_sync(all_threads, largest, half, 16);
    largest = other > largest ? other : largest;
  }
  float sum = 0;
  for (long i = lane; i < n; i += 16) {
    float const power = exp(rill::packet<float>(x[i] - largest))[0];
    y[i] = power;
    sum += power;
  }
  for (int half = 8; half > 0; half /= 2) sum += __shfl_down_sync(all_threads, sum, half, 16);
  float const scale = 1 / __shfl_sync(all_threads, sum, 0, 16);
  for (long i = lane; i < n; i += 16) y[i] *= scale;
}

/// The same for long rows, in the same order, a block of 288 threads for each: 256 compute the powers, a tile at a
/// time, and 16 of the first warp add up those of the tile before.
inline void softmax_of_long_rows(float const* from, long n, float* to) {
  constexpr int tile = 2048, computing = 256;
  __shared__ float powers[2][tile], of_warps[computing / 32], shared;
  float const* const x = from + blockIdx.x * n;
  float* const y = to + blockIdx.x * n;
  int const thread = static_cast<int>(threadIdx.x) - 32;  // of those that compute, or below 0
  float largest = -std::numeric_limits<float>::infinity();
  if (thread >= 0) {
    for (long i = thread; i < n; i += computing) largest = x[i] > largest ? x[i] : largest;
    for (int half = 16; half > 0; half /= 2) {
      float const other = __shfl_xor_sync(all_threads, largest, half);
      largest = other > largest ? other : largest;
    }
    if (thread % 32 == 0) of_warps[thread / 32] = largest;
  }
  __syncthreads();
  for (float const other : of_warps) largest = other > largest ? other : largest;
  float sum = 0;
  long const tiles = (n + tile - 1) / tile;
  for (long t = 0; t <= tiles; ++t) {
    if (thread >= 0 && t < tiles) {
      for (int i = thread; i < tile; i += computing) {
        long const at = t * tile + i;
        float const power = at < n ? exp(rill::packet<float>(x[at] - largest))[0] : 0.0f;
        powers[t % 2][i] = power;
        if (at < n) y[at] = power;
      }
    } else if (thread < 16 - 32 && t > 0) {
      for (int i = threadIdx.x; i < tile; i += 16) sum += powers[(t - 1) % 2][i];
    }
    __syncthreads();
  }
  if (thread < 0) {
    for (int half = 8; half > 0; half /= 2) sum += __shfl_down_sync(all_threads, sum, half, 16);
    if (threadIdx.x == 0) shared = sum;
  }
  __syncthreads();
  float const scale = 1 / shared;
  if (thread >= 0)  // what this thread wrote
    for (long i = thread; i < n; i += computing) y[i] *= scale;
}

}  // namespace bench
