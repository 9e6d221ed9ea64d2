// Where the largest, or the smallest, elements over a middle extent are, on raw pointers.
#pragma once
#include "rill/ops/sum/reduce_kernels.hpp"

namespace rill::kernels {

namespace detail {

// Which of two is wanted: the larger or the smaller one.
struct larger {
  template <class V> static auto before(V x, V best) { return x > best; }
};
struct smaller {
  template <class V> static auto before(V x, V best) { return x < best; }
};

// `x` comes before the best so far: it is wanted more, or the first NaN.
template <class Wanted, class V> inline bool takes_over(V x, V best) {
  return Wanted::before(x, best) | ((x != x) & (best == best));
}

// Whether any of 128 bytes' elements may take over.
template <class Wanted, class V> inline bool may_take_over(V const* at, typename native<V>::type best) {
  using lanes = typename native<V>::type;
  auto found = lanes{} != lanes{};
#pragma GCC unroll 8
  for (index r = 0; r < 128 / register_bytes; ++r) {
    lanes const x = native<V>::load(at + r * native<V>::lanes);
    found |= Wanted::before(x, best) | (x != x);
  }
  unsigned long long words[register_bytes / 8], any = 0;
  __builtin_memcpy(words, &found, sizeof words);
  for (auto const word : words) any |= word;
  return any != 0;
}

template <class Wanted, class V, class T, class Index> inline Index best_of_line(T const* at, index count) {
  V best = static_cast<V>(at[0]);
  index place = 0, i = 1;
  auto const look_to = [&](index end) {
    for (; i < end; ++i) {
      V const x = static_cast<V>(at[i]);
      if (takes_over<Wanted>(x, best)) best = x, place = i;
    }
  };
  if constexpr (std::is_same_v<V, T>) {
    constexpr index line = 128 / sizeof(V);
    while (i + line <= count && best == best) {
      if (may_take_over<Wanted>(at + i, native<V>::broadcast(best))) look_to(i + line);
      else i += line;
    }
  }
  if (best == best) look_to(count);
  return static_cast<Index>(place);
}

// Of `count` columns, whose rows are `row` apart.
template <class Wanted, class V, class T, class Index>
inline void best_of_columns(T const* at, index rows, index row, index count, Index* to) {
  V best[64];
  for (index j = 0; j < count; ++j) best[j] = static_cast<V>(at[j]), to[j] = 0;
  for (index i = 1; i < rows; ++i) {
    for (index j = 0; j < count; ++j) {
      V const x = static_cast<V>(at[i * row + j]);
      bool const take = takes_over<Wanted>(x, best[j]);
      best[j] = take ? x : best[j];
      to[j] = take ? static_cast<Index>(i) : to[j];
    }
  }
}

template <class Wanted, class T, class Index>
void best_places(reduce_shape const& s, T const* from, Index* to, parallel const& threads) noexcept {
  using V = typename maximum<T>::value;
  index const block = 64, blocks = divide_up(s.inner, block);
  index const size = upper(1, s.middle * lower(s.inner, block));
  share(threads, s.outer * blocks, divide_up(1 << 15, size), [&](index begin, index end) {
    for (index unit = begin; unit < end; ++unit) {
      index const outer = unit / blocks, column = unit % blocks * block;
      T const* const at = from + outer * s.middle * s.inner + column;
      Index* const result = to + outer * s.inner + column;
      if (s.inner == 1) *result = best_of_line<Wanted, V, T, Index>(at, s.middle);
      else best_of_columns<Wanted, V>(at, s.middle, s.inner, lower(block, s.inner - column), result);
    }
  });
}

}  // namespace detail

/// Computes the index, within the middle extent, of its largest element: the first of equals; the first NaN, if there
/// is one. The middle extent is at least 1.
template <class T, class Index>
void argmax(reduce_shape const& s, T const* from, Index* to, parallel const& threads) noexcept {
  detail::best_places<detail::larger>(s, from, to, threads);
}

/// Computes the same of its smallest element.
template <class T, class Index>
void argmin(reduce_shape const& s, T const* from, Index* to, parallel const& threads) noexcept {
  detail::best_places<detail::smaller>(s, from, to, threads);
}

}  // namespace rill::kernels
