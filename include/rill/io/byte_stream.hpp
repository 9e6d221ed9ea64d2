// The bytes of a file from front to back, expanded if gzip compressed them, in memory of a fixed size.
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

/// A file, or bytes at hand, as a stream. What begins as gzip's files do is expanded on the way, and every position
/// counts expanded bytes.
class byte_stream {
 public:
  /// Throws error(not_found) and the like. What is no regular file, a pipe say, is read whole.
  explicit byte_stream(std::filesystem::path const& path);
  /// Bytes with a name for the sentences of errors.
  static byte_stream of(std::string bytes, std::string name = "bytes");

  std::string const& name() const { return name_; }
  bool compressed() const { return expand_ != nullptr; }
  /// How many bytes there are; nothing if only reading to the end would tell.
  std::optional<std::uint64_t> size() const;
  /// How many bytes were passed.
  std::uint64_t position() const { return position_; }

  /// Bytes that come next, good until the next call: at least one, or none at the end. They are not passed by this.
  /// Throws error(data_loss) for what gzip can't expand, and for a file that became shorter while it was read.
  std::string_view ready();
  /// Passes `n` of the bytes that are ready.
  void take(std::size_t n) {
    ready_.remove_prefix(n);
    position_ += n;
  }

  /// Appends at most `n` bytes to `to` and says how many; fewer only at the end. Whatever `n` claims, no more memory is
  /// asked for than twice what there is.
  std::size_t append(std::string& to, std::uint64_t n);

  /// Goes to a position. Compressed bytes are expanded again from the start if it lies behind. Throws
  /// error(data_loss) beyond the end.
  void seek(std::uint64_t position);

 private:
  static constexpr std::size_t block = std::size_t{1} << 16;

  /// The bytes as they are stored. It does not move, because the expanding reader keeps hold of it.
  struct source {
    std::optional<input_file> file;
    std::string bytes;  ///< all of them, or a block of the file
    std::uint64_t at = 0;

    std::uint64_t size() const { return file ? file->size() : bytes.size(); }
    std::string_view next();
  };

  byte_stream(std::string bytes, std::string name);

  /// Goes to the start.
  void begin();
  [[noreturn]] void beyond(std::uint64_t position) const;

  std::string name_;
  std::unique_ptr<source> from_;
  std::unique_ptr<deflate::reader> expand_;
  std::string room_;
  std::string_view ready_;  ///< of the source, or of `room_`
  std::uint64_t position_ = 0;
};

#if RILL_IO_RUNTIME

RILL_IO_INLINE byte_stream::byte_stream(std::filesystem::path const& path)
    : name_(path.string()), from_(std::make_unique<source>()) {
  from_->file.emplace(path);
  if (!from_->file->regular()) {
    from_->bytes = from_->file->read_all(most_file_bytes);
    from_->file.reset();
  }
  begin();
}

RILL_IO_INLINE byte_stream byte_stream::of(std::string bytes, std::string name) {
  return byte_stream(std::move(bytes), std::move(name));
}

RILL_IO_INLINE std::optional<std::uint64_t> byte_stream::size() const {
  return compressed() ? std::nullopt : std::optional(from_->size());
}

RILL_IO_INLINE std::string_view byte_stream::ready() {
  if (!ready_.empty()) return ready_;
  if (!compressed()) return ready_ = from_->next();
  if (room_.empty()) room_.resize(block);
  return ready_ = std::string_view(room_).substr(0, expand_->read_some(room_.data(), room_.size()));
}

RILL_IO_INLINE std::size_t byte_stream::append(std::string& to, std::uint64_t n) {
  auto const before = to.size();
  for (auto left = n; left > 0;) {
    auto const some = ready().substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left, block)));
    if (some.empty()) break;
    to += some;
    left -= some.size();
    take(some.size());
  }
  return to.size() - before;
}

RILL_IO_INLINE void byte_stream::seek(std::uint64_t position) {
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

RILL_IO_INLINE byte_stream::byte_stream(std::string bytes, std::string name)
    : name_(std::move(name)), from_(std::make_unique<source>()) {
  from_->bytes = std::move(bytes);
  begin();
}

RILL_IO_INLINE void byte_stream::begin() {
  from_->at = position_ = 0;
  ready_ = from_->next();
  if (!is_gzip(ready_)) return;
  expand_.reset();
  expand_ = std::make_unique<deflate::reader>(
      [s = from_.get(), first = std::exchange(ready_, {})]() mutable {
        auto const piece = std::exchange(first, {});
        return piece.empty() ? s->next() : piece;
      },
      deflate::form::gzip);
}

RILL_IO_INLINE void byte_stream::beyond(std::uint64_t position) const {
  throw error(code::data_loss, "'" + name_ + "' has no byte " + std::to_string(position) + " to go to: it has " +
                                   std::to_string(size().value_or(position_)));
}

#endif

}  // namespace rill
