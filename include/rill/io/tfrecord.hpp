// TFRecord files: a sequence of strings, each with its length and two checksums, plain or compressed by gzip.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "rill/io/byte_stream.hpp"
#include "rill/io/bytes.hpp"
#include "rill/io/file.hpp"
#include "rill/io/gzip.hpp"
#include "rill/io/record_stream.hpp"

#if RILL_IO_RUNTIME
#include "rill/io/crc32c.hpp"
#endif

namespace rill {

/// Reads the records of a TFRecord file one by one. Errors name the file, the record's number from 1 and its first
/// byte: error(data_loss) for a wrong checksum and for a truncated record, error(resource_exhausted) for a record
/// longer than `most` bytes. A length beyond the end of the file allocates no memory.
class tfrecord_reader : public record_stream {
 public:
  explicit tfrecord_reader(std::filesystem::path const& path, std::uint64_t most = max_record_bytes);
  /// Reads from a stream, for instance from bytes in memory: `tfrecord_reader(byte_stream::of(bytes))`.
  explicit tfrecord_reader(byte_stream from, std::uint64_t most = max_record_bytes);

  /// Returns the next record; empty at the end. After an error the reader stays before the record that caused it.
  std::optional<std::string> next();

 private:
  static constexpr std::size_t checksum_bytes = 4;

  /// Reads bytes and the checksum after them, and returns the bytes if the checksum is right.
  std::string take_checked(std::uint64_t length, char const* what);
  std::optional<std::uint64_t> take_length();

  std::uint64_t most_;
};

/// Appends a record in the format of TFRecord files.
void append_tfrecord(std::string& to, std::string_view record);

/// Writes a TFRecord file record by record, compressed by gzip if the name ends with ".gz". The file appears whole when
/// `commit` returns, or not at all.
class tfrecord_writer {
 public:
  explicit tfrecord_writer(std::filesystem::path const& path);

  /// Appends a record. After an error while records are written to the file, all later calls throw
  /// error(failed_precondition), and no file appears.
  void write(std::string_view record);
  /// Writes buffered records, syncs the file to the disk and gives it its name; nothing can be written afterwards.
  void commit() {
    flush(true);
    file_.commit();
  }

 private:
  static constexpr std::size_t block = std::size_t{1} << 16;

  /// Throws error(failed_precondition) after an error that may have left a part of a record in the file.
  void check_whole() const;
  void flush(bool last);

  output_file file_;
  std::unique_ptr<deflate::writer> compress_;
  std::string waiting_;
  bool whole_ = true;  ///< whether the file holds whole records
};

#if RILL_IO_RUNTIME

RILL_IO_INLINE tfrecord_reader::tfrecord_reader(std::filesystem::path const& path, std::uint64_t most) try
    : tfrecord_reader(byte_stream(path), most) {
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE tfrecord_reader::tfrecord_reader(byte_stream from, std::uint64_t most) try
    : record_stream(std::move(from)), most_(most) {
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE std::optional<std::string> tfrecord_reader::next() try {
  return take_record([&]() -> std::optional<std::string> {
    auto const length = take_length();
    if (!length) return std::nullopt;
    return take_checked(*length, "the record");
  });
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE std::string tfrecord_reader::take_checked(std::uint64_t length, char const* what) {
  std::string bytes;
  auto got = from_.append(bytes, length);
  if (got == length) got += from_.append(bytes, checksum_bytes);  // separately, because the sum may exceed 64 bits
  if (got < checksum_bytes || got - checksum_bytes != length)
    throw error(code::data_loss, "the file ends within " + std::string(what) + ": " + std::to_string(got) + " of " +
                                     std::to_string(length) + " + 4 bytes are present");
  auto const stored = load_little<std::uint32_t>(&bytes[static_cast<std::size_t>(length)]);
  bytes.resize(static_cast<std::size_t>(length));
  if (masked_crc32c(bytes) != stored)
    throw error(code::data_loss, "the checksum of " + std::string(what) + " is wrong");
  return bytes;
}

RILL_IO_INLINE std::optional<std::uint64_t> tfrecord_reader::take_length() {
  if (from_.ready().empty()) return std::nullopt;
  auto const length = load_little<std::uint64_t>(take_checked(sizeof(std::uint64_t), "a record's length").data());
  records::check_length(length, most_);
  return length;
}

RILL_IO_INLINE void append_tfrecord(std::string& to, std::string_view record) try {
  auto const start = to.size();
  to.reserve(start + record.size() + 16);  // all of it or nothing
  append_little(to, static_cast<std::uint64_t>(record.size()));
  append_little(to, masked_crc32c(std::string_view(to).substr(start)));
  to += record;
  append_little(to, masked_crc32c(record));
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE tfrecord_writer::tfrecord_writer(std::filesystem::path const& path) try : file_(path) {
  if (path.extension() == ".gz") compress_ = std::make_unique<deflate::writer>(deflate::form::gzip);
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE void tfrecord_writer::write(std::string_view record) try {
  check_whole();
  append_tfrecord(waiting_, record);
  if (waiting_.size() >= block) flush(false);
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE void tfrecord_writer::check_whole() const {
  if (!whole_)
    throw error(code::failed_precondition, "a TFRecord file can't be continued after an error: write it again");
}

RILL_IO_INLINE void tfrecord_writer::flush(bool last) try {
  check_whole();
  whole_ = false;
  if (compress_) {
    std::string compressed;
    compress_->write(waiting_, compressed, last);
    file_.write(compressed);
  } else {
    file_.write(waiting_);
  }
  waiting_.clear();
  whole_ = true;
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill
