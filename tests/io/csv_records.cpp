#include "rill/io/csv_records.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "rill/io/csv.hpp"
#include "scratch.hpp"

namespace rill {
namespace {

using list = std::vector<std::string>;

list all_of(std::string const& text, csv_options const& options = {}) {
  csv_record_reader r(byte_stream::of(text), options);
  list all;
  while (auto record = r.next()) all.push_back(*record);
  return all;
}

TEST(csv_records, gives_a_record_a_line_without_headers_and_empty_lines) {
  EXPECT_EQ(all_of("\xef\xbb\xbfname,x\n\na,1\r\n\r\nb,2", {.header_lines = 1}), (list{"a,1", "b,2"}));
  EXPECT_EQ(all_of("only a header", {.header_lines = 2}), list{});
  EXPECT_EQ(all_of(""), list{});
}

TEST(csv_records, keeps_ends_of_lines_within_quotes) {
  EXPECT_EQ(all_of("\"a\nb\r\n\"\"c\",1\r\n2,\"\"\n"), (list{"\"a\nb\r\n\"\"c\",1", "2,\"\""}));
  EXPECT_EQ(all_of("5\" pipe,1\n2\n"), (list{"5\" pipe,1", "2"}));
  EXPECT_EQ(all_of("a;\"\n\"\n\"b,\"\n", {.delimiter = ';'}), (list{"a;\"\n\"", "\"b,\""}));
}

TEST(csv_records, gives_what_parse_csv_reads) {
  std::string const text = "h,h\n1.5,\"x\ny\"\n2,\"say \"\"z\"\"\"\n";
  csv_record_reader r(byte_stream::of(text), {.header_lines = 1});
  auto const [number, word] = parse_csv<of<float>, of<std::string>>(text, {.header_lines = 1});
  for (int i = 0; i < 2; ++i) {
    auto const [one, name] = parse_csv<of<float>, of<std::string>>(*r.next());
    EXPECT_TRUE(same_bits(one, number.rows(i, i + 1)));
    EXPECT_TRUE(same_bits(name, word.rows(i, i + 1)));
  }
}

TEST(csv_records, gives_what_parse_csv_reads_whatever_ends_a_line) {
  for (std::string const text : {"a\r\r\nb\r", "a\n\r", "\r", "\"a\"\r\r\n\r\r\nb\n",
                                 "a\n\xef\xbb\xbf"
                                 "b\n",
                                 "\xef\xbb\xbf\xef\xbb\xbf"
                                 "a",
                                 "\xef\xbb\xbf\r\n\xef\xbb\xbf\r\n"}) {
    auto const whole = std::get<0>(parse_csv<of<std::string>>(text));
    list parts;
    for (auto const& record : all_of(text)) {
      auto const part = std::get<0>(parse_csv<of<std::string>>(record, {.file_start = false}));
      parts.insert(parts.end(), part.span<std::string>().begin(), part.span<std::string>().end());
    }
    EXPECT_EQ(parts, list(whole.span<std::string>().begin(), whole.span<std::string>().end())) << text;
  }
}

TEST(csv_records, end_with_the_file_however_many_header_lines_are_asked_for) {
  EXPECT_EQ(all_of("1\n2\n", {.header_lines = std::size_t{1} << 63}), list{});
}

TEST(csv_records, resumes_behind_the_header) {
  csv_record_reader r(byte_stream::of("h\n1\n\n2\n3\n"), {.header_lines = 1});
  EXPECT_EQ(r.next(), "1");
  auto const at = r.position();
  EXPECT_EQ(at, (record_position{4, 1}));
  EXPECT_EQ(r.next(), "2");
  EXPECT_EQ(r.next(), "3");
  r.seek(at);
  EXPECT_EQ(r.next(), "2");
  r.seek({});
  EXPECT_EQ(r.next(), "1");
}

TEST(csv_records, names_the_record_whose_quotes_stay_open) {
  csv_record_reader r(byte_stream::of("1\n\"2\n3\n", "x.csv"));
  r.next();
  try {
    r.next();
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.message(), "'x.csv', record 2 at byte 2: a quoted field is not closed");
    EXPECT_EQ(e.code(), code::invalid_argument);
  }
}

}  // namespace
}  // namespace rill
