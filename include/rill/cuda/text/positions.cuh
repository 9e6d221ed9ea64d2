// Positions along an axis, and numbers at equal distances.
#pragma once
#include <type_traits>

#include "rill/cuda/text/global.cuh"
#include "rill/cuda/text/threads.cuh"
#include "rill/cuda/text/words.cuh"
#include "rill/type/half.hpp"

namespace rill::text {

/// Writes 0, 1, 2, ….
template <class Index> void write_positions(global<Index> to, long n) {
  for_each_index(n, [&](long i) { to[i] = static_cast<Index>(i); });
}

/// What lies beyond the ends of an axis (rill::border).
enum class border : int { edge, reflect, symmetric, wrap };

/// Returns the position in [0, n) that is at `p`.
inline long position_inside(border beyond, long p, long n) {
  auto const around = [](long q, long period) { return (q % period + period) % period; };
  auto const mirrored = [&](long period) {
    long const q = around(p, period), back = period - (beyond == border::symmetric) - q;
    return q < back ? q : back;
  };
  if (beyond == border::edge) return p < 0 ? 0 : p < n ? p : n - 1;
  if (beyond == border::wrap) return around(p, n);
  if (beyond == border::symmetric) return mirrored(2 * n);
  return n == 1 ? 0 : mirrored(2 * n - 2);
}

/// Writes the positions of an axis of n elements that a longer one copies.
inline void write_sources(global<long> to, long count, int beyond, long each, long before, long n) {
  for_each_index(count, [&](long i) { to[i] = position_inside(static_cast<border>(beyond), i / each - before, n); });
}

/// Writes start, start + step, …. Integers wrap; floats are rounded once.
template <class T> void write_range(global<T> to, long n, T start, T step) {
  for_each_index(n, [&](long i) {
    if constexpr (std::is_integral_v<T>)
      to[i] = static_cast<T>(static_cast<unsigned long>(start) +
                             static_cast<unsigned long>(i) * static_cast<unsigned long>(step));
    else to[i] = static_cast<T>(static_cast<double>(start) + static_cast<double>(i) * static_cast<double>(step));
  });
}

/// Writes numbers that a launch passes.
template <int N> void write_numbers(global<long> to, passed_numbers<N> const& numbers) {
  for_each_index(static_cast<long>(N), [&](long i) { to[i] = numbers.values[i]; });
}

}  // namespace rill::text
