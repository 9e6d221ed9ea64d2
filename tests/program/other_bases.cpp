#include "rill/program/other_bases.hpp"

#include <gtest/gtest.h>

#include "accuracy.hpp"

namespace {

using rill::packet;
using namespace rill::test;

struct power {
  auto operator()(auto x) const { return exp2(x); }
  template <class Wide> static Wide exact(Wide x) { return std::exp2(x); }
};
struct binary {
  auto operator()(auto x) const { return log2(x); }
  template <class Wide> static Wide exact(Wide x) { return std::log2(x); }
};
struct decimal {
  auto operator()(auto x) const { return log10(x); }
  template <class Wide> static Wide exact(Wide x) { return std::log10(x); }
};

TEST(other_bases, exp2_is_within_one_and_a_quarter_ulp_with_subnormal_results) {
  EXPECT_LE(worst_error_of_sampled_floats(power(), 20011), 1.25);
  EXPECT_LE(worst_error_of_random_doubles(power(), 1100, 200'000), 1.25L);
  EXPECT_LE(worst_error_of_random_doubles(power(), 1, 200'000), 1.25L);
}
TEST(other_bases, logarithms_are_within_2_ulp) {
  EXPECT_LE(worst_error_of_sampled_floats(binary(), 20011), 2);
  EXPECT_LE(worst_error_of_sampled_floats(decimal(), 20011), 2);
  for (double limit : {2., 1e3}) {
    EXPECT_LE(worst_error_of_random_doubles(binary(), limit, 200'000), 2);
    EXPECT_LE(worst_error_of_random_doubles(decimal(), limit, 200'000), 2);
  }
}

template <class T> class other_bases_of : public testing::Test {};
using types = testing::Types<float, double>;
TYPED_TEST_SUITE(other_bases_of, types);

TYPED_TEST(other_bases_of, powers_have_whole_logarithms) {
  using T = TypeParam;
  using limits = std::numeric_limits<T>;
  for (int i = limits::min_exponent - limits::digits; i < limits::max_exponent; ++i) {
    EXPECT_EQ(log2(packet<T>(std::ldexp(T(1), i)))[0], T(i));
    EXPECT_EQ(exp2(packet<T>(T(i)))[0], std::ldexp(T(1), i));
  }
  T ten = 1;
  for (int i = 0; i < (sizeof(T) == 4 ? 11 : 23); ++i, ten *= 10) EXPECT_EQ(log10(packet<T>(ten))[0], T(i));
}

TYPED_TEST(other_bases_of, ends_are_those_of_the_standard_library) {
  using T = TypeParam;
  using limits = std::numeric_limits<T>;
  for (T x : {T(0), T(-0.0), T(-1), limits::denorm_min(), limits::max(), limits::infinity(), -limits::infinity(),
              limits::quiet_NaN(), -limits::max()}) {
    EXPECT_LE(error_in_ulp(exp2(packet<T>(x))[0], std::exp2(static_cast<long double>(x))), 1.25L) << x;
    EXPECT_LE(error_in_ulp(log2(packet<T>(x))[0], std::log2(static_cast<long double>(x))), 1.25L) << x;
    EXPECT_LE(error_in_ulp(log10(packet<T>(x))[0], std::log10(static_cast<long double>(x))), 1.25L) << x;
  }
}

TYPED_TEST(other_bases_of, the_bits_do_not_depend_on_the_lane_or_the_size_of_the_register) {
  for (int i = 0; i < 1000; ++i) {
    expect_the_same_in_every_lane<TypeParam>([](auto x) { return exp2(x); }, 200);
    expect_the_same_in_every_lane<TypeParam>([](auto x) { return log2(abs(x)); }, 40);
    expect_the_same_in_every_lane<TypeParam>([](auto x) { return log10(abs(x)); }, 40);
  }
}

TEST(other_bases, has_the_bits_of_every_other_instruction_set) {
  auto const all = [](auto add, auto x) { add(exp2(x)), add(log2(abs(x))), add(log10(abs(x))); };
  EXPECT_EQ(hash_of_results<float>(all), 9280763740136294349u);
  EXPECT_EQ(hash_of_results<double>(all), 12212640443403429023u);
}

}  // namespace
