#include "rill/program/hyperbolic.hpp"

#include <gtest/gtest.h>

#include "accuracy.hpp"

namespace {

using rill::packet;
using namespace rill::test;

struct sine {
  auto operator()(auto x) const { return sinh(x); }
  template <class Wide> static Wide exact(Wide x) { return std::sinh(x); }
};
struct cosine {
  auto operator()(auto x) const { return cosh(x); }
  template <class Wide> static Wide exact(Wide x) { return std::cosh(x); }
};
struct inverse_sine {
  auto operator()(auto x) const { return asinh(x); }
  template <class Wide> static Wide exact(Wide x) { return std::asinh(x); }
};
struct inverse_cosine {
  auto operator()(auto x) const { return acosh(x); }
  template <class Wide> static Wide exact(Wide x) { return std::acosh(x); }
};
struct inverse_tangent {
  auto operator()(auto x) const { return atanh(x); }
  template <class Wide> static Wide exact(Wide x) { return std::atanh(x); }
};

template <class F> void expect_within(F f, double bound, double limit) {
  EXPECT_LE(worst_error_of_sampled_floats(f, 20011), bound);
  EXPECT_LE(worst_error_of_random_doubles(f, limit, 200'000), static_cast<long double>(bound));
  EXPECT_LE(worst_error_of_random_doubles(f, 1, 200'000), static_cast<long double>(bound));
}

TEST(hyperbolic, sinh_is_within_3_ulp_near_0_and_up_to_its_overflow) {
  expect_within(sine(), 3, 712);
  EXPECT_LE(error_in_ulp(sinh(packet<double>(710.4))[0], std::sinh(static_cast<long double>(710.4))),
            3);  // e^710.4 is infinite
  EXPECT_LE(error_in_ulp(sinh(packet<float>(-89.3f))[0], std::sinh(-89.3f * 1.)), 3);
}
TEST(hyperbolic, cosh_is_within_2_ulp_up_to_its_overflow) {
  expect_within(cosine(), 2, 712);
  EXPECT_LE(error_in_ulp(cosh(packet<double>(-710.4))[0], std::cosh(static_cast<long double>(710.4))), 2);
}
TEST(hyperbolic, inverses_are_within_3_ulp) {
  expect_within(inverse_sine(), 3, 40);
  expect_within(inverse_cosine(), 3, 40);
  expect_within(inverse_tangent(), 3, 1);
}
// Where the results come near 0.
TEST(hyperbolic, inverses_are_within_3_ulp_beside_their_zeros) {
  for (int i = 1; i < 52; ++i) {
    double const small = std::ldexp(1.3, -i);
    EXPECT_LE(error_in_ulp(acosh(packet<double>(1 + small))[0], std::acosh(static_cast<long double>(1 + small))), 3);
    EXPECT_LE(error_in_ulp(asinh(packet<double>(-small))[0], std::asinh(static_cast<long double>(-small))), 3);
    EXPECT_LE(error_in_ulp(atanh(packet<double>(small - 1))[0], std::atanh(static_cast<long double>(small - 1))), 3);
  }
}

template <class T> class hyperbolic_of : public testing::Test {};
using types = testing::Types<float, double>;
TYPED_TEST_SUITE(hyperbolic_of, types);

TYPED_TEST(hyperbolic_of, zeros_keep_their_sign_and_ends_are_those_of_the_standard_library) {
  using T = TypeParam;
  using limits = std::numeric_limits<T>;
  for (T x : {T(0), T(-0.0), limits::denorm_min(), -limits::denorm_min(), limits::min(), T(-1e-20)})
    for (T y : {sinh(packet<T>(x))[0], asinh(packet<T>(x))[0], atanh(packet<T>(x))[0]}) {
      EXPECT_EQ(y, x);
      EXPECT_EQ(std::signbit(y), std::signbit(x));
    }
  for (T x : {T(1), T(-1), T(2), T(-2), limits::max(), -limits::max(), limits::infinity(), -limits::infinity(),
              limits::quiet_NaN()}) {
    EXPECT_LE(error_in_ulp(sinh(packet<T>(x))[0], std::sinh(static_cast<long double>(x))), 3) << x;
    EXPECT_LE(error_in_ulp(cosh(packet<T>(x))[0], std::cosh(static_cast<long double>(x))), 3) << x;
    EXPECT_LE(error_in_ulp(asinh(packet<T>(x))[0], std::asinh(static_cast<long double>(x))), 3) << x;
    EXPECT_LE(error_in_ulp(acosh(packet<T>(x))[0], std::acosh(static_cast<long double>(x))), 3) << x;
    EXPECT_LE(error_in_ulp(atanh(packet<T>(x))[0], std::atanh(static_cast<long double>(x))), 3) << x;
  }
  EXPECT_EQ(cosh(packet<T>(0))[0], 1);
  EXPECT_EQ(acosh(packet<T>(1))[0], 0);
}

TYPED_TEST(hyperbolic_of, the_bits_do_not_depend_on_the_lane_or_the_size_of_the_register) {
  for (int i = 0; i < 1000; ++i)
    for (double limit : {0.9, 30., 800.}) {
      expect_the_same_in_every_lane<TypeParam>([](auto x) { return sinh(x); }, limit);
      expect_the_same_in_every_lane<TypeParam>([](auto x) { return cosh(x); }, limit);
      expect_the_same_in_every_lane<TypeParam>([](auto x) { return asinh(x); }, limit);
      expect_the_same_in_every_lane<TypeParam>([](auto x) { return acosh(1 + abs(x)); }, limit);
      expect_the_same_in_every_lane<TypeParam>([](auto x) { return atanh(x); }, 0.99);
    }
}

TEST(hyperbolic, has_the_bits_of_every_other_instruction_set) {
  auto const all = [](auto add, auto x) {
    add(sinh(x)), add(cosh(x)), add(asinh(x)), add(acosh(abs(x))), add(atanh(1 / x));
  };
  EXPECT_EQ(hash_of_results<float>(all), 7150149352716879991u);
  EXPECT_EQ(hash_of_results<double>(all), 8967006965583434887u);
}

}  // namespace
