// Random classes by logits, as rill/ops/random/categorical.hpp draws them.
#pragma once
#include <cstdint>
#include <limits>

#include "rill/cuda/text/global.cuh"
#include "rill/cuda/text/index_check.cuh"
#include "rill/cuda/text/random.cuh"
#include "rill/cuda/text/search.cuh"
#include "rill/cuda/text/warp.cuh"
#include "rill/program/elementary.hpp"
#include "rill/type/half.hpp"

namespace rill::text {

/// Returns the largest of the warp's numbers.
inline double largest_of_warp(double x) {
  for (int half = 16; half > 0; half /= 2) {
    double const other = __shfl_xor_sync(all_threads, x, half);
    x = other > x ? other : x;
  }
  return x;
}

/// Computes for each of `rows` rows the sums of exp(x - largest) up to each element, one after the other as
/// kernels::sum_up_powers does: a warp for each row. The first row whose sum is NaN is left in `first_bad`.
template <class T>
void sum_up_powers(global<T const> x, global<double> sums, global<bad_position> first_bad, long rows, long n) {
  int const own = threadIdx.x % 32;
  long const threads = static_cast<long>(gridDim.x) * blockDim.x;
  long const warp = (static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  for (long row = warp; row < rows; row += threads / 32) {
    auto const logit = [&](long i) { return static_cast<double>(x[row * n + i]); };
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (long i = own; i < n; i += 32) largest = logit(i) > largest ? logit(i) : largest;
    largest = largest_of_warp(largest);
    for (long first = 0; first < n; first += 32) {
      long const i = first + own;
      double const power = i < n ? exp(packet<double>(logit(i) - largest))[0] : 0;
      double up_to_own = 0;
      for (int k = 0; k < 32; ++k) {
        sum += __shfl_sync(all_threads, power, k);
        if (k == own) up_to_own = sum;
      }
      if (i < n) sums[row * n + i] = up_to_own;
    }
    if (sum != sum && own == 0) note_bad(first_bad, static_cast<bad_position>(row));
  }
}

/// Returns the first class whose sum exceeds the drawn fraction of the whole, or else the last class that has a
/// probability (ops::categorical_op::choose).
inline long choose_class(global<double const> sums, long n, std::uint64_t word) {
  double const whole = sums[n - 1], part = static_cast<double>(word >> 11) * 0x1p-53 * whole;
  long const found = count_before(sums, n, [&](double sum) { return sum <= part; });
  return found == n ? count_before(sums, n, [&](double sum) { return sum < whole; }) : found;
}
/// Draws `samples` classes for each of `rows` rows of n sums.
template <class Index>
void draw_classes(global<double const> sums, global<Index> to, long rows, long n, long samples,
                  random_stream const& s) {
  for_each_index(rows * samples, [&](long i) {
    auto const word = kernels::detail::random_word_at(s, static_cast<std::uint64_t>(i));
    to[i] = static_cast<Index>(choose_class(sums + i / samples * n, n, word));
  });
}

}  // namespace rill::text
