#include "rill/tensor/decimal.hpp"

#include <gtest/gtest.h>

#include <charconv>
#include <limits>

namespace rill {
namespace {

std::string spelled(decimal const& d) { return (d.negative ? "-" : "") + d.digits + "e" + std::to_string(d.exponent); }

TEST(decimal, has_the_fewest_digits_that_read_back) {
  EXPECT_EQ(spelled(shortest_decimal(0.1f)), "1e-1");
  EXPECT_EQ(spelled(shortest_decimal(0.1)), "1e-1");
  EXPECT_EQ(spelled(shortest_decimal(-1203.5)), "-12035e3");
  EXPECT_EQ(spelled(shortest_decimal(16777216.f)), "16777216e7");
  EXPECT_EQ(spelled(shortest_decimal(0.0)), "0e0");
  EXPECT_EQ(spelled(shortest_decimal(std::numeric_limits<double>::denorm_min())), "5e-324");
}

TEST(decimal, reads_back_as_the_same_sixteen_bits) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    auto const h = std::bit_cast<half>(static_cast<std::uint16_t>(bits));
    if (!std::isfinite(static_cast<float>(h))) continue;
    auto const text = spelled(shortest_decimal(h));
    auto const point = text.find('e');
    auto const digits = text.substr(0, point);
    auto const whole = static_cast<int>(digits.size() - (digits[0] == '-' ? 1 : 0));
    double x = 0;
    auto const back = digits + "e" + std::to_string(std::stoi(text.substr(point + 1)) - whole + 1);
    std::from_chars(back.data(), back.data() + back.size(), x);
    ASSERT_EQ(static_cast<float>(half(x)), static_cast<float>(h)) << text;
    ASSERT_LE(whole, 5) << text;
  }
}

TEST(decimal, parts_digits_at_the_point) {
  auto const parts = [](double x) {
    positional const p(shortest_decimal(x));
    return p.whole + "." + p.fraction;
  };
  EXPECT_EQ(parts(1203.5), "1203.5");
  EXPECT_EQ(parts(120000), "120000.");
  EXPECT_EQ(parts(0.0012), "0.0012");
  EXPECT_EQ(parts(0), "0.");
}

TEST(decimal, writes_at_least_two_digits_of_an_exponent) {
  EXPECT_EQ(exponent_text(5), "+05");
  EXPECT_EQ(exponent_text(-5, 3), "-005");
  EXPECT_EQ(exponent_text(-300), "-300");
}

}  // namespace
}  // namespace rill
