// Records of one length, as CIFAR's files have them, perhaps between a header and a footer.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "rill/io/record_stream.hpp"

namespace rill {

/// How many bytes each record has, and how many at the file's start and end belong to none.
struct fixed_record_options {
  std::uint64_t record_bytes = 1, header_bytes = 0, footer_bytes = 0;
};

/// The records of a file of records of one length. Throws error(data_loss) with its place for a last record that is cut
/// off, and for a file without room for header and footer.
class fixed_record_reader : record_stream {
 public:
  fixed_record_reader(std::filesystem::path const& path, fixed_record_options const& how);
  fixed_record_reader(byte_stream from, fixed_record_options const& how);

  using record_stream::name, record_stream::position;

  /// The next record, or nothing at the end.
  std::optional<std::string> next();

  /// Goes to what `position` gave.
  void seek(record_position to) {
    ahead_.clear();
    record_stream::seek(to);
  }

 private:
  /// Reads a record and as many bytes as the footer has, which only the end tells from the next record; false if the
  /// footer alone is left.
  bool fill();

  fixed_record_options how_;
  std::string ahead_;  ///< what was read of the stream and not given
};

#if RILL_IO_RUNTIME

RILL_IO_INLINE fixed_record_reader::fixed_record_reader(std::filesystem::path const& path,
                                                        fixed_record_options const& how)
    : fixed_record_reader(byte_stream(path), how) {}

RILL_IO_INLINE fixed_record_reader::fixed_record_reader(byte_stream from, fixed_record_options const& how)
    : record_stream(std::move(from)), how_(how) {
  expects(how.record_bytes > 0, "records of a fixed length have at least one byte");
  expects(how.record_bytes <= most_record_bytes && how.footer_bytes <= most_record_bytes,
          "records of a fixed length, and the footer behind them, have at most 1 GiB");
  at_.byte = how.header_bytes;
}

RILL_IO_INLINE std::optional<std::string> fixed_record_reader::next() {
  return records::naming(name(), at_, [&]() -> std::optional<std::string> {
    if (!fill()) return std::nullopt;
    auto record = ahead_.substr(0, static_cast<std::size_t>(how_.record_bytes));
    ahead_.erase(0, record.size());
    at_ = {at_.byte + record.size(), at_.record + 1};
    return record;
  });
}

RILL_IO_INLINE bool fixed_record_reader::fill() {
  if (ahead_.empty()) from_.seek(at_.byte);
  auto const wanted = how_.record_bytes + how_.footer_bytes;
  from_.append(ahead_, wanted - ahead_.size());
  if (ahead_.size() == wanted) return true;
  if (ahead_.size() == how_.footer_bytes) return false;
  throw error(code::data_loss, "the file ends " + std::to_string(ahead_.size()) +
                                   " bytes behind the start of a record of " + std::to_string(how_.record_bytes) +
                                   " and a footer of " + std::to_string(how_.footer_bytes));
}

#endif

}  // namespace rill
