// Binary search.
#pragma once
#include "rill/cuda/text/global.cuh"
#include "rill/cuda/text/threads.cuh"
#include "rill/type/half.hpp"

namespace rill::text {

/// Returns for how many elements `before` holds, of n that begin with them.
template <class T, class Before> long count_before(global<T const> elements, long n, Before const& before) {
  long count = 0;
  while (n > 0) {
    long const half = n / 2;
    if (before(elements[count + half])) count += half + 1, n -= half + 1;
    else n = half;
  }
  return count;
}

/// Computes for each of `count` numbers how many of n sorted elements are less, or, if `right`, not larger. NaN counts
/// as larger than any number.
template <class T, class Index>
void search_sorted(global<T const> sorted, global<T const> x, global<Index> to, long n, long count, bool right) {
  auto const less = [](T a, T b) { return a < b || (b != b && a == a); };
  for_each_index(count, [&](long i) {
    T const own = x[i];
    to[i] =
        static_cast<Index>(count_before(sorted, n, [&](T each) { return right ? !less(own, each) : less(each, own); }));
  });
}

}  // namespace rill::text
