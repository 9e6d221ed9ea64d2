// Compares a GPU's results with the processor's, bit by bit.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <type_traits>

namespace bench {

template <class T> std::string shown(T x) {
  char text[64];
  if constexpr (std::is_floating_point_v<T>) std::snprintf(text, sizeof text, "%a", static_cast<double>(x));
  else if constexpr (std::is_integral_v<T>) std::snprintf(text, sizeof text, "%lld", static_cast<long long>(x));
  else std::snprintf(text, sizeof text, "%#x", x.bits);
  return text;
}

template <class T> bool is_nan(T x) {
  if constexpr (std::is_integral_v<T>) return false;
  else if constexpr (std::is_floating_point_v<T>) return x != x;
  else return static_cast<float>(x) != static_cast<float>(x);
}

/// How many results differ. NaNs that differ in their bits alone are counted apart.
struct tally {
  std::uint64_t differing = 0, nan_bits = 0;
  std::string example;  ///< of results that differ; empty if none do

  void operator+=(tally const& more) {
    differing += more.differing, nan_bits += more.nan_bits;
    if (example.empty()) example = more.example;
  }
};

/// Compares n results; `place(i)` says which the i-th is.
template <class T, class F> tally compare(T const* ours, T const* theirs, std::size_t n, F const& place) {
  tally all;
  if (std::memcmp(ours, theirs, n * sizeof(T)) == 0) return all;
  for (std::size_t i = 0; i < n; ++i) {
    if (std::memcmp(ours + i, theirs + i, sizeof(T)) == 0) continue;
    bool const both = is_nan(ours[i]) && is_nan(theirs[i]);
    ++(both ? all.nan_bits : all.differing);
    if (!both && all.example.empty())
      all.example = place(i) + ": " + shown(ours[i]) + ", on the GPU " + shown(theirs[i]);
  }
  return all;
}

}  // namespace bench
