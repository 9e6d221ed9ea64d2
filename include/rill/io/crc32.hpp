// The checksum of zip, gzip and PNG: CRC-32 with the polynomial 0xedb88320.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rill {

namespace crc {

using tables = std::array<std::array<std::uint32_t, 256>, 8>;

/// Returns tables of which table k holds the checksums of one byte followed by k zero bytes, so that eight bytes are
/// processed at once. The polynomial is given with its lowest power first.
constexpr tables make_tables(std::uint32_t polynomial) {
  tables t{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ ((c & 1) != 0 ? polynomial : 0u);
    t[0][i] = c;
  }
  for (std::size_t k = 1; k < 8; ++k)
    for (std::size_t i = 0; i < 256; ++i) t[k][i] = (t[k - 1][i] >> 8) ^ t[0][t[k - 1][i] & 0xff];
  return t;
}
inline constexpr tables table = make_tables(0xedb88320u);

/// Returns the checksum of `bytes` for the polynomial of the tables, continuing from `before`.
constexpr std::uint32_t checksum(tables const& table_of, std::string_view bytes, std::uint32_t before) {
  auto const byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])); };
  std::uint32_t c = ~before;
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    std::uint32_t const low = c ^ (byte(i) | byte(i + 1) << 8 | byte(i + 2) << 16 | byte(i + 3) << 24);
    c = table_of[7][low & 0xff] ^ table_of[6][low >> 8 & 0xff] ^ table_of[5][low >> 16 & 0xff] ^
        table_of[4][low >> 24] ^ table_of[3][byte(i + 4)] ^ table_of[2][byte(i + 5)] ^ table_of[1][byte(i + 6)] ^
        table_of[0][byte(i + 7)];
  }
  for (; i < bytes.size(); ++i) c = (c >> 8) ^ table_of[0][(c ^ byte(i)) & 0xff];
  return ~c;
}

}  // namespace crc

/// Returns the checksum of `bytes`, continuing from `before`; equal to zlib.crc32 of Python.
constexpr std::uint32_t crc32(std::string_view bytes, std::uint32_t before = 0) {
  return crc::checksum(crc::table, bytes, before);
}

}  // namespace rill
