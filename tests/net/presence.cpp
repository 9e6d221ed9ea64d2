#include "rill/net/presence.hpp"

#include <gtest/gtest.h>

namespace rill::net {
namespace {

device_name const first = {.job = "worker", .task = 0}, second = {.job = "worker", .task = 1},
                  ps = {.job = "ps", .task = 0};

TEST(presence, of_a_job_is_over_when_all_its_tasks_have_been_there_and_left) {
  presence p;
  EXPECT_FALSE(p.is_over("worker", 2));
  p.came(first);
  p.left(first);
  EXPECT_FALSE(p.is_over("worker", 2)) << "the second task has not come yet";
  p.came(second);
  p.came(first);
  p.left(second);
  EXPECT_FALSE(p.is_over("worker", 2)) << "the first task is back";
  p.came(ps);
  p.left(first);
  EXPECT_TRUE(p.is_over("worker", 2));
}

TEST(presence, does_not_count_tasks_that_the_job_lacks) {
  presence p;
  device_name const seventh = {.job = "worker", .task = 7};
  p.came(seventh);
  p.left(seventh);
  EXPECT_FALSE(p.is_over("worker", 1)) << "its only task has not come yet";
  p.came(first);
  p.left(first);
  EXPECT_TRUE(p.is_over("worker", 1));
  p.came(seventh);
  EXPECT_TRUE(p.is_over("worker", 1));
}

TEST(presence, does_not_wait_for_the_process_itself) {
  presence p;
  p.came(second);
  EXPECT_FALSE(p.is_over("worker", 2, first));
  p.left(second);
  EXPECT_TRUE(p.is_over("worker", 2, first));
  EXPECT_FALSE(p.is_over("worker", 2, ps));
  EXPECT_TRUE(p.is_over("ps", 1, ps)) << "there is no other";
}

TEST(presence, counts_each_connection_of_a_task) {
  presence p;
  p.came(first);
  p.came(first);
  p.left(first);
  EXPECT_FALSE(p.is_over("worker", 1));
  p.left(first);
  EXPECT_TRUE(p.is_over("worker", 1));
}

TEST(presence, knows_since_when_those_who_came_are_gone) {
  presence p;
  EXPECT_FALSE(p.gone_since("worker"));
  p.came(first);
  EXPECT_FALSE(p.gone_since("worker"));
  p.left(first);
  auto const since = p.gone_since("worker");
  ASSERT_TRUE(since);
  EXPECT_LE(*since, presence::clock::now());
  EXPECT_TRUE(p.has_been(first));
  EXPECT_FALSE(p.has_been(second));
  p.came(second);
  EXPECT_FALSE(p.gone_since("worker"));
  p.left(second);
  EXPECT_GE(*p.gone_since("worker"), *since);
}

}  // namespace
}  // namespace rill::net
