// Bytes as CSV: read as a whole they give what their records give, and what is written of that.
#include "rill/io/csv.hpp"

#include "rill/io/csv_records.hpp"
#include "seeded.hpp"

namespace rill::fuzz {
namespace {

/// The records of a file, read one by one as rows of a type.
std::vector<tensor> rows_of(std::string_view bytes, type const& row, csv_options how) {
  csv_record_reader file(byte_stream::of(std::string(bytes)), how);
  how.header_lines = 0, how.file_start = false;
  std::vector<tensor> rows;
  while (auto const record = file.next()) {
    rows.push_back(parse_csv(*record, {row}, how)[0]);
    require(rows.back().shape()[0] == 1, "a record is one");
  }
  return rows;
}

template <element T> void read_as(std::string_view bytes, csv_options const& how) {
  auto const whole = unless_refused([&] { return parse_csv(bytes, {of<T, unknown>}, how)[0]; });
  if (!whole) return;
  auto const count = whole->shape()[0], width = whole->shape()[1];
  auto const rows = rows_of(bytes, type(dtype_of<T>, {width}), how);
  require(std::ssize(rows) == count, "a file has as many rows as records");
  for (std::int64_t i = 0; i < count; ++i)
    require(same_bits(rows[static_cast<std::size_t>(i)], whole->rows(i, i + 1)), "a row is what its record is");
  if (count == 0) return;
  auto const text = csv_text({*whole}, how.delimiter);
  auto const again = parse_csv(text, {type(dtype_of<T>, {width})}, {.delimiter = how.delimiter})[0];
  require(csv_text({again}, how.delimiter) == text, "a table is read as it was written");
  if constexpr (std::is_same_v<T, std::string>)
    require(same_bits(again, *whole), "words are read as they were written");
}

void read_pairs(std::string_view bytes, csv_options const& how) {
  constexpr type pair = of<std::string, 2>;
  auto const whole = unless_refused([&] { return parse_csv(bytes, {pair}, how); });
  auto const rows = unless_refused([&] { return rows_of(bytes, pair, how); });
  require(whole.has_value() == rows.has_value(), "what is refused of a file is refused of a record");
}

}  // namespace

std::vector<std::string> seeds() {
  return {"name,x\n1,2.5,-3e4\r\n\"4\",+5,nan\n\n6,7,inf\n",
          "\xef\xbb\xbfh\n\"a \"\"b\"\"\nc\",\"\",d\r\n\"\xef\xbb\xbf\", e ,f\r\r\ng,h\r,\r",
          "a\r\r\n\r\r\n\"b\"\r\n\r", "0;1;2\n3;4;5\n;;\n",
          "0.1,1e-400,123456789012345678901234567890\n-0,0x1,1_000\n"};
}

void read(std::string_view bytes) {
  if (is_gzip(bytes)) return;  // the whole is not what the records are taken from
  for (std::size_t header_lines : {0u, 1u})
    for (char delimiter : {',', ';'}) {
      csv_options const how{.delimiter = delimiter, .header_lines = header_lines};
      read_pairs(bytes, how);
      read_as<std::string>(bytes, how);
      read_as<double>(bytes, how);
      read_as<std::int64_t>(bytes, how);
    }
}

}  // namespace rill::fuzz
