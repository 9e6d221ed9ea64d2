// IDX files, the format of MNIST and related data sets: plain or compressed by gzip.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "rill/io/bytes.hpp"
#include "rill/io/file.hpp"
#include "rill/io/gzip.hpp"
#include "rill/tensor/tensor.hpp"

namespace rill {

namespace idx {

inline constexpr std::pair<unsigned char, dtype> types[] = {{0x08, dtype::uint8},   {0x09, dtype::int8},
                                                            {0x0b, dtype::int16},   {0x0c, dtype::int32},
                                                            {0x0d, dtype::float32}, {0x0e, dtype::float64}};

/// The header of an IDX file: 0, 0, a code of the element type, the rank, and 32 bits for each extent.
struct header {
  dtype element;
  rill::shape shape;
  std::size_t length = 4;   ///< bytes of the header
  std::uint64_t total = 0;  ///< bytes of the whole file

  explicit header(std::string_view bytes);

 private:
  static dtype element_of(std::string_view bytes);
};

/// The bytes of the longest header.
inline constexpr std::size_t longest_header = 4 + 4 * max_rank;

}  // namespace idx

/// Parses the bytes of an IDX file, compressed by gzip or not. Throws error(invalid_argument) for other bytes, and
/// error(data_loss), before anything is allocated, if the number of bytes differs from the header.
tensor parse_idx(std::string_view bytes, std::uint64_t most = max_file_bytes);

/// Reads an IDX file of at most `most` bytes, compressed and decompressed.
tensor read_idx(std::filesystem::path const& path, std::uint64_t most = max_file_bytes);

/// Returns a tensor as the bytes of an IDX file; throws error(unimplemented) for element types that the format doesn't
/// have.
std::string idx_bytes(tensor const& t);

/// Writes an IDX file, compressed if the name ends with ".gz"; it appears whole or not at all.
void write_idx(std::filesystem::path const& path, tensor const& t);

#if RILL_IO_RUNTIME

namespace idx {

RILL_IO_INLINE header::header(std::string_view bytes) : element(element_of(bytes)) {
  auto const rank = static_cast<unsigned char>(bytes[3]);
  if (rank > max_rank)
    throw error(code::invalid_argument, "an IDX file holds rank " + std::to_string(rank) + "; rill's ranks are 0 to 8");
  if (bytes.size() < 4u + 4u * rank) throw error(code::data_loss, "an IDX file ends within its header");
  for (std::size_t i = 0; i < rank; ++i, length += 4) shape.push_back(load_big<std::uint32_t>(&bytes[length]));
  total = length +
          static_cast<std::uint64_t>(checked_product(elements(shape), static_cast<std::int64_t>(size_of(element))));
}

RILL_IO_INLINE dtype header::element_of(std::string_view bytes) {
  if (bytes.size() < 4 || bytes[0] != 0 || bytes[1] != 0)
    throw error(code::invalid_argument, "these bytes are not an IDX file, which begins with two zero bytes");
  for (auto const& [number, d] : types)
    if (number == static_cast<unsigned char>(bytes[2])) return d;
  throw error(code::invalid_argument, "an IDX file names the element type " +
                                          std::to_string(static_cast<unsigned char>(bytes[2])) +
                                          ", which the format doesn't have");
}

}  // namespace idx

RILL_IO_INLINE tensor parse_idx(std::string_view bytes, std::uint64_t most) try {
  std::string expanded;
  if (is_gzip(bytes)) {
    idx::header const h(gunzip_start(bytes, idx::longest_header));
    if (h.total > most)
      throw error(code::resource_exhausted, "an IDX file decompresses to " + std::to_string(h.total) +
                                                " bytes, but at most " + std::to_string(most) + " are allowed");
    bytes = expanded = gunzip(bytes, h.total);
  }
  idx::header const h(bytes);
  if (bytes.size() != h.total)
    throw error(code::data_loss, "an IDX file holds " + std::to_string(bytes.size()) + " bytes, but its header gives " +
                                     std::to_string(h.total));
  tensor t(h.element, h.shape);
  if (t.bytes() != 0) std::memcpy(t.mutable_raw(), &bytes[h.length], t.bytes());
  reverse_bytes(t.mutable_raw(), static_cast<std::size_t>(t.elements()), size_of(h.element));
  return t;
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE tensor read_idx(std::filesystem::path const& path, std::uint64_t most) try {
  auto const bytes = read_file(path, most);
  return files::naming(path, [&] { return parse_idx(bytes, most); });
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE std::string idx_bytes(tensor const& t) try {
  unsigned char number = 0;
  for (auto const& [each, d] : idx::types)
    if (d == t.element()) number = each;
  if (!t) throw error(code::failed_precondition, "an IDX file can't hold an empty tensor handle");
  if (number == 0)
    throw error(code::unimplemented,
                "IDX files have no element type " + std::string(name(t.element())) + ": cast first");
  std::string bytes{0, 0, static_cast<char>(number), static_cast<char>(t.rank())};
  for (auto extent : t.shape()) {
    expects(extent <= UINT32_MAX, "an extent of a tensor doesn't fit the 32 bits that an IDX file has for it");
    append_big(bytes, static_cast<std::uint32_t>(extent));
  }
  auto const length = bytes.size();
  bytes.append(static_cast<char const*>(t.to(host).raw()), t.bytes());
  reverse_bytes(&bytes[length], static_cast<std::size_t>(t.elements()), size_of(t.element()));
  return bytes;
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE void write_idx(std::filesystem::path const& path, tensor const& t) try {
  write_file(path, path.extension() == ".gz" ? gzip(idx_bytes(t)) : idx_bytes(t));
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill
