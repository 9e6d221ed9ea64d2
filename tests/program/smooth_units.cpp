#include "rill/program/smooth_units.hpp"

#include <gtest/gtest.h>

#include <type_traits>

#include "accuracy.hpp"

namespace {

using rill::packet;
using namespace rill::test;

// Twice is enough for the argument of a tail: at -100 its error is multiplied by 100.
template <class Wide> using wider = std::conditional_t<std::is_same_v<Wide, double>, long double, Wide>;

template <class Wide> Wide logistic(Wide x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
template <class Wide> Wide at_ends(Wide x, auto f) {
  if (std::isinf(x)) return x < 0 ? Wide(-0.0) : x;
  return static_cast<Wide>(f(static_cast<wider<Wide>>(x)));
}

struct silu_of {
  auto operator()(auto x) const { return silu(x); }
  template <class Wide> static Wide exact(Wide x) {
    return at_ends(x, [](auto t) { return t * logistic(t); });
  }
};
struct gelu_of {
  auto operator()(auto x) const { return gelu(x); }
  template <class Wide> static Wide exact(Wide x) {
    return at_ends(x, [](auto t) { return t * std::erfc(-t * 0.70710678118654752440084436210485L) / 2; });
  }
};
struct normal_cdf_of {
  auto operator()(auto x) const { return normal_cdf(x); }
  template <class Wide> static Wide exact(Wide x) {
    return static_cast<Wide>(std::erfc(-static_cast<wider<Wide>>(x) * 0.70710678118654752440084436210485L) / 2);
  }
};
struct gelu_tanh_of {
  auto operator()(auto x) const { return gelu_tanh(x); }
  template <class Wide> static Wide exact(Wide x) {
    return at_ends(
        x, [](auto t) { return t * logistic(1.5957691216057307117597842397375L * (t + 0.044715L * t * t * t)); });
  }
};
struct mish_of {
  auto operator()(auto x) const { return mish(x); }
  template <class Wide> static Wide exact(Wide x) {
    return at_ends(x, [](auto t) {
      auto const e = std::exp(-std::abs(t));
      return t < 0 ? t * e * (e + 2) / (e * (e + 2) + 2) : t * (1 + 2 * e) / (1 + 2 * e + 2 * e * e);
    });
  }
};

template <class Function> void expect_within(Function f, double ulp) {
  EXPECT_LE(worst_error_of_sampled_floats(f, 20011), ulp);
  // long double has 11 bits more than double, of which a tail's argument takes up to 10.
  for (double limit : {2., 6.}) EXPECT_LE(worst_error_of_random_doubles(f, limit, 100'000), ulp + 0.1);
}

TEST(smooth_units, are_within_2_4_ulp) {
  expect_within(silu_of(), 2.4);
  expect_within(gelu_of(), 2.4);
  expect_within(gelu_tanh_of(), 2.4);
  expect_within(mish_of(), 2.4);
}
TEST(normal_cdf, is_within_3_ulp) { expect_within(normal_cdf_of(), 3); }

template <class T> class smooth_units_of : public testing::Test {};
using types = testing::Types<float, double>;
TYPED_TEST_SUITE(smooth_units_of, types);

TYPED_TEST(smooth_units_of, are_0_or_x_at_the_ends_of_the_line_and_keep_signs_and_nan) {
  using T = TypeParam;
  using limits = std::numeric_limits<T>;
  auto const expect_ends = [](auto f) {
    auto const at = [&](T x) { return f(packet<T>(x))[0]; };
    EXPECT_EQ(at(infinity<T>), infinity<T>);
    EXPECT_EQ(at(limits::max()), limits::max());
    for (T x : {-infinity<T>, -limits::max(), T(-1000), T(-0.0)}) EXPECT_TRUE(at(x) == 0 && std::signbit(at(x))) << x;
    EXPECT_FALSE(std::signbit(at(T(0))));
    EXPECT_TRUE(std::isnan(at(limits::quiet_NaN())));
    EXPECT_EQ(at(limits::denorm_min() * 64), limits::denorm_min() * 32);
  };
  expect_ends([](auto x) { return silu(x); });
  expect_ends([](auto x) { return gelu(x); });
  expect_ends([](auto x) { return gelu_tanh(x); });
  auto const mish_at = [](T x) { return mish(packet<T>(x))[0]; };
  EXPECT_EQ(mish_at(infinity<T>), infinity<T>);
  EXPECT_EQ(mish_at(-infinity<T>), 0);
  EXPECT_TRUE(std::isnan(mish_at(limits::quiet_NaN())));
  auto const share = [](T x) { return normal_cdf(packet<T>(x))[0]; };
  EXPECT_EQ(share(infinity<T>), 1);
  EXPECT_EQ(share(-infinity<T>), 0);
  EXPECT_EQ(share(0), T(0.5));
  EXPECT_TRUE(std::isnan(share(limits::quiet_NaN())));
}

TYPED_TEST(smooth_units_of, have_the_same_bits_in_every_lane) {
  for (int i = 0; i < 1000; ++i) {
    expect_the_same_in_every_lane<TypeParam>([](auto x) { return silu(x); }, 120);
    expect_the_same_in_every_lane<TypeParam>([](auto x) { return gelu(x); }, 16);
    expect_the_same_in_every_lane<TypeParam>([](auto x) { return gelu_tanh(x); }, 12);
    expect_the_same_in_every_lane<TypeParam>([](auto x) { return mish(x); }, 120);
    expect_the_same_in_every_lane<TypeParam>([](auto x) { return normal_cdf(x); }, 16);
  }
}

TEST(smooth_units, have_the_bits_of_every_other_instruction_set) {
  auto const all = [](auto add, auto x) {
    add(silu(x)), add(gelu(x)), add(gelu_tanh(x)), add(mish(x)), add(normal_cdf(x)), add(gelu(x * 0.0625));
  };
  EXPECT_EQ(hash_of_results<float>(all), 12041681605624221879u);
  EXPECT_EQ(hash_of_results<double>(all), 13174922668791556109u);
}

}  // namespace
