// Sums, products and recurrences along an axis, on raw pointers. A thread goes through whole columns, so that the bits
// do not depend on the number of threads.
#pragma once
#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "rill/base/parallel.hpp"
#include "rill/type/half.hpp"

namespace rill::kernels {

/// An array of [outer, length, inner] elements that is gone through along `length`.
struct walk {
  std::ptrdiff_t outer, length, inner;
  bool exclusive, reverse, lagged;
};

namespace along_detail {

// 16-bit floats are accumulated as floats.
template <class T>
using accumulated = std::conditional_t<std::is_same_v<T, half> || std::is_same_v<T, bfloat16>, float, T>;

// Integers wrap.
template <class A> A plus(A a, A b) {
  if constexpr (std::is_integral_v<A>)
    return static_cast<A>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else return a + b;
}
template <class A> A times(A a, A b) {
  if constexpr (std::is_integral_v<A>)
    return static_cast<A>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  else return a * b;
}
template <class Real> std::complex<Real> times(std::complex<Real> a, std::complex<Real> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

inline constexpr std::ptrdiff_t most_columns = 64;  // that are gone through together

// Calls f(place of the first element, number of columns) for groups of neighbouring columns, by threads.
template <class F> void for_columns(walk const& w, parallel const& threads, F const& f) {
  auto const groups = (w.inner + most_columns - 1) / most_columns, all = w.outer * groups;
  auto const size = w.length * std::min(w.inner, most_columns);
  auto const each = std::max<std::ptrdiff_t>(1, 16384 / std::max<std::ptrdiff_t>(1, size));
  threads(static_cast<std::size_t>((all + each - 1) / each), [&](std::size_t chunk) {
    auto const first = static_cast<std::ptrdiff_t>(chunk) * each;
    for (auto i = first; i < std::min(all, first + each); ++i) {
      auto const column = i % groups * most_columns;
      f(i / groups * w.length * w.inner + column, std::min(most_columns, w.inner - column));
    }
  });
}

// The place of the k-th element of a column on the way, relative to the column's first.
inline std::ptrdiff_t step_to(walk const& w, std::ptrdiff_t k) { return (w.reverse ? w.length - 1 - k : k) * w.inner; }

struct sums {
  static constexpr int begin = 0;
  template <class A> static A next(A so_far, A x) { return plus(so_far, x); }
};
struct products {
  static constexpr int begin = 1;
  template <class A> static A next(A so_far, A x) { return times(so_far, x); }
};

}  // namespace along_detail

/// Computes the sums, or the products, of the elements up to each place: cumsum and cumprod.
template <class Step, class T> void accumulate(walk const& w, T const* x, T* y, parallel const& threads) noexcept {
  using A = along_detail::accumulated<T>;
  along_detail::for_columns(w, threads, [&](std::ptrdiff_t first, std::ptrdiff_t columns) {
    A so_far[along_detail::most_columns];
    std::fill_n(so_far, columns, static_cast<A>(Step::begin));
    for (std::ptrdiff_t k = 0; k < w.length; ++k) {
      auto const at = first + along_detail::step_to(w, k);
      for (std::ptrdiff_t j = 0; j < columns; ++j) {
        A const before = so_far[j];
        so_far[j] = Step::next(before, static_cast<A>(x[at + j]));
        y[at + j] = static_cast<T>(w.exclusive ? before : so_far[j]);
      }
    }
  });
}

/// Computes y = a y' + b along the axis, where y' is the result before, and 0 at first. A lagged recurrence takes the
/// factor from the place before.
template <class T> void recur(walk const& w, T const* a, T const* b, T* y, parallel const& threads) noexcept {
  using A = along_detail::accumulated<T>;
  along_detail::for_columns(w, threads, [&](std::ptrdiff_t first, std::ptrdiff_t columns) {
    A so_far[along_detail::most_columns];
    for (std::ptrdiff_t k = 0; k < w.length; ++k) {
      auto const at = first + along_detail::step_to(w, k);
      auto const factors = first + along_detail::step_to(w, w.lagged && k > 0 ? k - 1 : k);
      for (std::ptrdiff_t j = 0; j < columns; ++j) {
        A const more = static_cast<A>(b[at + j]);
        so_far[j] =
            k == 0 ? more : along_detail::plus(along_detail::times(static_cast<A>(a[factors + j]), so_far[j]), more);
        y[at + j] = static_cast<T>(so_far[j]);
      }
    }
  });
}

/// Moves the elements one place on along the axis; zeros come in.
template <class T> void delay(walk const& w, T const* x, T* y, parallel const& threads) noexcept {
  along_detail::for_columns(w, threads, [&](std::ptrdiff_t first, std::ptrdiff_t columns) {
    for (std::ptrdiff_t k = 0; k < w.length; ++k) {
      T* const to = y + first + along_detail::step_to(w, k);
      if (k == 0) std::fill_n(to, columns, T(0));
      else std::copy_n(x + first + along_detail::step_to(w, k - 1), columns, to);
    }
  });
}

}  // namespace rill::kernels
