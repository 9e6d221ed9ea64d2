#include "rill/run/free_list.hpp"

#include <gtest/gtest.h>

namespace rill::detail {
namespace {

TEST(free_list, gives_out_what_came_last_and_nothing_when_there_is_nothing) {
  free_list<int> runs;
  EXPECT_EQ(runs.take(), nullptr);
  runs.give_back(std::make_unique<int>(1));
  runs.give_back(std::make_unique<int>(2));
  EXPECT_EQ(*runs.take(), 2);
  EXPECT_EQ(*runs.take(), 1);
  EXPECT_EQ(runs.take(), nullptr);
}

TEST(free_list, lets_go_of_all) {
  free_list<int> runs;
  runs.give_back(std::make_unique<int>(1));
  runs.clear();
  EXPECT_EQ(runs.take(), nullptr);
}

}  // namespace
}  // namespace rill::detail
