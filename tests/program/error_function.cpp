#include "rill/program/error_function.hpp"

#include <gtest/gtest.h>

#include "accuracy.hpp"

namespace {

using rill::packet;
using namespace rill::test;

struct error {
  auto operator()(auto x) const { return erf(x); }
  template <class Wide> static Wide exact(Wide x) { return std::erf(x); }
};

TEST(error_function, is_within_two_ulp) {
  EXPECT_LE(worst_error_of_sampled_floats(error(), 20011), 1.75);
  EXPECT_LE(worst_error_of_random_doubles(error(), 7, 200'000), 1.75L);
  EXPECT_LE(worst_error_of_random_doubles(error(), 1, 200'000), 1.75L);
}

template <class T> class error_function : public testing::Test {};
using types = testing::Types<float, double>;
TYPED_TEST_SUITE(error_function, types);

TYPED_TEST(error_function, is_exact_at_the_ends_of_the_line_and_odd) {
  using T = TypeParam;
  auto const erf_of = [](T x) { return erf(packet<T>(x))[0]; };
  for (T x : {infinity<T>, std::numeric_limits<T>::max(), T(6)}) {
    EXPECT_EQ(erf_of(x), 1);
    EXPECT_EQ(erf_of(-x), -1);
  }
  EXPECT_FALSE(std::signbit(erf_of(T(0))));
  EXPECT_TRUE(erf_of(T(-0.0)) == 0 && std::signbit(erf_of(T(-0.0))));
  EXPECT_TRUE(std::isnan(erf_of(std::numeric_limits<T>::quiet_NaN())));
}

TYPED_TEST(error_function, has_the_same_bits_in_every_lane) {
  for (int i = 0; i < 1000; ++i) expect_the_same_in_every_lane<TypeParam>([](auto x) { return erf(x); }, 3);
}

TEST(error_function, has_the_bits_of_every_other_instruction_set) {
  auto const one = [](auto add, auto x) { add(erf(x)), add(erf(x * 0.0625)); };
  EXPECT_EQ(hash_of_results<float>(one), 1101396156119679646u);
  EXPECT_EQ(hash_of_results<double>(one), 12913766282292389327u);
}

}  // namespace
