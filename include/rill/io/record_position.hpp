// Where a reader of records stands, and how errors name that place.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "rill/base/error.hpp"

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
[[noreturn]] inline void fail(std::string_view file, record_position at, std::string const& why,
                              code kind = code::data_loss) {
  throw error(kind, "'" + std::string(file) + "', record " + std::to_string(at.record + 1) + " at byte " +
                        std::to_string(at.byte) + ": " + why);
}

/// Calls `f` and puts the place of a record before the sentence of its error.
template <class F> auto naming(std::string_view file, record_position at, F f) {
  try {
    return f();
  } catch (error const& e) {
    fail(file, at, e.message(), e.code());
  }
}

}  // namespace records

}  // namespace rill
