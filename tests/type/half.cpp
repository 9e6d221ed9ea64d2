#include "rill/type/half.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace {

using rill::bfloat16;
using rill::half;

constexpr float infinity = std::numeric_limits<float>::infinity();

template <class T> T from_bits(unsigned bits) { return std::bit_cast<T>(static_cast<std::uint16_t>(bits)); }

// The definition of the format, without tricks.
double value_of(unsigned bits, int fraction_bits, int bias) {
  unsigned const fraction = bits & ((1u << fraction_bits) - 1), exponent = (bits & 0x7fffu) >> fraction_bits;
  double const magnitude =
      exponent == 0 ? std::ldexp(fraction, 1 - bias - fraction_bits)
                    : std::ldexp(fraction + (1u << fraction_bits), static_cast<int>(exponent) - bias - fraction_bits);
  return bits & 0x8000u ? -magnitude : magnitude;
}

// Between two neighbours of a format: each rounds to itself, all below the middle down, above it up, the middle to
// even.
template <class T, class From> void expect_rounding_between(unsigned lower, From middle) {
  auto const even = static_cast<std::uint16_t>(lower + (lower & 1u));
  auto const below = std::nextafter(middle, From{0}), above = std::nextafter(middle, From{infinity});
  ASSERT_EQ(T(middle).bits, even) << lower;
  ASSERT_EQ(T(below).bits, lower) << lower;
  ASSERT_EQ(T(above).bits, lower + 1) << lower;
  ASSERT_EQ(T(-middle).bits, even | 0x8000u) << lower;
  ASSERT_EQ(T(-below).bits, lower | 0x8000u) << lower;
  ASSERT_EQ(T(-above).bits, (lower + 1) | 0x8000u) << lower;
}

template <class T> class sixteen_bits : public testing::Test {};
using types = testing::Types<half, bfloat16>;
TYPED_TEST_SUITE(sixteen_bits, types);

TYPED_TEST(sixteen_bits, every_number_survives_the_way_through_float) {
  for (unsigned bits = 0; bits < 0x10000u; ++bits) {
    auto const number = from_bits<TypeParam>(bits);
    if (std::isnan(static_cast<float>(number)))
      ASSERT_TRUE(std::isnan(static_cast<float>(TypeParam(static_cast<float>(number)))));
    else ASSERT_EQ(TypeParam(static_cast<float>(number)).bits, bits);
  }
}

TYPED_TEST(sixteen_bits, compares_as_float_does) {
  TypeParam const one(1), two(2), nan(std::numeric_limits<float>::quiet_NaN()), zero(0.f), minus_zero(-0.f);
  EXPECT_TRUE(one < two && two > one && one != two && one == 1.f);
  EXPECT_TRUE(zero == minus_zero);
  EXPECT_FALSE(nan == nan);
  EXPECT_TRUE((one <=> nan) == std::partial_ordering::unordered);
}

TYPED_TEST(sixteen_bits, overflow_is_infinity_and_nan_stays_nan) {
  EXPECT_EQ(static_cast<float>(TypeParam(std::numeric_limits<float>::max())), infinity);
  EXPECT_EQ(static_cast<float>(TypeParam(-infinity)), -infinity);
  for (std::uint32_t payload : {1u, 0x1fffu, 0x2000u, 0x40'0000u, 0x7f'ffffu}) {
    EXPECT_TRUE(std::isnan(static_cast<float>(TypeParam(std::bit_cast<float>(0x7f80'0000u | payload)))));
    EXPECT_TRUE(std::isnan(static_cast<float>(TypeParam(std::bit_cast<float>(0xff80'0000u | payload)))));
  }
}

template <half Value> constexpr float as_template_argument = Value;

TEST(half, is_a_value_that_templates_and_constant_expressions_take) {
  static_assert(as_template_argument<half(1.5f)> == 1.5f);
  static_assert(half(65504).bits == 0x7bff && half(65520).bits == 0x7c00 && half(-0.f).bits == 0x8000);
  static_assert(half(1.5f) + half(2) == 3.5f);
}

TEST(half, has_the_values_of_binary16) {
  for (unsigned bits = 0; bits < 0x10000u; ++bits) {
    if ((bits & 0x7c00u) == 0x7c00u) continue;
    ASSERT_EQ(static_cast<float>(from_bits<half>(bits)), value_of(bits, 10, 15)) << bits;
  }
  EXPECT_EQ(static_cast<float>(from_bits<half>(0x7c00)), infinity);
}

TEST(half, rounds_to_the_nearest_ties_to_even_between_all_neighbours) {
  for (unsigned lower = 0; lower < 0x7c00u; ++lower) {
    double const upper = lower + 1 == 0x7c00u ? 65536 : value_of(lower + 1, 10, 15);
    double const middle = (value_of(lower, 10, 15) + upper) / 2;
    expect_rounding_between<half>(lower, static_cast<float>(middle));
    expect_rounding_between<half>(lower, middle);  // rounded once, not to a float first
  }
}

TEST(half, converts_by_instruction_as_it_does_in_software) {
  for (std::uint64_t word = 0; word < 1ull << 32; word += 1021) {
    auto const value = std::bit_cast<float>(static_cast<std::uint32_t>(word));
    ASSERT_EQ(half(value).bits, rill::detail::half_from_float_in_software(value)) << word;
  }
  for (unsigned bits = 0; bits < 0x10000u; ++bits) {
    auto const narrow = static_cast<std::uint16_t>(bits);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(static_cast<float>(from_bits<half>(bits))),
              std::bit_cast<std::uint32_t>(rill::detail::float_from_half_in_software(narrow)))
        << bits;
  }
}

TEST(bfloat16, rounds_to_the_nearest_ties_to_even_between_all_neighbours) {
  for (unsigned lower = 0; lower < 0x7f80u; ++lower) {
    auto const middle = std::bit_cast<float>(lower << 16 | 0x8000u);
    expect_rounding_between<bfloat16>(lower, middle);
    expect_rounding_between<bfloat16>(lower, static_cast<double>(middle));
  }
}

TEST(bfloat16, of_a_wide_integer_is_rounded_once) {
  // 2^e + 2^(e-8) is the middle between two neighbours; one more is above it, though no float between would say so.
  for (int e = 32; e < 63; ++e) {
    auto const middle = (std::int64_t{1} << e) + (std::int64_t{1} << (e - 8));
    auto const lower = bfloat16(std::ldexp(1., e)).bits;
    EXPECT_EQ(bfloat16(middle).bits, lower) << e;
    EXPECT_EQ(bfloat16(middle + 1).bits, lower + 1) << e;
    EXPECT_EQ(bfloat16(static_cast<std::uint64_t>(middle) + 1).bits, lower + 1) << e;
    EXPECT_EQ(bfloat16(middle - 1).bits, lower) << e;
    EXPECT_EQ(bfloat16(-middle - 1).bits, (lower + 1) | 0x8000) << e;
    EXPECT_EQ(bfloat16(-middle + 1).bits, lower | 0x8000) << e;
  }
  EXPECT_EQ(bfloat16((1 << 30) + (1 << 22) + 1).bits, bfloat16(std::ldexp(1., 30)).bits + 1);
  EXPECT_EQ(bfloat16(std::numeric_limits<std::uint64_t>::max()).bits, bfloat16(std::ldexp(1., 64)).bits);
  EXPECT_EQ(bfloat16(std::numeric_limits<std::int64_t>::min()).bits, bfloat16(std::ldexp(-1., 63)).bits);
}

TYPED_TEST(sixteen_bits, takes_doubles_that_no_float_holds) {
  EXPECT_EQ(static_cast<float>(TypeParam(1e300)), infinity);
  EXPECT_EQ(static_cast<float>(TypeParam(-1e300)), -infinity);
  EXPECT_EQ(TypeParam(1e-300).bits, 0);
  EXPECT_EQ(TypeParam(-1e-300).bits, 0x8000);
  EXPECT_TRUE(std::isnan(static_cast<float>(TypeParam(static_cast<double>(NAN)))));
  for (std::int64_t i = -256; i <= 256; ++i) EXPECT_EQ(static_cast<float>(TypeParam(i)), static_cast<float>(i));
}

TEST(bfloat16, is_a_value_of_constant_expressions) {
  static_assert(bfloat16(1).bits == 0x3f80 && bfloat16(1) / bfloat16(2) == 0.5f);
}

}  // namespace
