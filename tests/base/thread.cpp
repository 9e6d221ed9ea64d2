#include "rill/base/thread.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <utility>

#include "base/forked.hpp"
#include "base/no_threads.hpp"
#include "base/sentence.hpp"

namespace rill::detail {
namespace {

TEST(thread, runs_what_it_is_given_until_it_is_joined) {
  std::atomic<int> runs = 0;
  thread a([&] { ++runs; });
  auto b = std::move(a);
  EXPECT_FALSE(a.joinable());
  EXPECT_TRUE(b.joinable());
  b.join();
  EXPECT_FALSE(b.joinable());
  EXPECT_EQ(runs, 1);
}

TEST(thread, that_the_system_does_not_start_is_an_error_of_rill) {
  no_threads const guard;
  EXPECT_EQ(refusal([] { thread t([] {}); }), code::resource_exhausted);
}

TEST(thread, is_not_waited_for_in_a_child_process) {
  std::atomic<bool> over = false;
  std::optional<thread> t([&] {
    while (!over) std::this_thread::yield();
  });
  EXPECT_TRUE(holds_in_a_child([&] {
    bool const there = t->joinable();
    t->join();
    t.reset();
    return !there;
  }));
  over = true;
  t->join();
}

}  // namespace
}  // namespace rill::detail
