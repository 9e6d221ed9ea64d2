// Conversions between Unicode characters and UTF-8.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "rill/base/config.hpp"

namespace rill {

/// Whether `c` is a Unicode character: not a surrogate, and not beyond U+10FFFF.
constexpr bool is_character(char32_t c) { return c < 0xd800 || (c >= 0xe000 && c <= 0x10ffff); }

/// Appends the UTF-8 of a character, for which `is_character` must hold.
void append_utf8(std::string& to, char32_t c);

/// A character and the number of its bytes in UTF-8.
struct character {
  char32_t code;
  std::size_t bytes;
};
/// Returns the first character of `bytes`; empty if they don't begin with valid UTF-8.
std::optional<character> first_character(std::string_view bytes);

/// Returns the characters of `bytes`; empty if they are not UTF-8.
std::optional<std::u32string> decode_utf8(std::string_view bytes);

/// Returns `bytes` in a form that is safe to print to a terminal: invalid UTF-8 and control characters, except tabs and
/// line ends, become escapes such as `\x1b`.
std::string readable(std::string_view bytes);

#if RILL_RUNTIME

RILL_INLINE void append_utf8(std::string& to, char32_t c) {
  auto const rest = [&](int shift) { to += static_cast<char>(0x80 | (c >> shift & 0x3f)); };
  if (c < 0x80) to += static_cast<char>(c);
  else if (c < 0x800) to += static_cast<char>(0xc0 | c >> 6), rest(0);
  else if (c < 0x10000) to += static_cast<char>(0xe0 | c >> 12), rest(6), rest(0);
  else to += static_cast<char>(0xf0 | c >> 18), rest(12), rest(6), rest(0);
}

RILL_INLINE std::optional<character> first_character(std::string_view bytes) {
  constexpr char32_t smallest[] = {0, 0x80, 0x800, 0x10000};  // by the number of bytes
  if (bytes.empty()) return std::nullopt;
  auto const first = static_cast<unsigned char>(bytes[0]);
  std::size_t const more = first < 0x80 ? 0 : first >> 5 == 6 ? 1 : first >> 4 == 14 ? 2 : first >> 3 == 30 ? 3 : 4;
  if (more == 4 || more >= bytes.size()) return std::nullopt;
  char32_t c = more == 0 ? first : first & (0x3fu >> more);
  for (std::size_t k = 1; k <= more; ++k) {
    auto const next = static_cast<unsigned char>(bytes[k]);
    if (next >> 6 != 2) return std::nullopt;
    c = c << 6 | (next & 0x3fu);
  }
  if (c < smallest[more] || !is_character(c)) return std::nullopt;
  return character{c, more + 1};
}

RILL_INLINE std::optional<std::u32string> decode_utf8(std::string_view bytes) {
  std::u32string out;
  while (!bytes.empty()) {
    auto const c = first_character(bytes);
    if (!c) return std::nullopt;
    out += c->code;
    bytes.remove_prefix(c->bytes);
  }
  return out;
}

RILL_INLINE std::string readable(std::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    auto const c = first_character(bytes);
    auto const size = c ? c->bytes : 1;
    bool const shown =
        c && (c->code == '\n' || c->code == '\t' || (c->code >= 0x20 && (c->code < 0x7f || c->code >= 0xa0)));
    if (shown) out += bytes.substr(0, size);
    else
      for (char const each : bytes.substr(0, size)) {
        auto const byte = static_cast<unsigned char>(each);
        out += {'\\', 'x', "0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
      }
    bytes.remove_prefix(size);
  }
  return out;
}

#endif

}  // namespace rill
