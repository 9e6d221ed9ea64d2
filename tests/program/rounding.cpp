#include "rill/program/rounding.hpp"

#include <gtest/gtest.h>

#include "accuracy.hpp"

namespace {

using rill::packet;
using namespace rill::test;

template <class T> class rounding : public testing::Test {};
using types = testing::Types<float, double>;
TYPED_TEST_SUITE(rounding, types);

TYPED_TEST(rounding, is_that_of_the_standard_library) {
  using T = TypeParam;
  T const unit = 2 / std::numeric_limits<T>::epsilon(), largest = std::numeric_limits<T>::max();
  auto const expect = [](T got, T want) {
    EXPECT_TRUE(got == want && std::signbit(got) == std::signbit(want)) << got << " for " << want;
  };
  for (T x : {T(0), T(0.3), T(0.5), T(0.7), T(1), T(1.5), T(2.5), T(3.49), unit / 2 - 1, unit / 4 + T(0.5), unit - 1,
              unit, unit + 2, largest, infinity<T>, std::numeric_limits<T>::denorm_min()})
    for (T y : {x, -x}) {
      expect(floor(packet<T>(y))[0], std::floor(y));
      expect(ceil(packet<T>(y))[0], std::ceil(y));
      expect(round(packet<T>(y))[0], std::nearbyint(y));
      expect(trunc(packet<T>(y))[0], std::trunc(y));
    }
  auto const nan = std::numeric_limits<T>::quiet_NaN();
  for (T y : {floor(packet<T>(nan))[0], ceil(packet<T>(nan))[0], round(packet<T>(nan))[0], trunc(packet<T>(nan))[0]})
    EXPECT_TRUE(std::isnan(y));
}

struct rest {
  auto operator()(auto x, auto y) const { return mod(x, y); }
  template <class Wide> static Wide exact(Wide x, Wide y) {
    Wide const r = std::fmod(x, y);
    return r == 0 ? std::copysign(r, y) : (r < 0) != (y < 0) ? r + y : r;
  }
};

TEST(mod, is_exact_but_for_the_addition_that_gives_it_the_divisors_sign) {
  EXPECT_LE((worst_error_of_pairs<float, double>(rest(), 100, 80, 50'000)), 0.5);
  EXPECT_LE((worst_error_of_pairs<double, long double>(rest(), 100, 600, 10'000)), 0.5L);
}

TYPED_TEST(rounding, divides_with_a_whole_quotient_as_numpy_does_it) {
  using T = TypeParam;
  T const inf = infinity<T>, nan = std::numeric_limits<T>::quiet_NaN(), least = std::numeric_limits<T>::denorm_min();
  struct {
    T x, y, quotient, rest;
  } const rows[] = {{7, 3, 2, 1},       {-7, 3, -3, 2},     {7, -3, -3, -2},    {-7, -3, 2, -1},
                    {6, 3, 2, 0},       {-6, 3, -2, 0},     {0, 3, 0, 0},       {1, 0, inf, nan},
                    {-1, 0, -inf, nan}, {0, 0, nan, nan},   {1, inf, 0, 1},     {-1, inf, -1, inf},
                    {inf, 3, nan, nan}, {nan, 3, nan, nan}, {3, nan, nan, nan}, {3 * least, 2 * least, 1, least},
                    {1, least, 0, 0}};
  for (auto const& r : rows) {
    auto const same = [](T a, T b) { return a == b || (std::isnan(a) && std::isnan(b)); };
    if (r.y != least) {
      EXPECT_TRUE(same(floor_div(packet<T>(r.x), r.y)[0], r.quotient)) << r.x << " by " << r.y;
    }
    EXPECT_TRUE(same(mod(packet<T>(r.x), r.y)[0], r.rest)) << r.x << " by " << r.y;
  }
  EXPECT_TRUE(std::signbit(mod(packet<T>(-6), -3)[0]));
  EXPECT_FALSE(std::signbit(mod(packet<T>(-6), 3)[0]));
}

TEST(whole_division, of_every_two_bytes_is_that_of_python) {
  for (int x = -128; x < 128; ++x)
    for (int y = -128; y < 128; ++y) {
      int const q = y == 0 ? 0 : static_cast<int>(std::floor(double(x) / y)), r = y == 0 ? 0 : x - q * y;
      auto const a = static_cast<std::int8_t>(x), b = static_cast<std::int8_t>(y);
      ASSERT_EQ(floor_div(packet<std::int8_t>(a), b)[0], static_cast<std::int8_t>(q)) << x << " by " << y;
      ASSERT_EQ(mod(packet<std::int8_t>(a), b)[0], r) << x << " by " << y;
      auto const u = static_cast<std::uint8_t>(x), v = static_cast<std::uint8_t>(y);
      ASSERT_EQ(floor_div(packet<std::uint8_t>(u), v)[0], v == 0 ? 0 : u / v) << +u << " by " << +v;
      ASSERT_EQ(mod(packet<std::uint8_t>(u), v)[0], v == 0 ? 0 : u % v) << +u << " by " << +v;
    }
}

TYPED_TEST(rounding, gives_the_same_bits_in_every_lane) {
  for (int i = 0; i < 1000; ++i) {
    expect_the_same_in_every_lane<TypeParam>([](auto x) { return mod(x, 3); }, 1e4);
    expect_the_same_in_every_lane<TypeParam>([](auto x) { return floor_div(1000, x); }, 20);
  }
}

}  // namespace
