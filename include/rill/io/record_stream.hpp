// What readers of records share: where they stand, how they go there, and how errors name that place.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "rill/base/error.hpp"
#include "rill/io/byte_stream.hpp"

namespace rill {

/// Readers take no longer record than this unless they are told another bound: 1 GiB.
inline constexpr std::uint64_t most_record_bytes = std::uint64_t{1} << 30;

/// Where the next record begins: in bytes, expanded ones if the file is compressed, and in records before it.
struct record_position {
  std::uint64_t byte = 0, record = 0;
  friend bool operator==(record_position const&, record_position const&) = default;
};

namespace records {

/// "'train.tfrecord', record 3 at byte 120: the checksum of its bytes is wrong". Records count from 1.
[[noreturn]] void fail(std::string_view file, record_position at, std::string const& why, code kind = code::data_loss);

/// Calls `f` and puts the place of a record before the sentence of its error.
template <class F> auto naming(std::string_view file, record_position at, F f) {
  try {
    return f();
  } catch (error const& e) {
    fail(file, at, e.message(), e.code());
  }
}

void check_length(std::uint64_t length, std::uint64_t most);

}  // namespace records

/// A stream of bytes and the record before which it stands.
class record_stream {
 public:
  explicit record_stream(byte_stream from) : from_(std::move(from)) {}

  std::string const& name() const { return from_.name(); }
  record_position position() const { return at_; }
  /// Goes to what `position` gave, of this reader or of another of the same file.
  void seek(record_position to) {
    from_.seek(to.byte);
    at_ = to;
  }

 protected:
  /// Calls `f` to take a record from the stream, or nothing at its end. After an error the stream stands where it did.
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

RILL_IO_INLINE void fail(std::string_view file, record_position at, std::string const& why, code kind) {
  throw error(kind, "'" + std::string(file) + "', record " + std::to_string(at.record + 1) + " at byte " +
                        std::to_string(at.byte) + ": " + why);
}

RILL_IO_INLINE void check_length(std::uint64_t length, std::uint64_t most) {
  if (length > most)
    throw error(code::resource_exhausted, "the record has " + std::to_string(length) + " bytes, more than the " +
                                              std::to_string(most) + " that it may have");
}

}  // namespace records

#endif

}  // namespace rill
