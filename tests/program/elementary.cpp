#include "rill/program/elementary.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace {

using rill::packet;

template <class T> constexpr T infinity = std::numeric_limits<T>::infinity();

struct exponential {
  auto operator()(auto x) const { return exp(x); }
  template <class Wide> static Wide exact(Wide x) { return std::exp(x); }
};
struct logarithm {
  auto operator()(auto x) const { return log(x); }
  template <class Wide> static Wide exact(Wide x) { return std::log(x); }
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

/// The distance of `got` from `want` in units of the last place that T has at `want`; beyond the largest number
/// infinity stands for the next power of two.
template <class T, class Wide> Wide error_in_ulp(T got, Wide want) {
  using limits = std::numeric_limits<T>;
  if (std::isnan(want)) return std::isnan(got) ? Wide(0) : infinity<Wide>;
  if (std::isinf(want) || want == 0) return got == static_cast<T>(want) ? Wide(0) : infinity<Wide>;
  Wide const beyond = std::ldexp(Wide(1), limits::max_exponent);
  Wide const found = std::isinf(got) ? std::copysign(beyond, Wide(got)) : Wide(got);
  Wide const bounded = std::abs(want) > beyond ? std::copysign(beyond, want) : want;
  int const exponent = std::min(std::max(std::ilogb(want), limits::min_exponent - 1), limits::max_exponent - 1);
  return std::abs(found - bounded) / std::ldexp(Wide(1), exponent + 1 - limits::digits);
}

/// The largest error over packets that `next` fills lane by lane.
template <class T, class Wide, class Function> Wide worst_error(Function f, std::size_t samples, auto next) {
  Wide worst = 0;
  for (std::size_t done = 0; done < samples; done += packet<T>::lanes) {
    T x[packet<T>::lanes], y[packet<T>::lanes];
    for (T& number : x) number = next();
    f(packet<T>::load(x)).store(y);
    for (std::size_t i = 0; i < packet<T>::lanes; ++i)
      worst = std::max(worst, error_in_ulp<T>(y[i], Function::exact(Wide(x[i]))));
  }
  return worst;
}

/// Floats of all signs, sizes and kinds, 1021 representable numbers from one another.
template <class Function> double worst_error_of_sampled_floats(Function f) {
  std::uint32_t word = 0;
  return worst_error<float, double>(f, (std::size_t{1} << 32) / 1021,
                                    [&] { return std::bit_cast<float>(word += 1021); });
}

/// Half of them any bits, half of them between -limit and limit.
template <class Function> long double worst_error_of_random_doubles(Function f, double limit) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> between(-limit, limit);
  bool any = false;
  return worst_error<double, long double>(
      f, 1'000'000, [&] { return (any = !any) ? std::bit_cast<double>(random()) : between(random); });
}

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
  static T floor_of(T x) { return floor(packet<T>(x))[0]; }
  static T round_of(T x) { return round(packet<T>(x))[0]; }
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
}

TYPED_TEST(elementary_of, nan_stays_nan) {
  using t = elementary_of<TypeParam>;
  for (TypeParam x : {t::nan, -t::nan})
    for (TypeParam y : {t::exp_of(x), t::log_of(x), t::tanh_of(x), t::sigmoid_of(x), t::floor_of(x), t::round_of(x),
                        t::log_of(-1), t::log_of(-t::inf), t::log_of(-t::smallest)})
      EXPECT_TRUE(std::isnan(y));
}

TYPED_TEST(elementary_of, tanh_of_what_is_nearly_zero_is_that) {
  using t = elementary_of<TypeParam>;
  for (TypeParam x : {t::zero, t::smallest, std::numeric_limits<TypeParam>::min(), TypeParam(1e-20)}) {
    EXPECT_EQ(t::tanh_of(x), x);
    EXPECT_EQ(t::tanh_of(-x), -x);
  }
  EXPECT_TRUE(std::signbit(t::tanh_of(-t::zero)));
}

TYPED_TEST(elementary_of, floor_and_round_are_those_of_the_standard_library) {
  using t = elementary_of<TypeParam>;
  TypeParam const unit = 2 / std::numeric_limits<TypeParam>::epsilon();
  for (TypeParam x : {t::zero, TypeParam(0.3), TypeParam(0.5), TypeParam(0.7), TypeParam(1), TypeParam(1.5),
                      TypeParam(2.5), TypeParam(3.49), unit / 2 - 1, unit / 4 + TypeParam(0.5), unit - 1, unit,
                      unit + 2, t::largest, t::inf, t::smallest})
    for (TypeParam y : {x, -x}) {
      EXPECT_EQ(t::floor_of(y), std::floor(y)) << y;
      EXPECT_EQ(t::round_of(y), std::nearbyint(y)) << y;
      EXPECT_EQ(std::signbit(t::floor_of(y)), std::signbit(y)) << y;
      EXPECT_EQ(std::signbit(t::round_of(y)), std::signbit(y)) << y;
    }
}

// The same numbers in registers of another size, and in other lanes of theirs.
TYPED_TEST(elementary_of, the_bits_do_not_depend_on_the_lane_or_the_size_of_the_register) {
  using T = TypeParam;
  using word = rill::detail::word_of<T>;
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> between(-20, 20);
  auto const expect_same = [&](auto f) {
    T x[packet<T>::lanes], y[packet<T>::lanes];
    for (T& number : x) number = static_cast<T>(between(random));
    f(packet<T>::load(x)).store(y);
    for (std::size_t i = 0; i < packet<T>::lanes; ++i)
      ASSERT_EQ(std::bit_cast<word>(y[i]), std::bit_cast<word>(f(packet<T, 16>(x[i]))[1])) << x[i];
  };
  for (int i = 0; i < 10000; ++i) {
    expect_same([](auto x) { return exp(x); });
    expect_same([](auto x) { return log(abs(x)); });
    expect_same([](auto x) { return tanh(x); });
    expect_same([](auto x) { return sigmoid(x); });
  }
}

/// A hash of the bits of all functions at many numbers, the same for every instruction set that this file is built for.
template <class T> std::uint64_t hash_of_results() {
  std::mt19937_64 random(3);
  std::uint64_t hash = 0;
  for (int i = 0; i < 4096; ++i) {
    T const x = static_cast<T>(std::ldexp(static_cast<double>(random() >> 11) - 0x1p52, -47));
    for (T y : {exp(packet<T>(x))[0], log(abs(packet<T>(x)))[0], tanh(packet<T>(x))[0], sigmoid(packet<T>(x))[0]})
      hash = (hash ^ std::bit_cast<rill::detail::word_of<T>>(y)) * 0x9e37'79b9'7f4a'7c15u;
  }
  return hash;
}

TEST(elementary, the_bits_are_those_of_every_other_instruction_set) {
  EXPECT_EQ(hash_of_results<float>(), 284927785997728677u);
  EXPECT_EQ(hash_of_results<double>(), 9808524015389458921u);
}

}  // namespace
