// The fields of comma-separated text, and their values.
#pragma once
#include <algorithm>
#include <charconv>
#include <cmath>
#include <complex>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "rill/base/error.hpp"
#include "rill/type/half.hpp"

namespace rill {

/// Options for reading CSV.
struct csv_options {
  char delimiter = ',';
  std::size_t header_lines = 0;  ///< lines at the start that are skipped
  /// Whether the text is the start of a file, so that a byte order mark is skipped; false for a record within a file.
  bool file_start = true;
};

namespace csv {

/// U+FEFF in UTF-8, which some programs write at the start of a file.
inline constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

/// Iterates over records and fields, and knows the line and column for errors.
class scanner {
 public:
  scanner(std::string_view text, csv_options const& o, std::string_view source);

  std::size_t remaining() const { return static_cast<std::size_t>(end_ - at_); }
  std::size_t newlines() const { return static_cast<std::size_t>(std::count(at_, end_, '\n')); }

  /// Moves to the next record, skipping empty lines; returns false at the end.
  bool next_record();
  /// Whether the record has another field.
  bool more() const { return more_; }
  /// Returns the number of fields read from the record.
  std::size_t column() const { return column_; }

  /// Returns the next field, without its quotes.
  std::string_view field();

  /// Reads the rest of the record and returns its number of fields.
  std::size_t count_fields() {
    while (more_) field();
    return column_;
  }

  [[noreturn]] void fail(std::string const& what) const;
  [[noreturn]] void fail_field(std::string_view field, std::string_view wanted) const;

 private:
  std::string_view quoted();
  void leave_field();
  void skip_line();
  /// Returns the end of the line if only carriage returns stand before it, else `at`.
  char const* behind_returns(char const* at) const;
  bool ends_line(char const* at) const { return at == end_ || *at == '\n'; }

  char const *at_, *end_;
  char delimiter_;
  std::string_view source_;
  std::string unquoted_;
  std::size_t line_ = 1, record_line_ = 1, column_ = 0;
  bool more_ = false;
};

std::string_view trimmed(std::string_view s);

inline bool read(std::string_view s, std::string& to) {
  to = s;
  return true;
}
bool read(std::string_view s, bool& to);
/// Whether a number outside of its type's range is too small, rather than too large.
bool is_tiny(std::string_view s);
template <class T> bool read(std::string_view s, T& to) {
  s = trimmed(s);
  if (s.size() > 1 && s[0] == '+' && s[1] != '-') s.remove_prefix(1);
  if (s.ends_with(')')) return false;  // from_chars accepts "nan(1)"
  auto const [end, problem] = std::from_chars(s.data(), s.data() + s.size(), to);
  if (end != s.data() + s.size()) return false;
  if (problem == std::errc::result_out_of_range && std::is_floating_point_v<T>) {
    to = 0;  // numbers that are too small become 0, numbers that are too large are errors
    return is_tiny(s);
  }
  return problem == std::errc{};
}
template <class T>
  requires std::is_same_v<T, half> || std::is_same_v<T, bfloat16>
bool read(std::string_view s, T& to) {
  double x = 0;
  bool const ok = read(s, x);
  to = T(x);
  return ok && (std::isfinite(static_cast<float>(to)) || !std::isfinite(x));
}
template <class R> bool read(std::string_view, std::complex<R>&) { return false; }

}  // namespace csv

#if RILL_RUNTIME

namespace csv {

RILL_INLINE scanner::scanner(std::string_view text, csv_options const& o, std::string_view source)
    : at_(text.data()), end_(text.data() + text.size()), delimiter_(o.delimiter), source_(source) {
  if (o.file_start && text.starts_with(byte_order_mark)) at_ += byte_order_mark.size();
  for (std::size_t i = 0; i < o.header_lines && at_ != end_; ++i) skip_line();
}

RILL_INLINE bool scanner::next_record() {
  while (at_ != end_ && ends_line(behind_returns(at_))) skip_line();
  column_ = 0;
  more_ = at_ != end_;
  return more_;
}

RILL_INLINE std::string_view scanner::field() {
  ++column_;
  if (at_ != end_ && *at_ == '"') return quoted();
  char const* const first = at_;
  while (at_ != end_ && *at_ != delimiter_ && *at_ != '\n') ++at_;
  char const* last = at_;
  while (last != first && last[-1] == '\r' && ends_line(at_)) --last;
  leave_field();
  return {first, static_cast<std::size_t>(last - first)};
}

RILL_INLINE void scanner::fail(std::string const& what) const {
  throw error(code::invalid_argument, std::string(source_) + ": line " + std::to_string(record_line_) + what);
}

RILL_INLINE void scanner::fail_field(std::string_view field, std::string_view wanted) const {
  fail(", column " + std::to_string(column_) + ": '" + std::string(field.substr(0, 40)) + "' can't be read as " +
       std::string(wanted));
}

RILL_INLINE std::string_view scanner::quoted() {
  record_line_ = line_;
  unquoted_.clear();
  for (++at_;;) {
    char const* const quote = std::find(at_, end_, '"');
    if (quote == end_) fail(", column " + std::to_string(column_) + ": a quoted field is not closed");
    line_ += static_cast<std::size_t>(std::count(at_, quote, '\n'));
    unquoted_.append(at_, quote);
    at_ = quote + 1;
    if (at_ == end_ || *at_ != '"') break;
    unquoted_ += '"';
    ++at_;
  }
  at_ = behind_returns(at_);
  if (at_ != end_ && *at_ != delimiter_ && *at_ != '\n')
    fail(", column " + std::to_string(column_) + ": expected a delimiter or a line end after a quoted field");
  leave_field();
  return unquoted_;
}

RILL_INLINE void scanner::leave_field() {
  record_line_ = line_;
  more_ = at_ != end_ && *at_ == delimiter_;
  if (at_ == end_) return;
  if (*at_ == '\n') ++line_;
  ++at_;
}

RILL_INLINE void scanner::skip_line() {
  at_ = std::find(at_, end_, '\n');
  if (at_ == end_) return;
  ++at_, ++line_;
}

RILL_INLINE char const* scanner::behind_returns(char const* at) const {
  auto const behind = std::find_if(at, end_, [](char c) { return c != '\r'; });
  return ends_line(behind) ? behind : at;
}

RILL_INLINE std::string_view trimmed(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}

RILL_INLINE bool read(std::string_view s, bool& to) {
  s = trimmed(s);
  to = s == "1" || s == "true" || s == "True" || s == "TRUE";
  return to || s == "0" || s == "false" || s == "False" || s == "FALSE";
}

RILL_INLINE bool is_tiny(std::string_view s) {
  auto const e = std::min(s.find_first_of("eE"), s.size());
  std::int64_t exponent = 0;
  if (e < s.size()) {
    auto const digits = s.substr(e + (e + 1 < s.size() && s[e + 1] == '+' ? 2 : 1));
    if (std::from_chars(digits.data(), digits.data() + digits.size(), exponent).ec != std::errc{})
      return digits.starts_with('-');
  }
  auto const first = s.find_first_of("123456789"), point = std::min(s.find('.'), e);
  return static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first) + exponent < 0;
}

}  // namespace csv

#endif

}  // namespace rill
