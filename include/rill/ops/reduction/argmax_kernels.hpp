// Where the largest elements over a middle extent are, on raw pointers.
#pragma once
#include "rill/ops/reduction/reduce_kernels.hpp"

namespace rill::kernels {

namespace detail {

// `x` comes before the largest so far: it is greater, or the first NaN.
template <class V> inline bool takes_over(V x, V largest) { return (x > largest) | ((x != x) & (largest == largest)); }

// Whether any of 128 bytes' elements may take over.
template <class V> inline bool may_take_over(V const* at, typename native<V>::type largest) {
  using lanes = typename native<V>::type;
  auto found = lanes{} != lanes{};
#pragma GCC unroll 8
  for (index r = 0; r < 128 / register_bytes; ++r) {
    lanes const x = native<V>::load(at + r * native<V>::lanes);
    found |= (x > largest) | (x != x);
  }
  unsigned long long words[register_bytes / 8], any = 0;
  __builtin_memcpy(words, &found, sizeof words);
  for (auto const word : words) any |= word;
  return any != 0;
}

template <class V, class T, class Index> inline Index argmax_line(T const* at, index count) {
  V largest = static_cast<V>(at[0]);
  index place = 0, i = 1;
  auto const look_to = [&](index end) {
    for (; i < end; ++i) {
      V const x = static_cast<V>(at[i]);
      if (takes_over(x, largest)) largest = x, place = i;
    }
  };
  if constexpr (std::is_same_v<V, T>) {
    constexpr index line = 128 / sizeof(V);
    while (i + line <= count && largest == largest) {
      if (may_take_over(at + i, native<V>::broadcast(largest))) look_to(i + line);
      else i += line;
    }
  }
  if (largest == largest) look_to(count);
  return static_cast<Index>(place);
}

// Of `count` columns, whose rows are `row` apart.
template <class V, class T, class Index>
inline void argmax_columns(T const* at, index rows, index row, index count, Index* to) {
  V largest[64];
  for (index j = 0; j < count; ++j) largest[j] = static_cast<V>(at[j]), to[j] = 0;
  for (index i = 1; i < rows; ++i) {
    for (index j = 0; j < count; ++j) {
      V const x = static_cast<V>(at[i * row + j]);
      bool const take = takes_over(x, largest[j]);
      largest[j] = take ? x : largest[j];
      to[j] = take ? static_cast<Index>(i) : to[j];
    }
  }
}

}  // namespace detail

/// The index, within the middle extent, of its largest element: the first of equals; the first NaN, if there is one.
/// The middle extent is at least 1.
template <class T, class Index>
void argmax(reduce_shape const& s, T const* from, Index* to, parallel const& threads) noexcept {
  using V = typename maximum<T>::value;
  index const block = 64, blocks = detail::divide_up(s.inner, block);
  index const size = detail::upper(1, s.middle * detail::lower(s.inner, block));
  share(threads, s.outer * blocks, detail::divide_up(1 << 15, size), [&](index begin, index end) {
    for (index unit = begin; unit < end; ++unit) {
      index const outer = unit / blocks, column = unit % blocks * block;
      T const* const at = from + outer * s.middle * s.inner + column;
      Index* const result = to + outer * s.inner + column;
      if (s.inner == 1) *result = detail::argmax_line<V, T, Index>(at, s.middle);
      else detail::argmax_columns<V>(at, s.middle, s.inner, detail::lower(block, s.inner - column), result);
    }
  });
}

}  // namespace rill::kernels
