// Copies of short lines and small transpositions, inline: a call of memcpy costs as much as a line does.
#pragma once
#include "rill/ops/matrix/native.hpp"

namespace rill::kernels {

/// A matrix, or its transpose: element (i, j) lies at data[i * row + j * column].
template <class T> struct matrix_view {
  T const* data;
  index row, column;

  T const* at(index i, index j) const { return data + i * row + j * column; }
};

namespace detail {

// Copies fewer than 2 * Size bytes, in multiples of Least: a front half and a back half that may overlap.
template <index Size, index Least> inline void copy_halves(char* to, char const* from, index bytes) {
  if (bytes >= Size) {
    __builtin_memcpy(to, from, Size);
    __builtin_memcpy(to + bytes - Size, from + bytes - Size, Size);
  } else if constexpr (Size > Least) {
    copy_halves<Size / 2, Least>(to, from, bytes);
  }
}

/// Copies `count` elements, at most a register's.
template <class T> inline void copy_part(T* to, T const* from, index count) {
  constexpr index size = sizeof(T);
  copy_halves<native<T>::lanes * size, size>(reinterpret_cast<char*>(to), reinterpret_cast<char const*>(from),
                                             count * size);
}

/// Copies `count` elements, which don't overlap.
template <class T> inline void copy_line(T* to, T const* from, index count) {
  auto* const out = reinterpret_cast<char*>(to);
  auto const* const in = reinterpret_cast<char const*>(from);
  index const bytes = count * static_cast<index>(sizeof(T));
  if (bytes < 64) return copy_halves<32, sizeof(T)>(out, in, bytes);
  for (index i = 0; i + 64 < bytes; i += 64) __builtin_memcpy(out + i, in + i, 64);
  __builtin_memcpy(out + bytes - 64, in + bytes - 64, 64);
}

/// Copies, and converts, `count` elements that are `step` apart.
template <class To, class From> inline void copy_line(To* to, From const* from, index step, index count) {
  if constexpr (std::is_same_v<To, From>) {
    if (step == 1) return copy_line(to, from, count);
  }
  for (index i = 0; i < count; ++i) to[i] = static_cast<To>(from[i * step]);
}

// Transposes a square of 16-byte lines, of which `from` has contiguous ones.
template <class T> inline void transpose_square(T* to, index to_row, T const* from, index from_row) {
  using block = typename native<T>::block;
  auto const load = [&](index i) {
    block x;
    __builtin_memcpy(&x, from + i * from_row, sizeof x);
    return x;
  };
  auto const store = [&](index i, block x) { __builtin_memcpy(to + i * to_row, &x, sizeof x); };
  if constexpr (sizeof(T) == 4) {
    auto const a = load(0), b = load(1), c = load(2), d = load(3);
    auto const ac_low = __builtin_shufflevector(a, c, 0, 4, 1, 5), ac_high = __builtin_shufflevector(a, c, 2, 6, 3, 7);
    auto const bd_low = __builtin_shufflevector(b, d, 0, 4, 1, 5), bd_high = __builtin_shufflevector(b, d, 2, 6, 3, 7);
    store(0, __builtin_shufflevector(ac_low, bd_low, 0, 4, 1, 5));
    store(1, __builtin_shufflevector(ac_low, bd_low, 2, 6, 3, 7));
    store(2, __builtin_shufflevector(ac_high, bd_high, 0, 4, 1, 5));
    store(3, __builtin_shufflevector(ac_high, bd_high, 2, 6, 3, 7));
  } else {
    auto const a = load(0), b = load(1);
    store(0, __builtin_shufflevector(a, b, 0, 2));
    store(1, __builtin_shufflevector(a, b, 1, 3));
  }
}

/// Copies the `lines` x `count` matrix `from` to its transpose: lines become columns of `to`.
template <class To, class From>
inline void copy_across(To* to, index to_row, matrix_view<From> from, index lines, index count) {
  index done_lines = 0, done_count = 0;
  if constexpr (std::is_same_v<To, From> && std::is_arithmetic_v<To> && (sizeof(To) == 4 || sizeof(To) == 8)) {
    constexpr index side = 16 / sizeof(To);
    if (from.column == 1) {
      done_lines = lines / side * side, done_count = count / side * side;
      for (index j = 0; j < done_count; j += side) {
        for (index i = 0; i < done_lines; i += side) {
          transpose_square(to + j * to_row + i, to_row, from.at(i, j), from.row);
        }
      }
    }
  }
  for (index j = 0; j < count; ++j) {
    for (index i = j < done_count ? done_lines : 0; i < lines; ++i)
      to[j * to_row + i] = static_cast<To>(*from.at(i, j));
  }
}

}  // namespace detail

}  // namespace rill::kernels
