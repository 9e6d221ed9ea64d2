#include "rill/program/power.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "accuracy.hpp"

namespace {

using rill::packet;
using namespace rill::test;

struct raised {
  auto operator()(auto x, auto y) const { return pow(x, y); }
  template <class Wide> static Wide exact(Wide x, Wide y) { return std::pow(x, y); }
};

TEST(power, of_floats_is_within_one_ulp) {
  EXPECT_LE((worst_error_of_pairs<float, double>(raised(), 40, 60)), 1);
  EXPECT_LE((worst_error_of_pairs<double, long double>(raised(), 40, 600)), 1);
}

// Where y is large, x is nearly 1, and what the logarithm loses is multiplied most.
TEST(power, of_numbers_near_1_by_large_ones_is_within_one_ulp) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> near(0.99, 1.01), large(-60'000, 60'000);
  long double worst = 0;
  for (int i = 0; i < 100'000; ++i) {
    double const x = near(random), y = large(random);
    worst = std::max(worst, error_in_ulp(pow(packet<double>(x), y)[0],
                                         std::pow(static_cast<long double>(x), static_cast<long double>(y))));
  }
  EXPECT_LE(worst, 1);
}

template <class T> class power_of : public testing::Test {};
using types = testing::Types<float, double>;
TYPED_TEST_SUITE(power_of, types);

TYPED_TEST(power_of, the_ends_of_the_line_is_that_of_the_standard_library) {
  using T = TypeParam;
  using limits = std::numeric_limits<T>;
  std::vector<T> all{
      0, T(0.5), 1, T(1.5), 2, 3, 4, 1001, limits::max(), limits::min(), limits::denorm_min(), limits::infinity()};
  for (std::size_t i = 0, n = all.size(); i < n; ++i) all.push_back(-all[i]);
  all.push_back(limits::quiet_NaN());
  for (T x : all)
    for (T y : all) {
      T const got = pow(packet<T>(x), packet<T>(y))[0], want = std::pow(x, y);
      EXPECT_TRUE(std::isnan(got) == std::isnan(want)) << x << " to the power of " << y << ": " << got;
      if (std::isnan(want)) continue;
      EXPECT_EQ(std::signbit(got), std::signbit(want)) << x << " to the power of " << y;
      EXPECT_LE(error_in_ulp(got, static_cast<long double>(want)), 1.5L) << x << " to the power of " << y;
    }
}

TYPED_TEST(power_of, of_two_is_the_square_beside_any_others) {
  using T = TypeParam;
  constexpr auto lanes = packet<T>::lanes;
  std::mt19937_64 random(6);
  for (int i = 0; i < 1000; ++i) {
    T x[lanes], y[lanes];
    for (std::size_t k = 0; k < lanes; ++k) x[k] = static_cast<T>(random() % 100'000) / 7, y[k] = k % 2 == 0 ? 2 : 3;
    auto const some = pow(packet<T>::load(x), packet<T>::load(y)), all = pow(packet<T>::load(x), 2);
    for (std::size_t k = 0; k < lanes; k += 2) {
      ASSERT_EQ(some[k], x[k] * x[k]);
      ASSERT_EQ(all[k], x[k] * x[k]);
    }
  }
}

TEST(power, of_integers_wraps_and_rounds_negative_ones_toward_zero) {
  for (int x = -128; x < 128; ++x) {
    unsigned char product = 1;
    for (int y = 0; y < 128; ++y) {
      ASSERT_EQ(static_cast<unsigned char>(pow(packet<std::int8_t>(x), y)[0]), product)
          << x << " to the power of " << y;
      ASSERT_EQ(pow(packet<std::uint8_t>(static_cast<std::uint8_t>(x)), y)[0], product);
      product = static_cast<unsigned char>(product * x);
    }
    for (int y = -128; y < 0; ++y) {
      int const want = x == 1 ? 1 : x == -1 ? (y % 2 == 0 ? 1 : -1) : 0;
      ASSERT_EQ(pow(packet<std::int8_t>(x), y)[0], want) << x << " to the power of " << y;
    }
  }
  EXPECT_EQ(pow(packet<std::int64_t>(3), 39)[0], 4052555153018976267);
  EXPECT_EQ(pow(3, packet<std::uint64_t>(41))[0], 18026252303461234787u);
}

TYPED_TEST(power_of, every_number_has_the_same_bits_in_every_lane) {
  for (int i = 0; i < 1000; ++i) {
    expect_the_same_in_every_lane<TypeParam>([](auto x) { return pow(abs(x), 1.7); }, 100);
    expect_the_same_in_every_lane<TypeParam>([](auto x) { return pow(1.7, x); }, 100);
  }
}

TEST(power, has_the_bits_of_every_other_instruction_set) {
  auto const both = [](auto add, auto x) { add(pow(abs(x), 1.7)), add(pow(1.7, x)); };
  EXPECT_EQ(hash_of_results<float>(both), 13427663797080099121u);
  EXPECT_EQ(hash_of_results<double>(both), 1320256330739815205u);
}

}  // namespace
