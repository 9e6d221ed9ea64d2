// Reads and writes the first lanes of 64 bytes. AVX-512 has instructions for it, which touch no other memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#if defined(__AVX512BW__)
namespace rill::detail {

/// 64 bytes as words of `Size` bytes, for instructions that take a bit for each word.
template <std::size_t Size> struct words_of_64_bytes;
template <> struct words_of_64_bytes<1> {
  typedef char word;
  typedef word vector __attribute__((vector_size(64)));
};
template <> struct words_of_64_bytes<2> {
  typedef short word;
  typedef word vector __attribute__((vector_size(64)));
};
template <> struct words_of_64_bytes<4> {
  typedef int word;
  typedef word vector __attribute__((vector_size(64)));
};
template <> struct words_of_64_bytes<8> {
  typedef long long word;
  typedef word vector __attribute__((vector_size(64)));
};

// What the built-in functions take a pointer to: clang's take vectors where words are short.
#if defined(__clang__)
inline constexpr bool short_words_in_vectors = true;
#else
inline constexpr bool short_words_in_vectors = false;
#endif
template <std::size_t Size>
using masked_place = std::conditional_t<short_words_in_vectors && Size <= 2, typename words_of_64_bytes<Size>::vector,
                                        typename words_of_64_bytes<Size>::word>;

/// The number whose lowest `count` bits are set, count <= 64.
[[gnu::always_inline]] inline std::uint64_t lowest_bits(std::size_t count) {
  return count == 0 ? 0 : ~std::uint64_t{0} >> (64 - count);
}

/// Reads the first `count` elements; the others are zero.
template <class T> [[gnu::always_inline]] inline auto load_first(T const* from, std::size_t count) {
  constexpr auto size = sizeof(T);
  using vector = typename words_of_64_bytes<size>::vector;
  auto const* const at = reinterpret_cast<masked_place<size> const*>(from);
  auto const bits = lowest_bits(count);
  if constexpr (size == 1) return __builtin_ia32_loaddquqi512_mask(at, vector{}, bits);
  else if constexpr (size == 2) return __builtin_ia32_loaddquhi512_mask(at, vector{}, static_cast<std::uint32_t>(bits));
  else if constexpr (size == 4) return __builtin_ia32_loaddqusi512_mask(at, vector{}, static_cast<std::uint16_t>(bits));
  else return __builtin_ia32_loaddqudi512_mask(at, vector{}, static_cast<std::uint8_t>(bits));
}

/// Writes the first `count` elements.
template <class T, class Vector>
[[gnu::always_inline]] inline void store_first(T* to, Vector const& values, std::size_t count) {
  constexpr auto size = sizeof(T);
  auto const words = reinterpret_cast<typename words_of_64_bytes<size>::vector>(values);
  auto* const at = reinterpret_cast<masked_place<size>*>(to);
  auto const bits = lowest_bits(count);
  if constexpr (size == 1) __builtin_ia32_storedquqi512_mask(at, words, bits);
  else if constexpr (size == 2) __builtin_ia32_storedquhi512_mask(at, words, static_cast<std::uint32_t>(bits));
  else if constexpr (size == 4) __builtin_ia32_storedqusi512_mask(at, words, static_cast<std::uint16_t>(bits));
  else __builtin_ia32_storedqudi512_mask(at, words, static_cast<std::uint8_t>(bits));
}

}  // namespace rill::detail
#endif
