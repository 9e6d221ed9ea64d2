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
  constexpr operator std::string_view() const { return {text, N - 1}; }
};

}  // namespace rill
