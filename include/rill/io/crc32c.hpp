// Castagnoli's checksum, CRC-32C with the polynomial 0x82f63b78, and the masked form that TFRecord files store.
#pragma once
#include <cstdint>
#include <string_view>

#include "rill/io/crc32.hpp"

namespace rill {

namespace crc {
inline constexpr tables castagnoli = make_tables(0x82f63b78u);
}

/// Returns the CRC-32C of `bytes`, continuing from `before` (RFC 3720, appendix B.4 has examples).
constexpr std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0) {
  return crc::checksum(crc::castagnoli, bytes, before);
}

/// Returns the checksum as TFRecord stores it, rotated and offset, because the checksum of data that contains its own
/// checksum would be a constant.
constexpr std::uint32_t masked_crc32c(std::string_view bytes) {
  auto const c = crc32c(bytes);
  return (c >> 15 | c << 17) + 0xa282ead8u;
}

}  // namespace rill
