// Between the characters of Unicode and their bytes.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "rill/base/config.hpp"

namespace rill {

constexpr bool is_character(char32_t c) { return c < 0xd800 || (c >= 0xe000 && c <= 0x10ffff); }

/// Appends a character, which must be one.
void append_utf8(std::string& to, char32_t c);

/// The characters of `bytes`, or nothing if they are not UTF-8.
std::optional<std::u32string> decode_utf8(std::string_view bytes);

#if RILL_RUNTIME

RILL_INLINE void append_utf8(std::string& to, char32_t c) {
  auto const rest = [&](int shift) { to += static_cast<char>(0x80 | (c >> shift & 0x3f)); };
  if (c < 0x80) to += static_cast<char>(c);
  else if (c < 0x800) to += static_cast<char>(0xc0 | c >> 6), rest(0);
  else if (c < 0x10000) to += static_cast<char>(0xe0 | c >> 12), rest(6), rest(0);
  else to += static_cast<char>(0xf0 | c >> 18), rest(12), rest(6), rest(0);
}

RILL_INLINE std::optional<std::u32string> decode_utf8(std::string_view bytes) {
  constexpr char32_t least[] = {0, 0x80, 0x800, 0x10000};
  std::u32string out;
  for (std::size_t i = 0; i < bytes.size();) {
    auto const first = static_cast<unsigned char>(bytes[i++]);
    std::size_t const more = first < 0x80 ? 0 : first >> 5 == 6 ? 1 : first >> 4 == 14 ? 2 : first >> 3 == 30 ? 3 : 4;
    if (more == 4 || more > bytes.size() - i) return std::nullopt;
    char32_t c = more == 0 ? first : first & (0x3fu >> more);
    for (std::size_t k = 0; k < more; ++k) {
      auto const next = static_cast<unsigned char>(bytes[i++]);
      if (next >> 6 != 2) return std::nullopt;
      c = c << 6 | (next & 0x3fu);
    }
    if (c < least[more] || !is_character(c)) return std::nullopt;
    out += c;
  }
  return out;
}

#endif

}  // namespace rill
