// The records of a CSV file as text, each of which decode_csv takes, and parse_csv with `file_start = false`.
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

/// Follows text piece by piece and knows whether it stands within quotes.
class quotes {
 public:
  explicit quotes(char delimiter) : delimiter_(delimiter) {}
  bool open() const { return state_ == within; }
  void follow(std::string_view text) {
    for (char c : text) state_ = after(c);
  }

 private:
  enum where { start, plain, within, closed };  // a quote counts at a field's start only; "" within stands for one

  where after(char c) const;

  char delimiter_;
  where state_ = start;
};

}  // namespace csv

/// The records of a CSV file as they stand there, without the end of the line and carriage returns before it; quoted
/// fields may hold such ends. Header lines, empty lines and a byte order mark at the start are skipped. Read by
/// `parse_csv` with `file_start = false`, they give what the whole file does.
class csv_record_reader : public record_stream {
 public:
  explicit csv_record_reader(std::filesystem::path const& path, csv_options const& options = {},
                             std::uint64_t most = most_record_bytes);
  explicit csv_record_reader(byte_stream from, csv_options const& options = {}, std::uint64_t most = most_record_bytes);

  /// The next record, or nothing at the end. Throws error(invalid_argument) for quotes that nothing closes.
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
                                                    std::uint64_t most)
    : csv_record_reader(byte_stream(path), options, most) {}

RILL_IO_INLINE csv_record_reader::csv_record_reader(byte_stream from, csv_options const& options, std::uint64_t most)
    : record_stream(std::move(from)), options_(options), most_(most) {}

RILL_IO_INLINE std::optional<std::string> csv_record_reader::next() {
  return take_record([&]() -> std::optional<std::string> {
    if (at_.byte == 0) skip_header();
    std::string record;
    while (record.empty() && !from_.ready().empty()) take_lines(record);
    return record.empty() ? std::nullopt : std::optional(std::move(record));
  });
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
    if (!ended) throw error(code::invalid_argument, "a quoted field has no end");
    to += '\n';
  }
  while (to.ends_with('\r')) to.pop_back();
}

#endif

}  // namespace rill
