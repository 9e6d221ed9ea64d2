// Records of a fixed length, as in CIFAR's files, optionally between a header and a footer.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "rill/io/record_stream.hpp"

namespace rill {

/// The bytes of each record, and of a header and a footer that are skipped.
struct fixed_record_options {
  std::uint64_t record_bytes = 1, header_bytes = 0, footer_bytes = 0;
};

/// Reads records of a fixed length. Throws error(data_loss), with the position, for a truncated last record, and for a
/// file without room for header and footer.
class fixed_record_reader : record_stream {
 public:
  fixed_record_reader(std::filesystem::path const& path, fixed_record_options const& how);
  fixed_record_reader(byte_stream from, fixed_record_options const& how);

  using record_stream::name, record_stream::position;

  /// Returns the next record; empty at the end.
  std::optional<std::string> next();

  /// Moves to a position that `position` returned.
  void seek(record_position to) {
    ahead_.clear();
    record_stream::seek(to);
  }

 private:
  /// Reads a record and a footer ahead, because only the end of the file tells a footer from a record; returns false if
  /// only the footer is left.
  bool fill();

  fixed_record_options how_;
  std::string ahead_;  ///< bytes read from the stream but not returned
};

#if RILL_IO_RUNTIME

RILL_IO_INLINE fixed_record_reader::fixed_record_reader(std::filesystem::path const& path,
                                                        fixed_record_options const& how) try
    : fixed_record_reader(byte_stream(path), how) {
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE fixed_record_reader::fixed_record_reader(byte_stream from, fixed_record_options const& how) try
    : record_stream(std::move(from)), how_(how) {
  expects(how.record_bytes > 0, "record_bytes must be at least 1");
  expects(how.record_bytes <= max_record_bytes && how.footer_bytes <= max_record_bytes,
          "record_bytes and footer_bytes must be at most 1 GiB");
  at_.byte = how.header_bytes;
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE std::optional<std::string> fixed_record_reader::next() try {
  return records::naming(name(), at_, [&]() -> std::optional<std::string> {
    if (!fill()) return std::nullopt;
    auto record = ahead_.substr(0, static_cast<std::size_t>(how_.record_bytes));
    ahead_.erase(0, record.size());
    at_ = {at_.byte + record.size(), at_.record + 1};
    return record;
  });
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE bool fixed_record_reader::fill() {
  if (ahead_.empty()) from_.seek(at_.byte);
  auto const wanted = how_.record_bytes + how_.footer_bytes;
  from_.append(ahead_, wanted - ahead_.size());
  if (ahead_.size() == wanted) return true;
  if (ahead_.size() == how_.footer_bytes) return false;
  throw error(code::data_loss, "the file ends " + std::to_string(ahead_.size()) +
                                   " bytes after the start of a record of " + std::to_string(how_.record_bytes) +
                                   " bytes, before a footer of " + std::to_string(how_.footer_bytes));
}

#endif

}  // namespace rill
