// Stand-in until reduce_kernels.hpp is there.
#pragma once
#include "rill/ops/for_each_type.hpp"
#include "rill/ops/reduction/axes.hpp"

namespace rill::kernels {
template <class T> void plain_sum(void* to, void const* from, std::size_t outer, std::size_t middle, std::size_t inner, bool mean) {
  using S = std::conditional_t<(sizeof(T) < 4 && !std::is_integral_v<T>), float, T>;
  auto* y = static_cast<T*>(to);
  auto const* x = static_cast<T const*>(from);
  for (std::size_t o = 0; o < outer; ++o)
    for (std::size_t i = 0; i < inner; ++i) {
      S s{};
      for (std::size_t m = 0; m < middle; ++m) s = static_cast<S>(s + static_cast<S>(x[(o * middle + m) * inner + i]));
      if constexpr (!std::is_integral_v<T>)
        if (mean) s = s / static_cast<S>(static_cast<float>(middle));
      y[o * inner + i] = static_cast<T>(s);
    }
}
template <class T, bool Mean> void plain(void* to, void const* from, std::size_t o, std::size_t m, std::size_t i, parallel const&) {
  plain_sum<T>(to, from, o, m, i, Mean);
}
template <class T> void plain_max(void* to, void const* from, std::size_t outer, std::size_t middle, std::size_t inner, parallel const&) {
  auto* y = static_cast<T*>(to);
  auto const* x = static_cast<T const*>(from);
  for (std::size_t o = 0; o < outer; ++o)
    for (std::size_t i = 0; i < inner; ++i) {
      T s = x[o * middle * inner + i];
      for (std::size_t m = 1; m < middle; ++m) {
        T const v = x[(o * middle + m) * inner + i];
        if (v > s || v != v) s = v;
      }
      y[o * inner + i] = s;
    }
}
template <class T, class I> void plain_argmax(void* to, void const* from, std::size_t outer, std::size_t middle, std::size_t inner, parallel const&) {
  auto* y = static_cast<I*>(to);
  auto const* x = static_cast<T const*>(from);
  for (std::size_t o = 0; o < outer; ++o)
    for (std::size_t i = 0; i < inner; ++i) {
      std::size_t at = 0;
      T s = x[o * middle * inner + i];
      for (std::size_t m = 1; m < middle && !(s != s); ++m) {
        T const v = x[(o * middle + m) * inner + i];
        if (v > s || v != v) s = v, at = m;
      }
      y[o * inner + i] = static_cast<I>(at);
    }
}
template <bool Mean> constexpr ops::reduction_table plain_table() {
  ops::reduction_table t;
  for_each_type<numbers>([&]<class T>(std::size_t d) { t.of[d] = plain<T, Mean>; });
  return t;
}
constexpr ops::reduction_table maxima() {
  ops::reduction_table t;
  for_each_type<reals>([&]<class T>(std::size_t d) { t.of[d] = plain_max<T>; });
  return t;
}
template <class Index> constexpr ops::reduction_table argmaxima() {
  ops::reduction_table t;
  for_each_type<reals>([&]<class T>(std::size_t d) { t.of[d] = plain_argmax<T, Index>; });
  return t;
}
constexpr ops::reduction_table sums() { return plain_table<false>(); }
constexpr ops::reduction_table means() { return plain_table<true>(); }
}  // namespace rill::kernels
