// The records of a CSV file as text, as decode_csv takes them, and parse_csv with `file_start = false`.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "rill/io/csv_fields.hpp"
#include "rill/io/text_lines.hpp"

namespace rill {

namespace csv {

/// Scans text piece by piece and knows whether a quoted field is open.
class quotes {
 public:
  explicit quotes(char delimiter) : delimiter_(delimiter) {}
  bool open() const { return state_ == within; }
  void follow(std::string_view text) {
    for (char c : text) state_ = after(c);
  }

 private:
  enum where { start, plain, within, closed };  // a quote opens only at a field's start; "" within quotes is a quote

  where after(char c) const;

  char delimiter_;
  where state_ = start;
};

}  // namespace csv

/// Reads the records of a CSV file as text, without the line end and carriage returns before it; quoted fields may
/// contain line ends. Header lines, empty lines and a byte order mark at the start are skipped. `parse_csv` with
/// `file_start = false` reads them to the same values as the whole file.
class csv_record_reader : public record_stream {
 public:
  explicit csv_record_reader(std::filesystem::path const& path, csv_options const& options = {},
                             std::uint64_t most = max_record_bytes);
  explicit csv_record_reader(byte_stream from, csv_options const& options = {}, std::uint64_t most = max_record_bytes);

  /// Returns the next record; empty at the end. Throws error(invalid_argument) for quotes that are not closed.
  std::optional<std::string> next();

 private:
  void skip_header();
  void take_lines(std::string& to);

  csv_options options_;
  std::uint64_t most_;
};

#if RILL_IO_RUNTIME

namespace csv {

RILL_IO_INLINE quotes::where quotes::after(char c) const {
  if (state_ == within) return c == '"' ? closed : within;
  if (c == delimiter_) return start;
  return c == '"' && state_ != plain ? within : plain;
}

}  // namespace csv

RILL_IO_INLINE csv_record_reader::csv_record_reader(std::filesystem::path const& path, csv_options const& options,
                                                    std::uint64_t most) try
    : csv_record_reader(byte_stream(path), options, most) {
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE csv_record_reader::csv_record_reader(byte_stream from, csv_options const& options,
                                                    std::uint64_t most) try
    : record_stream(std::move(from)), options_(options), most_(most) {
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE std::optional<std::string> csv_record_reader::next() try {
  return take_record([&]() -> std::optional<std::string> {
    if (at_.byte == 0) skip_header();
    std::string record;
    while (record.empty() && !from_.ready().empty()) take_lines(record);
    return record.empty() ? std::nullopt : std::optional(std::move(record));
  });
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE void csv_record_reader::skip_header() {
  std::string line;
  if (from_.append(line, csv::byte_order_mark.size()); !options_.file_start || line != csv::byte_order_mark)
    from_.seek(0);
  for (std::size_t i = 0; i < options_.header_lines && !from_.ready().empty(); ++i)
    line.clear(), records::take_line(from_, line, most_);
}

RILL_IO_INLINE void csv_record_reader::take_lines(std::string& to) {
  csv::quotes quotes(options_.delimiter);
  for (;;) {
    auto const before = to.size();
    bool const ended = records::take_line(from_, to, most_);
    quotes.follow(std::string_view(to).substr(before));
    if (!quotes.open()) break;
    if (!ended) throw error(code::invalid_argument, "a quoted field is not closed");
    to += '\n';
  }
  while (to.ends_with('\r')) to.pop_back();
}

#endif

}  // namespace rill
