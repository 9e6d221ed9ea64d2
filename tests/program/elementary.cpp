#include "rill/program/elementary.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "accuracy.hpp"

namespace {

using rill::packet;
using namespace rill::test;

struct exponential {
  auto operator()(auto x) const { return exp(x); }
  template <class Wide> static Wide exact(Wide x) { return std::exp(x); }
};
struct logarithm {
  auto operator()(auto x) const { return log(x); }
  template <class Wide> static Wide exact(Wide x) { return std::log(x); }
};
struct exponential_less_1 {
  auto operator()(auto x) const { return expm1(x); }
  template <class Wide> static Wide exact(Wide x) { return std::expm1(x); }
};
struct logarithm_of_1_and {
  auto operator()(auto x) const { return log1p(x); }
  template <class Wide> static Wide exact(Wide x) { return std::log1p(x); }
};
struct soft_corner {
  auto operator()(auto x) const { return softplus(x); }
  template <class Wide> static Wide exact(Wide x) {
    return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
  }
};
struct hyperbolic_tangent {
  auto operator()(auto x) const { return tanh(x); }
  template <class Wide> static Wide exact(Wide x) { return std::tanh(x); }
};
struct logistic {
  auto operator()(auto x) const { return sigmoid(x); }
  template <class Wide> static Wide exact(Wide x) {
    return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
  }
};

TEST(elementary, exp_of_every_sampled_float_is_within_one_and_a_quarter_ulp) {
  EXPECT_LE(worst_error_of_sampled_floats(exponential()), 1.25);
}
TEST(elementary, log_of_every_sampled_float_is_within_one_ulp) {
  EXPECT_LE(worst_error_of_sampled_floats(logarithm()), 1);
}
TEST(elementary, tanh_of_every_sampled_float_is_within_one_and_a_half_ulp) {
  EXPECT_LE(worst_error_of_sampled_floats(hyperbolic_tangent()), 1.5);
}
TEST(elementary, sigmoid_of_every_sampled_float_is_within_two_ulp) {
  EXPECT_LE(worst_error_of_sampled_floats(logistic()), 2);
}
TEST(elementary, expm1_is_within_two_ulp) {
  EXPECT_LE(worst_error_of_sampled_floats(exponential_less_1(), 20011), 1.75);
  EXPECT_LE(worst_error_of_random_doubles(exponential_less_1(), 50, 200'000), 1.75L);
  EXPECT_LE(worst_error_of_random_doubles(exponential_less_1(), 0.5, 200'000), 1.75L);
}
TEST(elementary, log1p_is_within_one_ulp) {
  EXPECT_LE(worst_error_of_sampled_floats(logarithm_of_1_and(), 20011), 1);
  EXPECT_LE(worst_error_of_random_doubles(logarithm_of_1_and(), 4, 200'000), 1);
}
TEST(elementary, softplus_is_within_two_ulp) {
  EXPECT_LE(worst_error_of_sampled_floats(soft_corner(), 20011), 1.75);
  EXPECT_LE(worst_error_of_random_doubles(soft_corner(), 40, 200'000), 1.75L);
  EXPECT_LE(worst_error_of_random_doubles(soft_corner(), 760, 200'000), 1.75L);
}
TEST(elementary, exp_of_random_doubles_is_within_one_and_a_quarter_ulp) {
  EXPECT_LE(worst_error_of_random_doubles(exponential(), 750), 1.25L);
}
TEST(elementary, log_of_random_doubles_is_within_one_ulp) {
  EXPECT_LE(worst_error_of_random_doubles(logarithm(), 4), 1);
}
TEST(elementary, tanh_of_random_doubles_is_within_one_and_a_half_ulp) {
  EXPECT_LE(worst_error_of_random_doubles(hyperbolic_tangent(), 3), 1.5L);
}
TEST(elementary, sigmoid_of_random_doubles_is_within_two_ulp) {
  EXPECT_LE(worst_error_of_random_doubles(logistic(), 40), 2);
  EXPECT_LE(worst_error_of_random_doubles(logistic(), 760), 2);
}

template <class T> class elementary_of : public testing::Test {
 protected:
  static constexpr T zero = 0, inf = infinity<T>, nan = std::numeric_limits<T>::quiet_NaN();
  static constexpr T largest = std::numeric_limits<T>::max(), smallest = std::numeric_limits<T>::denorm_min();
  static T exp_of(T x) { return exp(packet<T>(x))[0]; }
  static T log_of(T x) { return log(packet<T>(x))[0]; }
  static T tanh_of(T x) { return tanh(packet<T>(x))[0]; }
  static T sigmoid_of(T x) { return sigmoid(packet<T>(x))[0]; }
  static T expm1_of(T x) { return expm1(packet<T>(x))[0]; }
  static T log1p_of(T x) { return log1p(packet<T>(x))[0]; }
  static T softplus_of(T x) { return softplus(packet<T>(x))[0]; }
};
using types = testing::Types<float, double>;
TYPED_TEST_SUITE(elementary_of, types);

TYPED_TEST(elementary_of, the_ends_of_the_line_are_exact) {
  using t = elementary_of<TypeParam>;
  EXPECT_EQ(t::exp_of(t::zero), 1);
  EXPECT_EQ(t::exp_of(-t::zero), 1);
  EXPECT_EQ(t::exp_of(t::inf), t::inf);
  EXPECT_EQ(t::exp_of(-t::inf), 0);
  EXPECT_EQ(t::exp_of(t::largest), t::inf);
  EXPECT_EQ(t::exp_of(-t::largest), 0);
  EXPECT_EQ(t::log_of(1), 0);
  EXPECT_EQ(t::log_of(t::inf), t::inf);
  EXPECT_EQ(t::log_of(t::zero), -t::inf);
  EXPECT_EQ(t::log_of(-t::zero), -t::inf);
  EXPECT_EQ(t::tanh_of(t::inf), 1);
  EXPECT_EQ(t::tanh_of(-t::inf), -1);
  EXPECT_EQ(t::sigmoid_of(t::inf), 1);
  EXPECT_EQ(t::sigmoid_of(-t::inf), 0);
  EXPECT_EQ(t::sigmoid_of(t::zero), TypeParam(0.5));
  EXPECT_EQ(t::expm1_of(t::inf), t::inf);
  EXPECT_EQ(t::expm1_of(t::largest), t::inf);
  EXPECT_EQ(t::expm1_of(-t::inf), -1);
  EXPECT_EQ(t::expm1_of(-t::largest), -1);
  EXPECT_EQ(t::log1p_of(t::inf), t::inf);
  EXPECT_EQ(t::log1p_of(-1), -t::inf);
  EXPECT_EQ(t::softplus_of(t::inf), t::inf);
  EXPECT_EQ(t::softplus_of(-t::inf), 0);
  EXPECT_EQ(t::softplus_of(1000), 1000);
  EXPECT_EQ(t::softplus_of(-1000), 0);
}

TYPED_TEST(elementary_of, nan_stays_nan) {
  using t = elementary_of<TypeParam>;
  for (TypeParam x : {t::nan, -t::nan})
    for (TypeParam y : {t::exp_of(x), t::log_of(x), t::tanh_of(x), t::sigmoid_of(x), t::expm1_of(x), t::log1p_of(x),
                        t::softplus_of(x), t::log1p_of(-2), t::log1p_of(-t::inf), t::log_of(-1), t::log_of(-t::inf),
                        t::log_of(-t::smallest)})
      EXPECT_TRUE(std::isnan(y));
}

TYPED_TEST(elementary_of, tanh_expm1_and_log1p_of_what_is_nearly_zero_are_that) {
  using t = elementary_of<TypeParam>;
  for (TypeParam x : {t::zero, t::smallest, std::numeric_limits<TypeParam>::min(), TypeParam(1e-20)}) {
    EXPECT_EQ(t::tanh_of(x), x);
    EXPECT_EQ(t::tanh_of(-x), -x);
    for (TypeParam y : {x, -x}) {
      EXPECT_EQ(t::expm1_of(y), y);
      EXPECT_EQ(t::log1p_of(y), y);
      EXPECT_EQ(std::signbit(t::expm1_of(y)), std::signbit(y));
      EXPECT_EQ(std::signbit(t::log1p_of(y)), std::signbit(y));
    }
  }
  EXPECT_TRUE(std::signbit(t::tanh_of(-t::zero)));
}

TYPED_TEST(elementary_of, the_bits_do_not_depend_on_the_lane_or_the_size_of_the_register) {
  for (int i = 0; i < 10000; ++i) {
    expect_the_same_in_every_lane<TypeParam>([](auto x) { return exp(x); }, 20);
    expect_the_same_in_every_lane<TypeParam>([](auto x) { return log(abs(x)); }, 20);
    expect_the_same_in_every_lane<TypeParam>([](auto x) { return tanh(x); }, 20);
    expect_the_same_in_every_lane<TypeParam>([](auto x) { return sigmoid(x); }, 20);
    expect_the_same_in_every_lane<TypeParam>([](auto x) { return expm1(x); }, 20);
    expect_the_same_in_every_lane<TypeParam>([](auto x) { return log1p(abs(x)); }, 20);
    expect_the_same_in_every_lane<TypeParam>([](auto x) { return softplus(x); }, 20);
  }
}

TEST(elementary, the_bits_are_those_of_every_other_instruction_set) {
  auto const four = [](auto add, auto x) { add(exp(x)), add(log(abs(x))), add(tanh(x)), add(sigmoid(x)); };
  EXPECT_EQ(hash_of_results<float>(four), 284927785997728677u);
  EXPECT_EQ(hash_of_results<double>(four), 9808524015389458921u);
  auto const more = [](auto add, auto x) { add(expm1(x)), add(log1p(abs(x))), add(softplus(x)); };
  EXPECT_EQ(hash_of_results<float>(more), 14826642568942720993u);
  EXPECT_EQ(hash_of_results<double>(more), 7151509366887906830u);
}

}  // namespace
