#include "rill/run/plan/double_buffer.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace rill::detail {
namespace {

TEST(double_buffer, the_second_is_a_copy_of_the_first_and_then_they_take_turns) {
  double_buffer<std::vector<int>> t;
  *t = {1, 2};
  t.flip();
  EXPECT_EQ(*t, (std::vector{1, 2}));
  (*t)[0] = 7;
  t.flip();
  EXPECT_EQ(t->at(0), 1);
  t.flip();
  EXPECT_EQ(t->at(0), 7);
}

TEST(double_buffer, forgets_the_other_when_it_rests) {
  double_buffer<int> t;
  *t = 1;
  t.flip();
  *t = 2;
  t.rest();
  t.flip();
  EXPECT_EQ(*t, 2);
}

}  // namespace
}  // namespace rill::detail
