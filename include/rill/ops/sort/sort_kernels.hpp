// Sorts lines of numbers by their bits, on raw pointers.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "rill/base/parallel.hpp"
#include "rill/type/half.hpp"

namespace rill::kernels {

/// Lines [outer, extent, inner] along the middle axis, of which the first `count` elements in order are wanted. The
/// scratch memory has room for two lines of entries for each of `threads` threads.
struct sort_lines {
  std::ptrdiff_t outer = 1, extent = 1, inner = 1, count = 1, threads = 1;
  bool descending = false, wide = false;  ///< wide: indices are int64, not int32
};

/// An element as unsigned bits that have the order of the numbers, and its index.
template <class Key> struct sort_entry {
  Key key;
  std::uint32_t index;
  friend bool operator<(sort_entry const& a, sort_entry const& b) {
    return a.key != b.key ? a.key < b.key : a.index < b.index;
  }
};

template <std::size_t Bytes>
using unsigned_of = std::conditional_t<
    Bytes == 1, std::uint8_t,
    std::conditional_t<Bytes == 2, std::uint16_t, std::conditional_t<Bytes == 4, std::uint32_t, std::uint64_t>>>;
template <class T> using sort_key = unsigned_of<sizeof(T)>;

/// Returns bits that have the order of the numbers. Zeros of both signs are equal; every NaN is larger than all
/// numbers.
template <class T> sort_key<T> key_of(T x) {
  using key = sort_key<T>;
  constexpr auto top = static_cast<key>(key{1} << (8 * sizeof(T) - 1));
  if constexpr (std::is_integral_v<T>)
    return static_cast<key>(static_cast<key>(x) ^ (std::is_signed_v<T> ? top : key{0}));
  else {
    if (x != x) return static_cast<key>(~key{0});
    auto const bits = x == T(0) ? key{0} : std::bit_cast<key>(x);
    return static_cast<key>((bits & top) != 0 ? ~bits : bits | top);
  }
}

/// Sorts n entries by their keys, byte by byte from the lowest one, so that equal keys keep their order. Returns where
/// the entries then are: `a`, or `b`, which has room for as many.
template <class Key> sort_entry<Key>* sort_by_bytes(sort_entry<Key>* a, sort_entry<Key>* b, std::uint32_t n) {
  std::uint32_t counts[sizeof(Key)][256] = {};
  auto const digit = [](Key key, std::size_t d) { return static_cast<std::uint8_t>(key >> (8 * d)); };
  for (std::uint32_t i = 0; i < n; ++i)
    for (std::size_t d = 0; d < sizeof(Key); ++d) ++counts[d][digit(a[i].key, d)];
  for (std::size_t d = 0; d < sizeof(Key); ++d) {
    if (counts[d][digit(a[0].key, d)] == n) continue;  // all keys have the same byte
    std::uint32_t places[256], next = 0;
    for (std::size_t v = 0; v < 256; ++v) places[v] = next, next += counts[d][v];
    for (std::uint32_t i = 0; i < n; ++i) b[places[digit(a[i].key, d)]++] = a[i];
    std::swap(a, b);
  }
  return a;
}

/// Moves the first `count` of n entries in order to the front. Returns where they then are.
template <class Key>
sort_entry<Key>* first_in_order(sort_entry<Key>* a, sort_entry<Key>* b, std::ptrdiff_t n, std::ptrdiff_t count) {
  if (count == n && n > 64) return sort_by_bytes(a, b, static_cast<std::uint32_t>(n));
  if (count < n) std::nth_element(a, a + count, a + n);
  std::sort(a, a + count);
  return a;
}

template <class T>
void sort_all(sort_lines const& l, T const* x, T* values, void* indices, void* scratch, parallel const& threads) {
  using entry = sort_entry<sort_key<T>>;
  auto const lines = l.outer * l.inner;
  threads(static_cast<std::size_t>(l.threads), [&](std::size_t which) {
    auto const slot = static_cast<std::ptrdiff_t>(which);
    entry* const room = static_cast<entry*>(scratch) + 2 * slot * l.extent;
    for (auto line = lines * slot / l.threads; line < lines * (slot + 1) / l.threads; ++line) {
      T const* const from = x + line / l.inner * l.extent * l.inner + line % l.inner;
      for (std::ptrdiff_t i = 0; i < l.extent; ++i) {
        auto const key = key_of(from[i * l.inner]);
        room[i] = {l.descending ? static_cast<sort_key<T>>(~key) : key, static_cast<std::uint32_t>(i)};
      }
      entry const* const sorted = first_in_order(room, room + l.extent, l.extent, l.count);
      auto const to = line / l.inner * l.count * l.inner + line % l.inner;
      for (std::ptrdiff_t i = 0; i < l.count; ++i) {
        auto const place = sorted[i].index;
        values[to + i * l.inner] = from[static_cast<std::ptrdiff_t>(place) * l.inner];
        if (l.wide) static_cast<std::int64_t*>(indices)[to + i * l.inner] = place;
        else static_cast<std::int32_t*>(indices)[to + i * l.inner] = static_cast<std::int32_t>(place);
      }
    }
  });
}

}  // namespace rill::kernels
