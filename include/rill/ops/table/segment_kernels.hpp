// Sums and extremes of segments, on raw pointers. The segments are cut into ranges, each of which goes through all ids
// in order: so no two threads write the same row, and the order of sums is fixed.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "rill/base/parallel.hpp"
#include "rill/type/half.hpp"

namespace rill::kernels {

/// `rows` rows of `width` elements, each with the id of one of `segments` segments, or with an id below 0.
struct segments {
  std::size_t rows, width, count;
  std::int64_t const* ids;
};

namespace segment_detail {

// Calls f(first, last) for ranges of segments, by threads.
template <class F> void for_segments(segments const& s, parallel const& threads, F const& f) {
  std::size_t const ranges = s.rows * s.width < 32768 ? 1 : std::min<std::size_t>(s.count, 32);
  threads(ranges, [&](std::size_t c) {
    f(static_cast<std::int64_t>(c * s.count / ranges), static_cast<std::int64_t>((c + 1) * s.count / ranges));
  });
}

// 16-bit floats are added as floats; integers wrap.
template <class T> using added = std::conditional_t<std::is_same_v<T, half> || std::is_same_v<T, bfloat16>, float, T>;
template <class A> A together(A a, A b) {
  if constexpr (std::is_integral_v<A>)
    return static_cast<A>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else return a + b;
}

// x / count, for a count above 0.
template <class A> A divided(A x, std::int64_t count) {
  if constexpr (std::is_integral_v<A>) return static_cast<A>(x / static_cast<A>(count));
  else if constexpr (requires { typename A::value_type; }) return x / static_cast<typename A::value_type>(count);
  else return x / static_cast<A>(count);
}

template <class T> constexpr T lowest() {
  if constexpr (std::is_integral_v<T>) return std::numeric_limits<T>::min();
  else return T(-std::numeric_limits<float>::infinity());
}
template <class T> constexpr T highest() {
  if constexpr (std::is_integral_v<T>) return std::numeric_limits<T>::max();
  else return T(std::numeric_limits<float>::infinity());
}

}  // namespace segment_detail

/// Adds the rows of each segment, and divides by their number if `counts`, memory for one number a segment, is given.
/// `sums` is memory for the sums in the type in which they are added.
template <class T>
void sum_segments(segments const& s, T const* x, T* y, segment_detail::added<T>* sums, std::int64_t* counts,
                  parallel const& threads) noexcept {
  using A = segment_detail::added<T>;
  segment_detail::for_segments(s, threads, [&](std::int64_t first, std::int64_t last) {
    auto const begin = static_cast<std::size_t>(first), end = static_cast<std::size_t>(last);
    std::fill(sums + begin * s.width, sums + end * s.width, A(0));
    if (counts) std::fill(counts + begin, counts + end, 0);
    for (std::size_t i = 0; i < s.rows; ++i) {
      if (s.ids[i] < first || s.ids[i] >= last) continue;
      auto const segment = static_cast<std::size_t>(s.ids[i]);
      for (std::size_t j = 0; j < s.width; ++j) {
        A& sum = sums[segment * s.width + j];
        sum = segment_detail::together(sum, static_cast<A>(x[i * s.width + j]));
      }
      if (counts) ++counts[segment];
    }
    for (std::size_t k = begin; k < end; ++k)
      for (std::size_t j = k * s.width; j < (k + 1) * s.width; ++j)
        y[j] = static_cast<T>(counts && counts[k] > 1 ? segment_detail::divided(sums[j], counts[k]) : sums[j]);
  });
}

/// Writes for each id the row of its segment, divided by the number of the segment's ids if `counts` is given; zeros
/// for ids below 0.
template <class T>
void take_segments(segments const& s, T const* x, T* y, std::int64_t* counts, parallel const& threads) noexcept {
  if (counts) {
    std::fill_n(counts, s.count, 0);
    for (std::size_t i = 0; i < s.rows; ++i)
      if (s.ids[i] >= 0) ++counts[s.ids[i]];
  }
  std::size_t const each = std::max<std::size_t>(1, 16384 / std::max<std::size_t>(1, s.width));
  threads((s.rows + each - 1) / each, [&](std::size_t chunk) {
    for (std::size_t i = chunk * each; i < std::min(s.rows, (chunk + 1) * each); ++i) {
      if (s.ids[i] < 0) {
        std::fill_n(y + i * s.width, s.width, T(0));
        continue;
      }
      auto const segment = static_cast<std::size_t>(s.ids[i]);
      for (std::size_t j = 0; j < s.width; ++j) {
        T const v = x[segment * s.width + j];
        y[i * s.width + j] =
            counts && counts[segment] > 1
                ? static_cast<T>(segment_detail::divided(static_cast<segment_detail::added<T>>(v), counts[segment]))
                : v;
      }
    }
  });
}

/// Writes the largest, or the least, element of each column of a segment's rows: a NaN if one is; of no rows the number
/// that every other exceeds.
template <bool Least, class T>
void extremes_of_segments(segments const& s, T const* x, T* y, parallel const& threads) noexcept {
  segment_detail::for_segments(s, threads, [&](std::int64_t first, std::int64_t last) {
    std::fill(y + static_cast<std::size_t>(first) * s.width, y + static_cast<std::size_t>(last) * s.width,
              Least ? segment_detail::highest<T>() : segment_detail::lowest<T>());
    for (std::size_t i = 0; i < s.rows; ++i) {
      if (s.ids[i] < first || s.ids[i] >= last) continue;
      for (std::size_t j = 0; j < s.width; ++j) {
        using A = segment_detail::added<T>;
        T& best = y[static_cast<std::size_t>(s.ids[i]) * s.width + j];
        A const v = static_cast<A>(x[i * s.width + j]), b = static_cast<A>(best);
        if ((Least ? v < b : v > b) || v != v) best = x[i * s.width + j];
      }
    }
  });
}

}  // namespace rill::kernels
