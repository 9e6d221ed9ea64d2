#include "rill/run/plan/stages.hpp"

#include <gtest/gtest.h>

namespace rill {
namespace {

TEST(stages, are_a_bitmask_of_which_all_has_each) {
  for (unsigned bit = 1; bit <= 512; bit *= 2) EXPECT_TRUE(has(stages::all, stages{bit}));
  auto const two = stages::values | stages::memory;
  EXPECT_TRUE(has(two, stages::values) && has(two, stages::memory));
  EXPECT_FALSE(has(two, stages::kernels));
  EXPECT_EQ(two & stages::memory, stages::memory);
  EXPECT_EQ(stages::summary | stages::bind, stages::bind);
}

}  // namespace
}  // namespace rill
