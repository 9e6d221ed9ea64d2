#include "rill/io/jump.hpp"

#include <gtest/gtest.h>

namespace rill {
namespace {

TEST(jump, comes_back_from_a_function_that_leaves_with_its_words) {
  files::jump j;
  int steps = 0;
  EXPECT_TRUE(files::attempt(j, [&] { ++steps; }));
  EXPECT_FALSE(files::attempt(j, [&] {
    ++steps;
    j.leave("no way");
  }));
  EXPECT_EQ(steps, 2);
  EXPECT_STREQ(j.words, "no way");
}

TEST(jump, keeps_the_start_of_long_words) {
  files::jump j;
  std::string const words(1000, 'x');
  EXPECT_FALSE(files::attempt(j, [&] { j.leave(words.c_str()); }));
  EXPECT_EQ(j.words, std::string(255, 'x'));
}

}  // namespace
}  // namespace rill
