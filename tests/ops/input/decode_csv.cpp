#include "rill/ops/input/decode_csv.hpp"

#include "../run.hpp"

namespace rill {
namespace {

TEST(decode_csv, deals_the_fields_of_each_record_out_to_types) {
  graph g;
  auto const records = placeholder<std::string, unknown>(g);
  auto const [pixels, word, digit] = decode_csv<of<float, 2>, of<std::string>, of<std::int32_t>>(records);
  static_assert(decltype(pixels)::static_type == of<float, unknown, 2>);
  static_assert(decltype(digit)::static_type == of<std::int32_t, unknown>);
  session s{g};
  auto const in = vector<std::string>({"1.5,-2,word,7", "\"3\", 4e1 ,\"say \"\"x, y\"\"\",-1\r\n"});
  EXPECT_TRUE(same_bits(s.run({{records, in}}, pixels), matrix<float>({{1.5f, -2}, {3, 40}})));
  EXPECT_TRUE(same_bits(s.run({{records, in}}, word), vector<std::string>({"word", "say \"x, y\""})));
  EXPECT_TRUE(same_bits(s.run({{records, in}}, digit), vector<std::int32_t>({7, -1})));
}

TEST(decode_csv, leaves_a_byte_order_mark_in_a_record_alone) {
  auto const y = test::run([](auto const& in) { return decode_csv(in[0], {of<std::string>})[0]; },
                           {tensor(std::string("\xef\xbb\xbfword"))});
  EXPECT_EQ(y.item<std::string>(), "\xef\xbb\xbfword");
}

TEST(decode_csv, takes_another_delimiter_and_a_scalar) {
  auto const y = test::run([](auto const& in) { return decode_csv(in[0], {of<bool>, of<double, 1, 2>}, ';')[1]; },
                           {tensor(std::string("true;1;2"))});
  EXPECT_TRUE(same_bits(y, matrix<double>({{1, 2}})));
}

TEST(decode_csv, names_the_string_and_the_field_that_are_wrong) {
  auto const refuses = [](char const* words, std::string const& record) {
    test::expect_error(code::invalid_argument, words, [&] {
      test::run([](auto const& in) { return decode_csv(in[0], {of<float>, of<std::int8_t>})[1]; },
                {vector<std::string>({"1,2", record})});
    });
  };
  refuses("string 1: line 1, column 2: 'x' can't be read as int8", "1,x");
  refuses("string 1: line 1, column 2: '300' can't be read as int8", "1,300");
  refuses("string 1: line 1 has 1 fields, and 2 were expected", "1");
  refuses("string 1: line 1 has 3 fields, and 2 were expected", "1,2,3");
  refuses("has 0 fields, and 2 were expected", "");
  refuses("is followed by another record", "1,2\n3,4");
  refuses("a quoted field is not closed", "1,\"2");
}

TEST(decode_csv, refuses_types_that_csv_has_not) {
  graph g;
  auto const x = placeholder(g, of<std::string, 2>);
  auto const refuses = [](char const* words, auto f) { test::expect_error(code::invalid_argument, words, f); };
  refuses("no complex numbers", [&] { decode_csv(x, {of<std::complex<float>>}); });
  refuses("must be known", [&] { decode_csv(x, {of<float, unknown>}); });
  refuses("cannot be a quote", [&] { decode_csv(x, {of<float>}, '"'); });
  refuses("the operand is not of strings", [&] { decode_csv(placeholder(g, of<float, 2>), {of<float>}); });
}

}  // namespace
}  // namespace rill
