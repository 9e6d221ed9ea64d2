// safetensors files: named tensors, readable from Python, each with a checksum.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/io/bytes.hpp"
#include "rill/io/file.hpp"
#include "rill/io/named_tensor.hpp"
#include "rill/io/safetensors_header.hpp"

namespace rill {

/// A safetensors file whose tensors are read one by one. Opening it reads and checks only the header.
class safetensors_file {
 public:
  /// Opens a file; throws error(not_found) and the like, and error(data_loss) for an invalid header.
  explicit safetensors_file(std::filesystem::path const& path);

  std::vector<safetensors::entry> const& entries() const { return header_.entries; }
  /// Returns the file's metadata, without the checksums.
  safetensors::metadata const& metadata() const { return header_.metadata; }

  bool contains(std::string_view name) const { return find(name) != nullptr; }
  /// Returns the entry of this name; null if there is none.
  safetensors::entry const* find(std::string_view name) const;
  /// Reads the tensor of this name; throws error(not_found) if there is none, and error(data_loss) if its checksum is
  /// wrong.
  tensor read(std::string_view name) const;
  tensor read(safetensors::entry const& e, allocator& memory = host_allocator()) const;

 private:
  static safetensors::header read_header(input_file const& file, std::uint64_t& start);

  input_file file_;
  std::uint64_t start_ = 0;
  safetensors::header header_;
  std::vector<std::uint32_t> by_name_;  // the entries in the order of their names
};

/// Reads all tensors of a safetensors file, in the header's order; also stores its metadata in `words`, if that isn't
/// null.
std::vector<named_tensor> read_safetensors(std::filesystem::path const& path, safetensors::metadata* words = nullptr);

/// The same for the bytes of such a file.
std::vector<named_tensor> parse_safetensors(std::string_view bytes, safetensors::metadata* words = nullptr);

namespace safetensors {
/// Throws for tensors that the format can't hold: error(unimplemented) for strings and complex128, and
/// error(invalid_argument) for the reserved name.
void check_entry(std::string_view tensor, dtype element);
}  // namespace safetensors

/// Returns tensors and metadata as the bytes of a safetensors file. Throws error(unimplemented) for strings and
/// complex128, which the format doesn't have, and error(invalid_argument) for names that are duplicate or not UTF-8.
std::string safetensors_bytes(std::span<named_tensor const> tensors, safetensors::metadata const& words = {});

/// Writes a safetensors file, which appears whole or not at all.
void write_safetensors(std::filesystem::path const& path, std::span<named_tensor const> tensors,
                       safetensors::metadata const& words = {});

#if RILL_IO_RUNTIME

namespace safetensors {

/// Returns the length of the header, checked against the file's `bytes`.
RILL_IO_INLINE std::uint64_t checked_length(std::uint64_t length, std::uint64_t bytes) {
  if (length > longest_header || length > bytes - 8)
    fail("it claims to have " + std::to_string(length) + " bytes, more than the file or the format allows");
  return length;
}

RILL_IO_INLINE void check_beginning(std::uint64_t bytes) {
  if (bytes < 8) fail("the file is shorter than the 8 bytes of the header's length");
}

/// Returns the tensor of an entry, whose bytes `read(begin, to, count)` reads.
template <class Read> tensor load(entry const& e, allocator& memory, Read read) {
  tensor t(e.element, e.shape, memory);
  if (t.bytes() != 0) read(e.begin, t.mutable_raw(), t.bytes());
  std::string_view const bytes(static_cast<char const*>(t.raw()), t.bytes());
  if (e.checksum && *e.checksum != checksum_of(e.element, e.shape, bytes))
    throw error(code::data_loss, "the checksum of tensor '" + e.name + "' is wrong: its bytes are damaged");
  if (e.element == dtype::boolean && std::any_of(bytes.begin(), bytes.end(), [](char b) { return b != 0 && b != 1; }))
    throw error(code::data_loss, "tensor '" + e.name + "' has bytes other than 0 and 1 as bools");
  return t;
}

}  // namespace safetensors

RILL_IO_INLINE safetensors_file::safetensors_file(std::filesystem::path const& path) try
    : file_(path), header_(read_header(file_, start_)), by_name_(header_.entries.size()) {
  std::iota(by_name_.begin(), by_name_.end(), 0u);
  std::sort(by_name_.begin(), by_name_.end(),
            [&](std::uint32_t a, std::uint32_t b) { return entries()[a].name < entries()[b].name; });
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE tensor safetensors_file::read(std::string_view name) const try {
  if (auto const* e = find(name)) return read(*e);
  throw error(code::not_found, "'" + file_.path().string() + "' has no tensor '" + std::string(name) + "'");
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE tensor safetensors_file::read(safetensors::entry const& e, allocator& memory) const try {
  return files::naming(file_.path(), [&] {
    return safetensors::load(
        e, memory, [&](std::uint64_t at, void* to, std::size_t count) { file_.read_at(start_ + at, to, count); });
  });
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE safetensors::header safetensors_file::read_header(input_file const& file, std::uint64_t& start) {
  return files::naming(file.path(), [&] {
    safetensors::check_beginning(file.size());
    char length[8];
    file.read_at(0, length, 8);
    start = 8 + safetensors::checked_length(load_little<std::uint64_t>(length), file.size());
    std::string json(static_cast<std::size_t>(start - 8), ' ');
    file.read_at(8, json.data(), json.size());
    return safetensors::header(json, file.size() - start);
  });
}

RILL_IO_INLINE safetensors::entry const* safetensors_file::find(std::string_view name) const {
  auto const at = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                   [&](std::uint32_t i, std::string_view n) { return entries()[i].name < n; });
  return at != by_name_.end() && entries()[*at].name == name ? &entries()[*at] : nullptr;
}

RILL_IO_INLINE std::vector<named_tensor> read_safetensors(std::filesystem::path const& path,
                                                          safetensors::metadata* words) try {
  safetensors_file const file(path);
  std::vector<named_tensor> out;
  for (auto const& e : file.entries()) out.push_back({e.name, file.read(e)});
  if (words != nullptr) *words = file.metadata();
  return out;
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE std::vector<named_tensor> parse_safetensors(std::string_view bytes, safetensors::metadata* words) try {
  safetensors::check_beginning(bytes.size());
  auto const start = 8 + safetensors::checked_length(load_little<std::uint64_t>(bytes.data()), bytes.size());
  auto const data = bytes.substr(start);
  safetensors::header const header(bytes.substr(8, start - 8), data.size());
  std::vector<named_tensor> out;
  for (auto const& e : header.entries)
    out.push_back({e.name, safetensors::load(e, host_allocator(), [&](std::uint64_t at, void* to, std::size_t count) {
                     std::memcpy(to, data.data() + at, count);
                   })});
  if (words != nullptr) *words = header.metadata;
  return out;
} catch (...) {
  rethrow_as_error();
}

namespace safetensors {

RILL_IO_INLINE std::string_view bytes_of(tensor const& t) { return {static_cast<char const*>(t.raw()), t.bytes()}; }

RILL_IO_INLINE void check_entry(std::string_view tensor, dtype element) try {
  if (tensor == "__metadata__")
    throw error(code::invalid_argument, "the name '__metadata__' is reserved by the format: rename the tensor");
  if (name_of(element).empty())
    throw error(code::unimplemented, "safetensors files can't hold " + std::string(name(element)) + ": tensor '" +
                                         std::string(tensor) + "' can't be written");
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE entry entry_for(named_tensor const& t, metadata& words) {
  auto const element = t.value.element();
  check_entry(t.name, element);
  char sum[9];
  std::snprintf(sum, sizeof sum, "%08x",
                static_cast<unsigned>(checksum_of(element, t.value.shape(), bytes_of(t.value))));
  words[std::string(checksum_key) + t.name] = sum;
  return {t.name, element, t.value.shape(), 0, 0, {}};
}

/// Calls `put` with the pieces of the file. Tensors with the widest elements come first, so that all are aligned in a
/// mapped file.
template <class Put> void write(std::span<named_tensor const> anywhere, metadata words, Put put) {
  check_names(anywhere);
  std::vector<named_tensor> tensors;  // on the host
  for (auto const& t : anywhere) tensors.push_back({t.name, t.value.to(host)});
  for (auto const& [key, value] : words)
    if (key.starts_with(checksum_key))
      throw error(code::invalid_argument, "the metadata key '" + key + "' is reserved for the checksum of a tensor");
  std::vector<entry> entries;
  for (auto const& t : tensors) entries.push_back(entry_for(t, words));
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    auto const wide_a = size_of(entries[a].element), wide_b = size_of(entries[b].element);
    return wide_a != wide_b ? wide_a > wide_b : a < b;
  });
  std::uint64_t at = 0;
  for (auto i : order) {
    entries[i].begin = at;
    entries[i].end = at += tensors[i].value.bytes();
  }
  put(header_bytes(entries, words));
  for (auto i : order) put(bytes_of(tensors[i].value));
}

}  // namespace safetensors

RILL_IO_INLINE std::string safetensors_bytes(std::span<named_tensor const> tensors,
                                             safetensors::metadata const& words) try {
  std::string bytes;
  safetensors::write(tensors, words, [&](std::string_view piece) { bytes += piece; });
  return bytes;
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE void write_safetensors(std::filesystem::path const& path, std::span<named_tensor const> tensors,
                                      safetensors::metadata const& words) try {
  output_file file(path);
  safetensors::write(tensors, words, [&](std::string_view piece) { file.write(piece); });
  file.commit();
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill
