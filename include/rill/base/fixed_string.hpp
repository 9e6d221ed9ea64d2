// Text as a template argument.
#pragma once
#include <cstddef>
#include <string_view>

namespace rill {

/// The characters of a string literal as a structural value: `fuse<"swish">(…)`.
template <std::size_t N> struct fixed_string {
  char text[N] = {};
  constexpr fixed_string(char const (&literal)[N]) {
    for (std::size_t i = 0; i < N; ++i) text[i] = literal[i];
  }
  /// Copies the first N - 1 characters of `from`. The terminating zero is written explicitly, or clang would print the
  /// characters as numbers.
  constexpr explicit fixed_string(std::string_view from) {
    for (std::size_t i = 0; i < N; ++i) text[i] = i + 1 < N ? from[i] : '\0';
  }
  constexpr operator std::string_view() const { return {text, N - 1}; }
};

}  // namespace rill
