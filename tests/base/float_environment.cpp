#include "rill/base/float_environment.hpp"

#include <gtest/gtest.h>

#include "base/changed_float_environment.hpp"

namespace rill::detail {
namespace {

// Volatile, so that the processor computes it in the environment of the moment.
float sum_of(float a, float b) {
  float volatile x = a, y = b;
  return x + y;
}
float half_of(float a) {
  float volatile x = a;
  return x * 0.5f;
}

TEST(float_environment, is_the_default_one_until_the_previous_one_comes_back) {
  EXPECT_TRUE(has_default_float_environment());
  test::changed_float_environment const changed;
  EXPECT_FALSE(has_default_float_environment());
  EXPECT_GT(sum_of(1, 1e-9f), 1);
  {
    default_float_environment const environment;
    EXPECT_TRUE(has_default_float_environment());
    EXPECT_EQ(sum_of(1, 1e-9f), 1);
    EXPECT_GT(half_of(1e-38f), 0);
  }
  EXPECT_TRUE(changed.is_here());
  EXPECT_GT(sum_of(1, 1e-9f), 1);
}

TEST(float_environment, may_be_asked_for_within_itself) {
  test::changed_float_environment const changed;
  {
    default_float_environment const outer;
    {
      default_float_environment const inner;
    }
    EXPECT_TRUE(has_default_float_environment());
  }
  EXPECT_TRUE(changed.is_here());
}

TEST(float_environment, is_not_told_by_flags_of_what_was_computed) {
  float volatile zero = 0;
  EXPECT_GT(1 / zero, 1e38f);  // raises a flag
  EXPECT_TRUE(has_default_float_environment());
}

TEST(float_environment, of_each_other_way_to_round_is_replaced) {
  for (int const rounding : {FE_DOWNWARD, FE_TOWARDZERO, FE_UPWARD}) {
    std::fesetround(rounding);
    {
      default_float_environment const environment;
      EXPECT_EQ(std::fegetround(), FE_TONEAREST);
    }
    EXPECT_EQ(std::fegetround(), rounding);
  }
  std::fesetround(FE_TONEAREST);
}

}  // namespace
}  // namespace rill::detail
