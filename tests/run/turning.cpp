#include "rill/run/turning.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace rill::detail {
namespace {

TEST(turning, the_second_is_a_copy_of_the_first_and_then_they_take_turns) {
  turning<std::vector<int>> t;
  *t = {1, 2};
  t.turn_over();
  EXPECT_EQ(*t, (std::vector{1, 2}));
  (*t)[0] = 7;
  t.turn_over();
  EXPECT_EQ(t->at(0), 1);
  t.turn_over();
  EXPECT_EQ(t->at(0), 7);
}

TEST(turning, forgets_the_other_when_it_rests) {
  turning<int> t;
  *t = 1;
  t.turn_over();
  *t = 2;
  t.rest();
  t.turn_over();
  EXPECT_EQ(*t, 2);
}

}  // namespace
}  // namespace rill::detail
