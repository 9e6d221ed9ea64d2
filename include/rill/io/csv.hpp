// Tables of numbers and strings as comma-separated values.
#pragma once
#include <algorithm>
#include <charconv>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "rill/io/csv_fields.hpp"
#include "rill/io/file.hpp"
#include "rill/tensor/tensor.hpp"

namespace rill {

/// Parses `text` to one tensor for each type of `row`. The fields of a record go to the types in order, as many as each
/// has elements; the first axis of the tensors counts the records. One type may be a vector of unknown extent, which
/// takes the remaining fields. Fields may be quoted; carriage returns at the end of a line are dropped, and empty lines
/// skipped. Throws error(invalid_argument), which names `source`, line and column.
std::vector<tensor> parse_csv(std::string_view text, std::vector<type> const& row, csv_options const& options = {},
                              std::string_view source = "CSV text");

/// The same for a file of at most `most` bytes.
std::vector<tensor> read_csv(std::filesystem::path const& path, std::vector<type> const& row,
                             csv_options const& options = {}, std::uint64_t most = max_file_bytes);

namespace csv {

constexpr type with_rows(type const& row) {
  type t{row.element, {unknown}};
  for (std::size_t i = 0; i < row.rank; ++i) t.push_back(row[i]);
  return t;
}

template <type... Row> auto typed(std::vector<tensor> tensors) {
  return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    return std::tuple{tensor_of<with_rows(Row)>(std::move(tensors[Index]))...};
  }(std::make_index_sequence<sizeof...(Row)>{});
}

}  // namespace csv

/// Reads a file to a tuple of typed tensors: `auto [pixels, digit] = read_csv<of<float, 64>,
/// of<std::int32_t>>("digits.csv")`.
template <type... Row>
  requires(sizeof...(Row) > 0)
auto read_csv(std::filesystem::path const& path, csv_options const& options = {}, std::uint64_t most = max_file_bytes) {
  return only_errors([&] { return csv::typed<Row...>(read_csv(path, std::vector<type>{Row...}, options, most)); });
}
template <type... Row>
  requires(sizeof...(Row) > 0)
auto parse_csv(std::string_view text, csv_options const& options = {}) {
  return only_errors([&] { return csv::typed<Row...>(parse_csv(text, std::vector<type>{Row...}, options)); });
}

/// Returns tensors with the same number of rows as text: a line for each row, with the elements of that row of all
/// tensors. Numbers have the fewest digits that read back as the same number. The first line is `header`, if it is not
/// empty.
std::string csv_text(std::vector<tensor> const& columns, char delimiter = ',',
                     std::vector<std::string> const& header = {});

/// The same, written to a file, which appears whole or not at all.
void write_csv(std::filesystem::path const& path, std::vector<tensor> const& columns, char delimiter = ',',
               std::vector<std::string> const& header = {});

#if RILL_RUNTIME

namespace csv {

RILL_INLINE void check_delimiter(char delimiter) {
  expects(delimiter != '"' && delimiter != '\n' && delimiter != '\r',
          "a CSV file's delimiter can't be a quote or a line end");
}

/// Returns the types with the unknown extent, if there is one, replaced by the extent that follows from the first
/// record.
RILL_INLINE std::vector<type> with_known_extents(std::vector<type> row, scanner records) {
  type* open = nullptr;
  std::int64_t known = 0;
  for (auto& t : row) {
    if (is_complex(t.element)) throw error(code::unimplemented, "CSV has no complex numbers");
    if (t.is_known()) known += elements(t.shape());
    else if (t.rank == 1 && open == nullptr) open = &t;
    else expects(false, "at most one type of a CSV row may be a vector of unknown extent; all others must be known");
  }
  if (open != nullptr) {
    auto const fields = records.next_record() ? static_cast<std::int64_t>(records.count_fields()) : known;
    if (fields < known)
      records.fail(" has " + std::to_string(fields) + " fields, and at least " + std::to_string(known) +
                   " were expected");
    (*open)[0] = dim(fields - known);
  }
  return row;
}

/// Returns uninitialised tensors for `rows` records.
RILL_INLINE std::vector<tensor> room_for(std::vector<type> const& row, std::int64_t rows) {
  std::vector<tensor> out;
  for (auto const& t : row) {
    shape s{rows};
    for (auto extent : t.shape()) s.push_back(extent);
    out.emplace_back(t.element, s);
  }
  return out;
}

[[noreturn]] RILL_INLINE void fail_count(scanner& from, std::int64_t fields) {
  from.fail(" has " + std::to_string(from.count_fields()) + " fields, and " + std::to_string(fields) +
            " were expected");
}

/// Reads the fields for row `index` of a tensor from a record, which should have `fields` fields in all.
RILL_INLINE void read_row(scanner& from, tensor& to, std::int64_t width, std::int64_t index, std::int64_t fields) {
  visit(to.element(), [&]<class T>() {
    T* const first = to.mutable_data<T>() + index * width;
    for (T* each = first; each != first + width && from.more(); ++each) {
      auto const f = from.field();
      if (read(f, *each)) continue;
      auto rest = from;
      if (rest.count_fields() != static_cast<std::size_t>(fields)) fail_count(rest, fields);
      from.fail_field(f, name(dtype_of<T>));
    }
  });
}

}  // namespace csv

RILL_INLINE std::vector<tensor> parse_csv(std::string_view text, std::vector<type> const& row,
                                          csv_options const& options, std::string_view source) try {
  csv::check_delimiter(options.delimiter);
  csv::scanner from(text, options, source);
  auto const types = csv::with_known_extents(row, from);
  std::vector<std::int64_t> widths;
  std::int64_t fields = 0;
  for (auto const& t : types) fields += widths.emplace_back(elements(t.shape()));
  expects(fields > 0 || from.remaining() == 0,
          "the types of a CSV row have no elements: a record needs at least one field");
  // A record is at least as long as its delimiters, so allocations stay in proportion to the text.
  auto const most =
      std::min(from.newlines(), from.remaining() / std::max<std::size_t>(static_cast<std::size_t>(fields), 1)) + 1;
  auto out = csv::room_for(types, static_cast<std::int64_t>(most));
  std::int64_t rows = 0;
  for (; from.next_record(); ++rows) {
    for (std::size_t i = 0; i < out.size(); ++i) csv::read_row(from, out[i], widths[i], rows, fields);
    if (from.more() || from.column() != static_cast<std::size_t>(fields)) csv::fail_count(from, fields);
  }
  for (auto& t : out) t = t.rows(0, rows);
  return out;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE std::vector<tensor> read_csv(std::filesystem::path const& path, std::vector<type> const& row,
                                         csv_options const& options, std::uint64_t most) try {
  return parse_csv(read_file(path, most), row, options, path.string());
} catch (...) {
  rethrow_as_error();
}

namespace csv {

RILL_INLINE void append(std::string& to, std::string_view s, char delimiter) {
  char const special[] = {delimiter, '"', '\n', '\r'};
  if (!s.empty() && s.find_first_of(special, 0, sizeof special) == s.npos && !s.starts_with(byte_order_mark)) {
    to += s;
    return;
  }
  to += '"';
  for (char c : s) to.append(c == '"' ? 2 : 1, c);
  to += '"';
}

RILL_INLINE void append(std::string& to, bool x, char delimiter) {
  append(to, std::string_view(x ? "1" : "0"), delimiter);
}

template <class T>
  requires std::is_arithmetic_v<T>
void append(std::string& to, T x, char delimiter) {
  char text[64];
  if constexpr (std::is_floating_point_v<T>) x = std::isnan(x) ? std::fabs(x) : x;  // no "-nan"
  append(to, std::string_view(text, std::to_chars(text, text + sizeof text, x).ptr), delimiter);
}

RILL_INLINE void append(std::string& to, half x, char delimiter) { append(to, static_cast<float>(x), delimiter); }

RILL_INLINE void append(std::string& to, bfloat16 x, char delimiter) { append(to, static_cast<float>(x), delimiter); }

template <class R> void append(std::string&, std::complex<R>, char) {
  throw error(code::unimplemented, "CSV has no complex numbers");
}

RILL_INLINE void append_row(std::string& to, tensor const& t, std::int64_t row, char delimiter) {
  auto const width = t.elements() / t.shape()[0];
  visit(t.element(), [&]<class T>() {
    for (std::int64_t i = 0; i < width; ++i) {
      append(to, t.data<T>()[row * width + i], delimiter);
      to += delimiter;
    }
  });
}

}  // namespace csv

RILL_INLINE std::string csv_text(std::vector<tensor> const& anywhere, char delimiter,
                                 std::vector<std::string> const& header) try {
  csv::check_delimiter(delimiter);
  std::vector<tensor> columns;
  for (auto const& t : anywhere) columns.push_back(t.to(host));
  std::string text;
  auto const end_line = [&] {
    if (!text.empty() && text.back() == delimiter) text.pop_back();
    text += '\n';
  };
  for (auto const& each : header) csv::append(text, each, delimiter), text += delimiter;
  if (!header.empty()) end_line();
  for (auto const& t : columns)
    expects(t.rank() > 0 && t.shape()[0] == columns[0].shape()[0],
            "the tensors of a CSV file must have the same number of rows, and a scalar has no rows");
  for (std::int64_t row = 0; !columns.empty() && row < columns[0].shape()[0]; ++row) {
    for (auto const& t : columns) csv::append_row(text, t, row, delimiter);
    end_line();
  }
  return text;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void write_csv(std::filesystem::path const& path, std::vector<tensor> const& columns, char delimiter,
                           std::vector<std::string> const& header) try {
  write_file(path, csv_text(columns, delimiter, header));
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill
