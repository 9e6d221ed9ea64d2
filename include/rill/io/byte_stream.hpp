// The bytes of a file as a stream, decompressed if they are gzip, in memory of a fixed size.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "rill/io/file.hpp"
#include "rill/io/gzip.hpp"

namespace rill {

/// A file, or bytes in memory, as a stream. Data that begins as gzip does is decompressed on the way, and every
/// position counts decompressed bytes.
class byte_stream {
 public:
  /// Opens a file; throws error(not_found) and the like. Files that are not regular, such as pipes, are read whole.
  explicit byte_stream(std::filesystem::path const& path);
  /// Returns a stream of `bytes`; errors call it `name`.
  static byte_stream of(std::string bytes, std::string name = "bytes");

  std::string const& name() const { return name_; }
  bool compressed() const { return expand_ != nullptr; }
  /// Returns the number of bytes; empty if it is known only at the end.
  std::optional<std::uint64_t> size() const;
  /// Returns the number of bytes consumed.
  std::uint64_t position() const { return position_; }

  /// Returns the next bytes without consuming them, valid until the next call: at least one, or none at the end. Throws
  /// error(data_loss) for invalid gzip data, and for a file that was truncated while it was read.
  std::string_view ready();
  /// Consumes `n` of the bytes that `ready` returned.
  void take(std::size_t n) {
    ready_.remove_prefix(n);
    position_ += n;
  }

  /// Appends at most `n` bytes to `to` and returns their number, which is smaller only at the end. Allocates at most
  /// twice the available bytes, whatever `n` is.
  std::size_t append(std::string& to, std::uint64_t n);

  /// Moves to a position; compressed data is decompressed again from the start to move backwards. Throws
  /// error(data_loss) beyond the end.
  void seek(std::uint64_t position);

 private:
  static constexpr std::size_t block = std::size_t{1} << 16;

  /// The stored bytes. The object has a fixed address, because the decompressor refers to it.
  struct source {
    std::optional<input_file> file;
    std::string bytes;  ///< all bytes, or a block of the file
    std::uint64_t at = 0;

    std::uint64_t size() const { return file ? file->size() : bytes.size(); }
    std::string_view next();
  };

  byte_stream(std::string bytes, std::string name);

  /// Moves to the start.
  void begin();
  [[noreturn]] void beyond(std::uint64_t position) const;

  std::string name_;
  std::unique_ptr<source> from_;
  std::unique_ptr<deflate::reader> expand_;
  std::string room_;
  std::string_view ready_;  ///< refers to the source, or to `room_`
  std::uint64_t position_ = 0;
  bool begun_ = false;  ///< false if there was no memory to begin again
};

#if RILL_IO_RUNTIME

RILL_IO_INLINE byte_stream::byte_stream(std::filesystem::path const& path) try
    : name_(path.string()), from_(std::make_unique<source>()) {
  from_->file.emplace(path);
  if (!from_->file->regular()) {
    from_->bytes = from_->file->read_all(max_file_bytes);
    from_->file.reset();
  }
  begin();
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE byte_stream byte_stream::of(std::string bytes, std::string name) try {
  return byte_stream(std::move(bytes), std::move(name));
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE std::optional<std::uint64_t> byte_stream::size() const {
  return compressed() ? std::nullopt : std::optional(from_->size());
}

RILL_IO_INLINE std::string_view byte_stream::ready() try {
  if (!begun_) begin();
  if (!ready_.empty()) return ready_;
  if (!compressed()) return ready_ = from_->next();
  if (room_.empty()) room_.resize(block);
  return ready_ = std::string_view(room_).substr(0, expand_->read_some(room_.data(), room_.size()));
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE std::size_t byte_stream::append(std::string& to, std::uint64_t n) try {
  auto const before = to.size();
  for (auto left = n; left > 0;) {
    auto const some = ready().substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left, block)));
    if (some.empty()) break;
    to += some;
    left -= some.size();
    take(some.size());
  }
  return to.size() - before;
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE void byte_stream::seek(std::uint64_t position) try {
  if (!begun_) begin();
  if (position >= position_ && position - position_ <= ready_.size())
    return take(static_cast<std::size_t>(position - position_));
  if (!compressed()) {
    if (position > from_->size()) beyond(position);
    ready_ = {};
    from_->at = position_ = position;
    return;
  }
  if (position < position_) begin();
  while (position_ < position) {
    auto const some = ready().size();
    if (some == 0) beyond(position);
    take(static_cast<std::size_t>(std::min<std::uint64_t>(some, position - position_)));
  }
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE std::string_view byte_stream::source::next() {
  if (!file) {
    auto const rest = std::string_view(bytes).substr(static_cast<std::size_t>(at));
    at = bytes.size();
    return rest;
  }
  bytes.resize(block);
  auto const n = file->read_some(at, bytes.data(), bytes.size());
  if (n == 0 && at < file->size())
    throw error(code::data_loss, "'" + file->path().string() + "' had " + std::to_string(file->size()) +
                                     " bytes when it was opened, and now ends at byte " + std::to_string(at));
  at += n;
  return std::string_view(bytes).substr(0, n);
}

RILL_IO_INLINE byte_stream::byte_stream(std::string bytes, std::string name) try
    : name_(std::move(name)), from_(std::make_unique<source>()) {
  from_->bytes = std::move(bytes);
  begin();
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE void byte_stream::begin() {
  begun_ = false;
  from_->at = position_ = 0;
  ready_ = {};
  auto const bytes = from_->next();
  if (!is_gzip(bytes)) ready_ = bytes;
  else {
    expand_.reset();
    expand_ = std::make_unique<deflate::reader>(
        [s = from_.get(), first = bytes]() mutable {
          auto const piece = std::exchange(first, {});
          return piece.empty() ? s->next() : piece;
        },
        deflate::form::gzip);
  }
  begun_ = true;
}

RILL_IO_INLINE void byte_stream::beyond(std::uint64_t position) const {
  throw error(code::data_loss, "can't move to byte " + std::to_string(position) + " of '" + name_ + "': it has " +
                                   std::to_string(size().value_or(position_)) + " bytes");
}

#endif

}  // namespace rill
