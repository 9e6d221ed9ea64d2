// Little-endian and big-endian numbers in the bytes of a file.
#pragma once
#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace rill {

static_assert(std::endian::native == std::endian::little,
              "rill's file formats copy little-endian elements as they lie in memory");

/// Returns the little-endian number at `p`.
template <std::unsigned_integral T> T load_little(char const* p) {
  T x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

/// Returns the big-endian number at `p`.
template <std::unsigned_integral T> T load_big(char const* p) {
  T x = 0;
  for (std::size_t i = 0; i < sizeof x; ++i) x = static_cast<T>(x << 8 | static_cast<unsigned char>(p[i]));
  return x;
}

/// Appends the bytes of x, the least first.
template <std::unsigned_integral T> void append_little(std::string& to, T x) {
  to.append(reinterpret_cast<char const*>(&x), sizeof x);
}

/// Appends the bytes of x, the greatest first.
template <std::unsigned_integral T> void append_big(std::string& to, T x) {
  append_little(to, x);
  std::reverse(to.end() - static_cast<std::ptrdiff_t>(sizeof x), to.end());
}

/// Reverses the bytes of each of `count` numbers of `width` bytes.
inline void reverse_bytes(void* first, std::size_t count, std::size_t width) {
  auto* p = static_cast<char*>(first);
  for (std::size_t i = 0; width > 1 && i < count; ++i, p += width) std::reverse(p, p + width);
}

}  // namespace rill
