// A file as one record, for images and the like.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "rill/io/file.hpp"
#include "rill/io/record_stream.hpp"

namespace rill {

/// Reads a file as a single record, without decompression. The file is opened when the record is read.
class whole_file_reader {
 public:
  explicit whole_file_reader(std::filesystem::path path, std::uint64_t most = max_record_bytes);

  /// Returns all bytes, and empty after that. Throws error(not_found) and the like, and error(resource_exhausted) if
  /// there are more than `most` bytes.
  std::optional<std::string> next();

  std::string const& name() const { return name_; }
  record_position position() const { return at_; }
  void seek(record_position to) { at_ = to; }

 private:
  std::filesystem::path path_;
  std::string name_;
  std::uint64_t most_;
  record_position at_;
};

#if RILL_IO_RUNTIME

RILL_IO_INLINE whole_file_reader::whole_file_reader(std::filesystem::path path, std::uint64_t most) try
    : path_(std::move(path)), name_(path_.string()), most_(most) {
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE std::optional<std::string> whole_file_reader::next() try {
  if (at_.record > 0) return std::nullopt;
  auto bytes = read_file(path_, most_);
  at_ = {bytes.size(), 1};
  return bytes;
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill
