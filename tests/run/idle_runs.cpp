#include "rill/run/idle_runs.hpp"

#include <gtest/gtest.h>

namespace rill::detail {
namespace {

TEST(idle_runs, gives_out_what_came_last_and_nothing_when_there_is_nothing) {
  idle_runs<int> runs;
  EXPECT_EQ(runs.take(), nullptr);
  runs.give_back(std::make_unique<int>(1));
  runs.give_back(std::make_unique<int>(2));
  EXPECT_EQ(*runs.take(), 2);
  EXPECT_EQ(*runs.take(), 1);
  EXPECT_EQ(runs.take(), nullptr);
}

TEST(idle_runs, lets_go_of_all) {
  idle_runs<int> runs;
  runs.give_back(std::make_unique<int>(1));
  runs.clear();
  EXPECT_EQ(runs.take(), nullptr);
}

}  // namespace
}  // namespace rill::detail
