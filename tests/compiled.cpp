#include "rill/compiled.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace {

TEST(compiled, says_for_which_processor_the_kernels_are) {
  auto const name = rill::instruction_set();
  EXPECT_FALSE(name.empty());
  char const* wanted = std::getenv("RILL_TEST_KERNELS");
  EXPECT_EQ(name, wanted == nullptr ? name : wanted);
}

TEST(compiled, accepts_the_kernels_in_use_and_no_others_afterwards) {
  auto const name = rill::instruction_set();
  EXPECT_NO_THROW(rill::use_instruction_set(name));
  EXPECT_THROW(rill::use_instruction_set("x86-64-v9"), rill::error);
  EXPECT_EQ(rill::instruction_set(), name);
}

}  // namespace
