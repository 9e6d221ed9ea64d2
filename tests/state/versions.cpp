#include "rill/state/versions.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace rill {
namespace {

using numbers_of = std::vector<std::uint64_t>;

TEST(state_versions, counts_up_and_knows_which_are_read) {
  state_versions all;
  auto const first = all.enter();
  EXPECT_EQ(first.of->number(), 0u);
  auto& next = all.prepare();
  auto const still_first = all.enter();
  EXPECT_EQ(still_first.of->number(), 0u) << "the next one is not published";
  all.publish(next);
  auto const second = all.enter();
  EXPECT_EQ(second.of->number(), 1u);
  EXPECT_EQ(all.forget_unread(), (numbers_of{1, 0}));
  EXPECT_TRUE(all.leave(first));
  EXPECT_EQ(all.forget_unread(), (numbers_of{1, 0})) << "one step still reads it";
  EXPECT_FALSE(all.leave(second)) << "it is the newest";
  EXPECT_TRUE(all.leave(still_first));
  EXPECT_EQ(all.forget_unread(), (numbers_of{1}));
}

TEST(state_versions, prepared_in_vain_can_be_prepared_again) {
  state_versions all;
  all.prepare();
  auto& next = all.prepare();
  all.publish(next);
  EXPECT_EQ(all.enter().of->number(), 1u);
}

TEST(state_versions, may_be_left_on_another_thread) {
  state_versions all;
  auto const t = all.enter();
  all.publish(all.prepare());
  std::thread([&] { EXPECT_TRUE(all.leave(t)); }).join();
  EXPECT_EQ(all.forget_unread(), (numbers_of{1}));
}

// A version that a step reads is never forgotten, and in the end all are but the newest.
TEST(state_versions, of_a_crowd_forgets_none_that_is_read) {
  state_versions all;
  std::atomic<int> lost = 0, at_work = 4;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 3'000; ++k) {
        auto const t = all.enter();
        auto const number = t.of->number();
        if (k % 7 == 0) std::this_thread::yield();
        lost += t.of->number() != number;  // it was used again for a later one
        all.leave(t);
      }
      --at_work;
    });
  while (at_work > 0) {
    all.publish(all.prepare());
    all.forget_unread();
  }
  threads.clear();
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(all.forget_unread().size(), 1u);
}

}  // namespace
}  // namespace rill
