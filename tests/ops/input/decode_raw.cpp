#include "rill/ops/input/decode_raw.hpp"

#include "../run.hpp"

namespace rill {
namespace {

static_assert(ops::decode_raw_op::infer({of<float, 28, 28>}, of<std::string, "n">) == of<float, "n", 28, 28>);

TEST(decode_raw, makes_numbers_of_bytes_in_either_order) {
  auto const strings = vector<std::string>({std::string("\1\2\3\4", 4), std::string("\xff\xff\0\x80", 4)});
  auto const low = test::run([](auto const& in) { return decode_raw(in[0], of<std::int16_t, 2>); }, {strings});
  EXPECT_TRUE(same_bits(low, matrix<std::int16_t>({{0x0201, 0x0403}, {-1, INT16_MIN}})));
  auto const high = test::run([](auto const& in) { return decode_raw(in[0], of<std::int16_t, 2>, true); }, {strings});
  EXPECT_TRUE(same_bits(high, matrix<std::int16_t>({{0x0102, 0x0304}, {-1, 0x0080}})));
  auto const truth = test::run([](auto const& in) { return decode_raw(in[0], of<bool, 4>); }, {strings});
  EXPECT_TRUE(same_bits(truth, matrix<bool>({{true, true, true, true}, {true, true, false, true}})));
  auto const one = test::run([](auto const& in) { return decode_raw(in[0], of<std::uint32_t>); }, {strings});
  EXPECT_TRUE(same_bits(one, vector<std::uint32_t>({0x04030201, 0x8000ffff})));
}

TEST(decode_raw, turns_the_parts_of_complex_numbers) {
  auto const y = test::run([](auto const& in) { return decode_raw(in[0], of<std::complex<float>>, true); },
                           {tensor(std::string("\x3f\x80\0\0\x40\0\0\0", 8))});
  EXPECT_EQ(y.item<std::complex<float>>(), (std::complex<float>(1, 2)));
}

TEST(decode_raw, says_which_string_has_other_bytes) {
  test::expect_error(code::invalid_argument, "string 1 has 3 bytes, and the type asks for 2", [] {
    test::run([](auto const& in) { return decode_raw(in[0], of<std::uint8_t, 2>); },
              {vector<std::string>({"ab", "abc"})});
  });
  graph g;
  auto const refuses = [](char const* words, auto f) { test::expect_error(code::invalid_argument, words, f); };
  refuses("the operand is not of strings", [&] { decode_raw(placeholder(g, of<float, 2>), of<float, 2>); });
  refuses("can't be decoded to strings", [&] { decode_raw(placeholder(g, of<std::string, 2>), of<std::string, 2>); });
  refuses("must be known", [&] { decode_raw(placeholder(g, of<std::string, 2>), of<float, unknown>); });
}

TEST(decode_raw, has_a_type_that_the_compiler_knows) {
  graph g;
  static_assert(decltype(decode_raw<std::uint8_t, 2>(placeholder<std::string, "n">(g)))::static_type ==
                of<std::uint8_t, "n", 2>);
}

}  // namespace
}  // namespace rill
