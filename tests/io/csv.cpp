#include "rill/io/csv.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "scratch.hpp"

namespace rill {
namespace {

template <class T> std::vector<T> values(tensor const& t) { return {t.span<T>().begin(), t.span<T>().end()}; }

std::string sentence(std::string_view text, std::vector<type> const& row, csv_options const& o = {}) {
  try {
    parse_csv(text, row, o, "a.csv");
  } catch (error const& e) {
    return e.message();
  }
  return "";
}

TEST(csv, deals_a_records_fields_out_to_typed_tensors) {
  auto const [x, label] = parse_csv<of<float, 2>, of<std::int32_t>>("1,2.5,7\n-3,4e2,8\n");
  EXPECT_EQ(x.shape(), (shape{2, 2}));
  EXPECT_EQ(label.shape(), (shape{2}));
  EXPECT_EQ(values<float>(x), (std::vector<float>{1, 2.5f, -3, 400}));
  EXPECT_EQ(values<std::int32_t>(label), (std::vector<std::int32_t>{7, 8}));
}

TEST(csv, gives_rows_more_than_one_axis) {
  auto const t = parse_csv("1,2,3,4\n5,6,7,8", {of<double, 2, 2>})[0];
  EXPECT_EQ(t.shape(), (shape{2, 2, 2}));
  EXPECT_EQ(t.at<double>(1, 1, 0), 7.0);
}

TEST(csv, works_out_one_unknown_extent_from_the_first_record) {
  auto const t = parse_csv("1,2,3,4\n5,6,7,8\n", {of<std::int8_t>, of<float, unknown>, of<std::int8_t>});
  EXPECT_EQ(t[1].shape(), (shape{2, 2}));
  EXPECT_EQ(values<float>(t[1]), (std::vector<float>{2, 3, 6, 7}));
  EXPECT_EQ(values<std::int8_t>(t[2]), (std::vector<std::int8_t>{4, 8}));
}

TEST(csv, reads_quotes_line_ends_and_blanks_of_every_fashion) {
  auto const t = parse_csv(
      "\xef\xbb\xbf"
      "name;x\r\n\"a;b\"; +1 \r\n\r\n\"say \"\"no\"\"\";\"2\"\r\n\"two\nlines\";3",
      {of<std::string>, of<float>}, {.delimiter = ';', .header_lines = 1});
  EXPECT_EQ(values<std::string>(t[0]), (std::vector<std::string>{"a;b", "say \"no\"", "two\nlines"}));
  EXPECT_EQ(values<float>(t[1]), (std::vector<float>{1, 2, 3}));
}

TEST(csv, reads_every_element_type_to_its_limits) {
  EXPECT_EQ(values<std::int64_t>(parse_csv("-9223372036854775808\n9223372036854775807", {of<std::int64_t>})[0]),
            (std::vector<std::int64_t>{INT64_MIN, INT64_MAX}));
  EXPECT_EQ(values<std::uint64_t>(parse_csv("18446744073709551615", {of<std::uint64_t>})[0])[0], UINT64_MAX);
  EXPECT_EQ(parse_csv("0,1,true,False", {of<bool, 4>})[0].at<bool>(0, 2), true);
  EXPECT_EQ(static_cast<float>(parse_csv("0.1", {of<half>})[0].item<half>()), static_cast<float>(half(0.1f)));
  EXPECT_EQ(static_cast<float>(parse_csv("3", {of<bfloat16>})[0].item<bfloat16>()), 3.f);
  auto const odd = values<double>(parse_csv("nan,inf,-Infinity,1e-999", {of<double, 4>})[0]);
  EXPECT_TRUE(std::isnan(odd[0]));
  EXPECT_EQ(odd[1], std::numeric_limits<double>::infinity());
  EXPECT_EQ(odd[2], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(odd[3], 0.0);
}

TEST(csv, reads_numbers_too_small_as_nothing_and_refuses_those_too_large) {
  std::string const zeros(400, '0');
  auto const small = values<double>(parse_csv(
      "0." + zeros + "1,-1e-99999999999999999999,1" + zeros + "e-399,-0." + zeros + "1e-3", {of<double, 4>})[0]);
  EXPECT_EQ(small, (std::vector<double>{0, 0, 10, 0}));
  std::vector<std::string> const too_large{"1" + zeros, "-1e400", "1e99999999999999999999", "1" + zeros + zeros + "e-9",
                                           "0.001" + zeros + "e+700"};
  for (auto const& large : too_large)
    EXPECT_NE(sentence(large, {of<double>}).find("can't be read as float64"), std::string::npos) << large;
}

TEST(csv, knows_nan_without_a_payload_alone) {
  for (auto const* text : {"nan(1)", "NaN()", "-nan(snan) "})
    EXPECT_NE(sentence(text, {of<double>}).find("can't be read as float64"), std::string::npos) << text;
}

TEST(csv, rounds_a_number_of_16_bits_once) {
  EXPECT_EQ(parse_csv("1.00048828125001", {of<half>})[0].item<half>().bits, half(1).bits + 1);
  EXPECT_EQ(parse_csv("1.00390625001", {of<bfloat16>})[0].item<bfloat16>().bits, bfloat16(1).bits + 1);
}

TEST(csv, names_file_line_and_column_of_what_it_cannot_read) {
  EXPECT_EQ(sentence("1,2\n3,x\n", {of<float, 2>}), "a.csv: line 2, column 2: 'x' can't be read as float32");
  EXPECT_EQ(sentence("h\n1\n\n300\n", {of<std::int8_t>}, {.header_lines = 1}),
            "a.csv: line 4, column 1: '300' can't be read as int8");
  EXPECT_EQ(sentence("\"two\nlines\",1\nb,?", {of<std::string>, of<float>}),
            "a.csv: line 3, column 2: '?' can't be read as float32");
  EXPECT_EQ(sentence("1,\"2", {of<float, 2>}), "a.csv: line 1, column 2: a quoted field is not closed");
  EXPECT_EQ(sentence("1,\"2\"3", {of<float, 2>}),
            "a.csv: line 1, column 2: expected a delimiter or a line end after a quoted field");
  for (auto each : {"", " ", "1.5", "-", "+-1", "0x1", "1 2", "99999999999"})
    EXPECT_NE(sentence(std::string(each) + ",1", {of<std::int32_t, 2>}), "") << each;
  for (auto each : {"", "1e999", "--1", "1f", "e5"})
    EXPECT_NE(sentence(std::string(each) + ",1", {of<double, 2>}), "") << each;
  EXPECT_NE(sentence("-" + std::string(400, '9'), {of<double>}), "");
  EXPECT_NE(sentence("70000", {of<half>}), "");
  EXPECT_NE(sentence("2", {of<bool>}), "");
}

TEST(csv, refuses_ragged_rows) {
  EXPECT_EQ(sentence("1,2\n3\n", {of<float, 2>}), "a.csv: line 2 has 1 fields, and 2 were expected");
  EXPECT_EQ(sentence("1,2\n3,4,5,6\n", {of<float, 2>}), "a.csv: line 2 has 4 fields, and 2 were expected");
  EXPECT_EQ(sentence("1,2,a\n3,b\n", {of<float, unknown>, of<std::string>}),
            "a.csv: line 2 has 2 fields, and 3 were expected");
  EXPECT_EQ(sentence("1,2\n3,\n", {of<float, 2>}), "a.csv: line 2, column 2: '' can't be read as float32");
  EXPECT_EQ(sentence("1\n", {of<float, 2>, of<float, unknown>}),
            "a.csv: line 1 has 1 fields, and at least 2 were expected");
}

TEST(csv, reads_a_file_without_records_as_tensors_without_rows) {
  EXPECT_EQ(parse_csv("", {of<float, 3>})[0].shape(), (shape{0, 3}));
  EXPECT_EQ(parse_csv("a,b\n", {of<float, unknown>}, {.header_lines = 1})[0].shape(), (shape{0, 0}));
}

TEST(csv, refuses_types_that_no_row_can_have) {
  EXPECT_EQ(refusal([] { parse_csv("1", {of<std::complex<float>>}); }), code::unimplemented);
  EXPECT_EQ(refusal([] { parse_csv("1", {of<float, unknown>, of<float, unknown>}); }), code::invalid_argument);
  EXPECT_EQ(refusal([] { parse_csv("1", {of<float, 0>}); }), code::invalid_argument);
  EXPECT_EQ(refusal([] { parse_csv("1", {of<float>}, {.delimiter = '"'}); }), code::invalid_argument);
}

TEST(csv, allocates_in_proportion_to_the_text) {
  host_allocator().reset_peak();
  auto const before = host_allocator().usage().peak;
  EXPECT_THROW(parse_csv(std::string(10000, '\n') + "1", {of<double, 1000000>}), error);
  EXPECT_LT(host_allocator().usage().peak - before, 32'000'000);
}

TEST(csv, writes_what_it_reads_back_to_the_bit) {
  scratch dir;
  std::vector<tensor> const table{matrix<float>({{0.1f, 1e30f}, {-0.f, 1.f / 3}}),
                                  vector<double>({1.0 / 3, 5e-324}),
                                  vector<std::string>({"plain", "with \"quotes\",\r\nand lines"}),
                                  vector<std::int64_t>({INT64_MIN, 3}),
                                  parse_csv("1\n0", {of<bool>})[0],
                                  vector<half>({half(0.1f), half(65504.f)})};
  write_csv(dir / "a.csv", table, ',', {"a", "b", "c,d"});
  auto const back =
      read_csv(dir / "a.csv", {of<float, 2>, of<double>, of<std::string>, of<std::int64_t>, of<bool>, of<half>},
               {.header_lines = 1});
  for (std::size_t i = 0; i < table.size(); ++i) EXPECT_TRUE(same_bits(back[i], table[i])) << i;
  EXPECT_EQ(csv_text({vector<std::string>({"", "x"})}), "\"\"\nx\n");
  EXPECT_EQ(parse_csv("\"\"\nx\n", {of<std::string>})[0].elements(), 2);
  EXPECT_EQ(csv_text({vector<float>({std::numeric_limits<float>::quiet_NaN()})}), "nan\n");
}

TEST(csv, drops_carriage_returns_at_the_end_of_a_line_alone) {
  auto const words = [](std::string const& text) { return values<std::string>(parse_csv(text, {of<std::string>})[0]); };
  EXPECT_EQ(words("a\r\r\n\"b\"\r\r\nc\rd\n\r\r\n\r"), (std::vector<std::string>{"a", "b", "c\rd"}));
  EXPECT_EQ(parse_csv("\r,a\r", {of<std::string, 2>})[0].at<std::string>(0, 0), "\r");
}

TEST(csv, skips_a_byte_order_mark_at_the_start_of_a_file_alone) {
  std::string const mark = "\xef\xbb\xbf";
  auto const words = [](std::string const& text, bool file_start) {
    return values<std::string>(parse_csv(text, {of<std::string>}, {.file_start = file_start})[0]);
  };
  EXPECT_EQ(words(mark + mark + "a\n" + mark + "b", true), (std::vector<std::string>{mark + "a", mark + "b"}));
  EXPECT_EQ(words(mark + "a", false), (std::vector<std::string>{mark + "a"}));
  EXPECT_EQ(words(csv_text({tensor(mark + "a").reshaped({1})}), true), (std::vector<std::string>{mark + "a"}));
}

TEST(csv, quotes_numbers_that_have_the_delimiter_in_them) {
  std::vector<tensor> const table{vector<double>({-0.25, 1e30}), vector<std::int32_t>({0, 101}),
                                  vector<bool>({true, false})};
  for (char delimiter : {'-', '.', 'e', '0', '1', '+', ' '}) {
    auto const read =
        parse_csv(csv_text(table, delimiter), {of<double>, of<std::int32_t>, of<bool>}, {.delimiter = delimiter});
    for (std::size_t i = 0; i < table.size(); ++i) EXPECT_TRUE(same_bits(read[i], table[i])) << delimiter;
  }
  for (char delimiter : {'"', '\n', '\r'})
    EXPECT_EQ(refusal([&] { csv_text(table, delimiter); }), code::invalid_argument);
}

TEST(csv, refuses_to_write_tables_of_unequal_columns) {
  EXPECT_EQ(refusal([] { csv_text({vector<float>({1}), vector<float>({1, 2})}); }), code::invalid_argument);
  EXPECT_EQ(refusal([] { csv_text({tensor(1.f)}); }), code::invalid_argument);
  EXPECT_EQ(refusal([] { csv_text({vector<std::complex<float>>({{1, 2}})}); }), code::unimplemented);
}

TEST(csv, ends_with_an_error_or_a_table_on_damaged_text) {
  damage("a,b\r\n1,\"2\"\r\n\"3\",4e5\r\n", [](auto const& text) {
    parse_csv(text, {of<float, unknown>}, {.header_lines = 1});
    parse_csv(text, {of<std::string, 2>});
  });
}

}  // namespace
}  // namespace rill
