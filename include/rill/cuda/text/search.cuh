// Where values belong in a sorted vector.
#pragma once
#include "rill/cuda/text/global.cuh"
#include "rill/cuda/text/threads.cuh"
#include "rill/type/half.hpp"

namespace rill::text {

/// Whether a comes before b. NaN is larger than any number.
template <class T> bool comes_before(T a, T b) { return a < b || (b != b && a == a); }

/// Writes for each x how many of n sorted elements are less, or, if `Right`, not larger.
template <bool Right, class T, class Index>
void search_sorted(global<T const> sorted, global<T const> x, global<Index> to, long n, long count) {
  for_each_index(count, [&](long i) {
    T const value = x[i];
    long found = 0;
    for (long left = n; left > 0;) {
      long const half = left / 2;
      T const each = sorted[found + half];
      bool const before = Right ? !comes_before(value, each) : comes_before(each, value);
      left = before ? left - half - 1 : half;
      if (before) found += half + 1;
    }
    to[i] = static_cast<Index>(found);
  });
}

}  // namespace rill::text
