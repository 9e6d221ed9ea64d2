#include "rill/program/trigonometry.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "accuracy.hpp"

namespace {

using rill::packet;
using namespace rill::test;

struct sine {
  auto operator()(auto x) const { return sin(x); }
  template <class Wide> static Wide exact(Wide x) { return std::sin(x); }
};
struct cosine {
  auto operator()(auto x) const { return cos(x); }
  template <class Wide> static Wide exact(Wide x) { return std::cos(x); }
};
struct tangent {
  auto operator()(auto x) const { return tan(x); }
  template <class Wide> static Wide exact(Wide x) { return std::tan(x); }
};
struct inverse_sine {
  auto operator()(auto x) const { return asin(x); }
  template <class Wide> static Wide exact(Wide x) { return std::asin(x); }
};
struct inverse_cosine {
  auto operator()(auto x) const { return acos(x); }
  template <class Wide> static Wide exact(Wide x) { return std::acos(x); }
};
struct inverse_tangent {
  auto operator()(auto x) const { return atan(x); }
  template <class Wide> static Wide exact(Wide x) { return std::atan(x); }
};
struct angle {
  auto operator()(auto y, auto x) const { return atan2(y, x); }
  template <class Wide> static Wide exact(Wide y, Wide x) { return std::atan2(y, x); }
};

// Half of the doubles are any bits: most of those are huge.
TEST(trigonometry, sin_and_cos_are_within_one_ulp_however_large_the_angle_is) {
  EXPECT_LE(worst_error_of_sampled_floats(sine(), 20011), 1);
  EXPECT_LE(worst_error_of_sampled_floats(cosine(), 20011), 1);
  for (double limit : {7., 4e6}) {
    EXPECT_LE(worst_error_of_random_doubles(sine(), limit, 200'000), 1);
    EXPECT_LE(worst_error_of_random_doubles(cosine(), limit, 200'000), 1);
  }
}

TEST(trigonometry, tan_is_within_two_and_a_half_ulp_however_large_the_angle_is) {
  EXPECT_LE(worst_error_of_sampled_floats(tangent(), 20011), 2.5);
  EXPECT_LE(worst_error_of_random_doubles(tangent(), 7, 200'000), 2.5L);
}

// The nearest that angles of a type come to a multiple of pi / 2: all but the last bits are lost.
template <class T> void expect_near_multiples(T most, long double bound) {
  constexpr long double half_pi = 1.57079632679489661923132169163975144L;
  long double worst = 0;
  for (long double n = 1; n * half_pi < most; n = n < 4096 ? n + 1 : n * 1.0009L) {
    auto const x = static_cast<T>(std::floor(n) * half_pi);
    for (T y : {std::nextafter(x, T(0)), x, std::nextafter(x, most)}) {
      worst = std::max(worst, error_in_ulp(sin(packet<T>(y))[0], std::sin(static_cast<long double>(y))));
      worst = std::max(worst, error_in_ulp(cos(packet<T>(y))[0], std::cos(static_cast<long double>(y))));
    }
  }
  EXPECT_LE(worst, bound);
}

TEST(trigonometry, sin_and_cos_are_within_one_ulp_beside_their_zeros) {
  expect_near_multiples<float>(1e12f, 1);
  expect_near_multiples<double>(1e18, 1);
}

TEST(trigonometry, the_double_that_is_nearest_to_a_multiple_of_half_pi_has_a_cosine) {
  double const x = 0x1.6ac5b262ca1ffp+849;  // W. Kahan's, found by continued fractions
  EXPECT_LE(error_in_ulp(cos(packet<double>(x))[0], std::cos(static_cast<long double>(x))), 1);
  EXPECT_LE(error_in_ulp(tan(packet<double>(x))[0], std::tan(static_cast<long double>(x))), 2.5L);
}

TEST(trigonometry, atan2_is_within_two_and_a_quarter_ulp) {
  EXPECT_LE((worst_error_of_pairs<float, double>(angle(), 40, 20)), 2.25);
  EXPECT_LE((worst_error_of_pairs<double, long double>(angle(), 40, 700)), 2.25L);
}

TEST(trigonometry, inverses_are_within_3_ulp) {
  EXPECT_LE(worst_error_of_sampled_floats(inverse_sine(), 20011), 3);
  EXPECT_LE(worst_error_of_sampled_floats(inverse_cosine(), 20011), 3);
  EXPECT_LE(worst_error_of_sampled_floats(inverse_tangent(), 20011), 2.25);
  EXPECT_LE(worst_error_of_random_doubles(inverse_sine(), 1.01, 200'000), 3);
  EXPECT_LE(worst_error_of_random_doubles(inverse_cosine(), 1.01, 200'000), 3);
  EXPECT_LE(worst_error_of_random_doubles(inverse_tangent(), 9, 200'000), 2.25L);
  for (int i = 1; i < 53; ++i) {  // beside acos(1) = 0
    double const x = 1 - std::ldexp(1., -i);
    EXPECT_LE(error_in_ulp(acos(packet<double>(x))[0], std::acos(static_cast<long double>(x))), 3);
    EXPECT_LE(error_in_ulp(asin(packet<double>(-x))[0], std::asin(static_cast<long double>(-x))), 3);
  }
}

template <class T> class trigonometry_of : public testing::Test {};
using types = testing::Types<float, double>;
TYPED_TEST_SUITE(trigonometry_of, types);

TYPED_TEST(trigonometry_of, zeros_keep_their_sign_and_what_is_no_angle_has_none) {
  using T = TypeParam;
  using limits = std::numeric_limits<T>;
  for (T x : {T(0), T(-0.0), limits::denorm_min(), -limits::denorm_min(), limits::min(), T(-1e-20)}) {
    EXPECT_EQ(sin(packet<T>(x))[0], x);
    EXPECT_EQ(tan(packet<T>(x))[0], x);
    EXPECT_EQ(std::signbit(sin(packet<T>(x))[0]), std::signbit(x));
    EXPECT_EQ(std::signbit(tan(packet<T>(x))[0]), std::signbit(x));
    EXPECT_EQ(cos(packet<T>(x))[0], 1);
  }
  for (T x : {limits::infinity(), -limits::infinity(), limits::quiet_NaN()})
    for (T y : {sin(packet<T>(x))[0], cos(packet<T>(x))[0], tan(packet<T>(x))[0]}) EXPECT_TRUE(std::isnan(y));
}

TYPED_TEST(trigonometry_of, atan2_of_every_quadrant_axis_and_end_is_that_of_the_standard_library) {
  using T = TypeParam;
  using limits = std::numeric_limits<T>;
  std::vector<T> all{0, 1, 2, limits::max(), limits::min(), limits::denorm_min(), limits::infinity()};
  for (std::size_t i = 0, n = all.size(); i < n; ++i) all.push_back(-all[i]);
  for (T y : all)
    for (T x : all) {
      T const got = atan2(packet<T>(y), x)[0];
      long double const want = std::atan2(static_cast<long double>(y), static_cast<long double>(x));
      EXPECT_LE(error_in_ulp(got, want), 1.5L) << y << ", " << x << ": " << got;
      EXPECT_EQ(std::signbit(got), std::signbit(want)) << y << ", " << x;
    }
  auto const nan = limits::quiet_NaN();
  EXPECT_TRUE(std::isnan(atan2(packet<T>(nan), 1)[0]) && std::isnan(atan2(1, packet<T>(nan))[0]));
}

TYPED_TEST(trigonometry_of, inverses_have_their_ends) {
  using T = TypeParam;
  using limits = std::numeric_limits<T>;
  for (T x : {T(0), T(-0.0), T(1), T(-1), limits::denorm_min(), -limits::min(), T(1.5), limits::infinity(),
              -limits::infinity(), limits::quiet_NaN()}) {
    T const s = asin(packet<T>(x))[0], t = atan(packet<T>(x))[0];
    EXPECT_LE(error_in_ulp(s, std::asin(static_cast<long double>(x))), 1) << x;
    EXPECT_LE(error_in_ulp(t, std::atan(static_cast<long double>(x))), 1) << x;
    EXPECT_LE(error_in_ulp(acos(packet<T>(x))[0], std::acos(static_cast<long double>(x))), 1) << x;
    EXPECT_TRUE(x != 0 || (std::signbit(s) == std::signbit(x) && std::signbit(t) == std::signbit(x)));
  }
}

// One lane of a packet may be too large for the quick way, and its neighbours not.
TYPED_TEST(trigonometry_of, the_bits_do_not_depend_on_the_lane_or_the_size_of_the_register) {
  for (int i = 0; i < 1000; ++i)
    for (double limit : {20., 1e4, 1e7}) {
      expect_the_same_in_every_lane<TypeParam>([](auto x) { return sin(x); }, limit);
      expect_the_same_in_every_lane<TypeParam>([](auto x) { return cos(x); }, limit);
      expect_the_same_in_every_lane<TypeParam>([](auto x) { return tan(x); }, limit);
      expect_the_same_in_every_lane<TypeParam>([](auto x) { return atan2(x, 7); }, limit);
    }
}

TEST(trigonometry, has_the_bits_of_every_other_instruction_set) {
  auto const all = [](auto add, auto x) {
    add(sin(x)), add(cos(x)), add(tan(x)), add(atan2(x, 3)), add(atan2(3, x)), add(sin(x * x * x * x * x));
  };
  EXPECT_EQ(hash_of_results<float>(all), 10469288953584749573u);
  EXPECT_EQ(hash_of_results<double>(all), 4553030081738049453u);
}

}  // namespace
