// Sums, products and recurrences along an axis, element by element, as rill/ops/reduction/cumulative_kernels.hpp has
// them.
#pragma once
#include <type_traits>

#include "rill/cuda/text/accumulate.cuh"
#include "rill/cuda/text/global.cuh"
#include "rill/cuda/text/warp.cuh"

namespace rill::text {

/// An array of [outer, length, inner] elements that is gone through along `length`.
struct walk {
  long outer, length, inner;
  bool exclusive, reverse, lagged;

  /// Returns the place of the k-th element of a column on the way, relative to the column's first.
  long step_to(long k) const { return (reverse ? length - 1 - k : k) * inner; }
};

/// The sums of the elements so far; `before` is the sum without the last one.
template <class A> struct sums {
  A before = 0, now = 0;
  void take(A, A x) { before = now, now = plus(now, x); }
};
template <class A> struct products {
  A before = 1, now = 1;
  void take(A, A x) { before = now, now = times(now, x); }
};
/// y = a y' + b, and b at first.
template <class A> struct recurrence {
  A before = 0, now = 0;
  bool begun = false;
  void take(A a, A b) { before = now, now = begun ? plus(times(a, now), b) : b, begun = true; }
};
/// What was taken before; 0 at first.
template <class A> struct delay {
  A before = 0, now = 0, last = 0;
  void take(A, A x) { now = last, last = x; }
};

/// Returns the number of another thread of the warp.
template <class A> A of_thread(A own, int thread) {
  using exchanged = std::conditional_t<(sizeof(A) < 4), int, A>;
  return static_cast<A>(__shfl_sync(all_threads, static_cast<exchanged>(own), thread));
}

/// Goes through all columns with a `SoFar` each. `a` holds the factors of recurrences, and is null otherwise.
template <template <class> class SoFar, class T>
void go_along(global<T const> a, global<T const> b, global<T> y, walk const& w) {
  using A = accumulated<T>;
  auto const factor = [&](long column, long k) {
    return a ? static_cast<A>(a[column + w.step_to(w.lagged && k > 0 ? k - 1 : k)]) : A(0);
  };
  auto const term = [&](long column, long k) { return static_cast<A>(b[column + w.step_to(k)]); };
  auto const result = [&](SoFar<A> const& so_far) { return static_cast<T>(w.exclusive ? so_far.before : so_far.now); };
  long const threads = static_cast<long>(gridDim.x) * blockDim.x;
  long const thread = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (w.inner > 1) {  // a thread for each column
    for (long i = thread; i < w.outer * w.inner; i += threads) {
      long const column = i / w.inner * w.length * w.inner + i % w.inner;
      SoFar<A> so_far;
      constexpr int ahead = 8;  // elements that are read before one of their results is written
      for (long first = 0; first < w.length; first += ahead) {
        A factors[ahead], terms[ahead];
        for (int j = 0; j < ahead; ++j) {
          bool const any = first + j < w.length;
          factors[j] = any ? factor(column, first + j) : A(0), terms[j] = any ? term(column, first + j) : A(0);
        }
        for (int j = 0; j < ahead && first + j < w.length; ++j) {
          so_far.take(factors[j], terms[j]);
          y[column + w.step_to(first + j)] = result(so_far);
        }
      }
    }
    return;
  }
  // A warp for each line. Its threads read 32 elements side by side, and all of them take all of these.
  int const own = threadIdx.x % 32;
  for (long line = thread / 32; line < w.outer; line += threads / 32) {
    long const column = line * w.length;
    SoFar<A> so_far;
    for (long first = 0; first < w.length; first += 32) {
      long const k = first + own;
      A const own_factor = k < w.length ? factor(column, k) : A(0), own_term = k < w.length ? term(column, k) : A(0);
      T of_own{};
      for (int i = 0; i < 32; ++i) {
        A const f = a ? of_thread(own_factor, i) : A(0);
        so_far.take(f, of_thread(own_term, i));
        if (i == own) of_own = result(so_far);
      }
      if (k < w.length) y[column + w.step_to(k)] = of_own;
    }
  }
}

}  // namespace rill::text
