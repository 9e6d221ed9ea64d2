// The lines of a text file as records.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "rill/io/record_stream.hpp"

namespace rill {

namespace records {

/// Appends a line to `to`, without the LF that ends it, and returns whether there was an LF; the last line of a file
/// may have none.
bool take_line(byte_stream& from, std::string& to, std::uint64_t most);

}  // namespace records

/// Reads the lines of a file, without the LF or CR LF at their ends; the last line may have none. Throws
/// error(resource_exhausted) for a line of more than `most` bytes.
class text_line_reader : public record_stream {
 public:
  explicit text_line_reader(std::filesystem::path const& path, std::uint64_t most = max_record_bytes);
  explicit text_line_reader(byte_stream from, std::uint64_t most = max_record_bytes);

  /// Returns the next line; empty at the end.
  std::optional<std::string> next();

 private:
  std::uint64_t most_;
};

#if RILL_IO_RUNTIME

namespace records {

RILL_IO_INLINE bool take_line(byte_stream& from, std::string& to, std::uint64_t most) {
  for (auto some = from.ready(); !some.empty(); some = from.ready()) {
    auto const end = some.find('\n');
    to += some.substr(0, end);
    check_length(to.size(), most);
    from.take(end == some.npos ? some.size() : end + 1);
    if (end != some.npos) return true;
  }
  return false;
}

}  // namespace records

RILL_IO_INLINE text_line_reader::text_line_reader(std::filesystem::path const& path, std::uint64_t most) try
    : text_line_reader(byte_stream(path), most) {
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE text_line_reader::text_line_reader(byte_stream from, std::uint64_t most) try
    : record_stream(std::move(from)), most_(most) {
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE std::optional<std::string> text_line_reader::next() try {
  return take_record([&]() -> std::optional<std::string> {
    if (from_.ready().empty()) return std::nullopt;
    std::string line;
    if (records::take_line(from_, line, most_) && line.ends_with('\r')) line.pop_back();
    return line;
  });
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill
