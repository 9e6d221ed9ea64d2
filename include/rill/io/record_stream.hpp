// The common part of record readers: position, seeking, and errors that name the position.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "rill/base/error.hpp"
#include "rill/io/byte_stream.hpp"

namespace rill {

/// The default bound on the bytes of a record: 1 GiB.
inline constexpr std::uint64_t max_record_bytes = std::uint64_t{1} << 30;

/// The position of the next record: its first byte, counted after decompression, and the number of records before it.
struct record_position {
  std::uint64_t byte = 0, record = 0;
  friend bool operator==(record_position const&, record_position const&) = default;
};

namespace records {

/// Throws an error such as "'train.tfrecord', record 3 at byte 120: the checksum of its bytes is wrong". Records count
/// from 1.
[[noreturn]] void fail(std::string_view file, record_position at, std::string const& why,
                       error_kind kind = code::data_loss);

/// Calls `f` and puts the position of a record before the sentence of its error.
template <class F> auto naming(std::string_view file, record_position at, F f) {
  try {
    return f();
  } catch (error const& e) {
    fail(file, at, e.message(), e.kind());
  }
}

void check_length(std::uint64_t length, std::uint64_t most);

}  // namespace records

/// A stream of bytes and its position in records.
class record_stream {
 public:
  explicit record_stream(byte_stream from) : from_(std::move(from)) {}

  std::string const& name() const { return from_.name(); }
  record_position position() const { return at_; }
  /// Moves to a position that `position` returned, for this reader or for another one of the same file.
  void seek(record_position to) {
    try {
      from_.seek(to.byte);
    } catch (error const& e) {  // without memory to decompress it again, `take_record` moves there later
      if (e.code() == code::resource_exhausted) at_ = to;
      throw;
    }
    at_ = to;
  }

 protected:
  /// Calls `f` to read a record from the stream; its result is empty at the end. After an error the position is
  /// unchanged.
  template <class F> auto take_record(F f) {
    return records::naming(name(), at_, [&] {
      from_.seek(at_.byte);
      auto record = f();
      if (record) at_ = {from_.position(), at_.record + 1};
      return record;
    });
  }

  byte_stream from_;
  record_position at_;
};

#if RILL_IO_RUNTIME

namespace records {

RILL_IO_INLINE void fail(std::string_view file, record_position at, std::string const& why, error_kind kind) try {
  throw error(kind, "'" + std::string(file) + "', record " + std::to_string(at.record + 1) + " at byte " +
                        std::to_string(at.byte) + ": " + why);
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE void check_length(std::uint64_t length, std::uint64_t most) {
  if (length > most)
    throw error(code::resource_exhausted, "the record has " + std::to_string(length) + " bytes, more than the " +
                                              std::to_string(most) + " allowed");
}

}  // namespace records

#endif

}  // namespace rill
