#include "rill/run/tasks/task_answer.hpp"

#include <gtest/gtest.h>

#include <latch>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/sentence.hpp"

namespace rill {
namespace {

using number_answers = std::vector<task_answer<int>>;

TEST(task_answer, is_waited_for_by_whoever_wants_it) {
  int waits = 0;
  task_answer<int> a([&] { return ++waits; });
  EXPECT_EQ(waits, 0);
  EXPECT_EQ(a.get(), 1);
  EXPECT_FALSE(a.is_computed());
  EXPECT_EQ(task_answer<std::string>::ready("there").get(), "there");
}

TEST(task_answer, becomes_another_when_it_is_wanted) {
  auto longer = task_answer<int>::computed([] { return 4; }).then([](int n) {
    return std::string(static_cast<std::size_t>(n), 'e');
  });
  EXPECT_TRUE(longer.is_computed());
  EXPECT_EQ(longer.get(), "eeee");
  auto failed =
      task_answer<int>([]() -> int { throw error(code::not_found, "it is lost"); }).then([](int n) { return n; });
  EXPECT_EQ(refusal([&] { failed.get(); }), code::not_found);
}

TEST(task_answer, is_computed_by_several_threads_at_once) {
  std::latch all(3);
  number_answers asked;
  for (int i = 0; i < 3; ++i)
    asked.push_back(task_answer<int>::computed([&all, i] {
      all.arrive_and_wait();  // ends if three threads are at it
      return i;
    }));
  EXPECT_EQ(detail::values_of_all(std::move(asked), 3), (std::vector<int>{0, 1, 2}));
}

TEST(task_answer, is_computed_by_no_more_threads_than_there_may_be) {
  for (int threads : {-1, 0, 1, 2, 64}) {
    std::mutex mutex;
    std::set<std::thread::id> seen;
    number_answers asked;
    for (int i = 0; i < 20; ++i)
      asked.push_back(task_answer<int>::computed([&, i] {
        std::lock_guard lock(mutex);
        seen.insert(std::this_thread::get_id());
        return i;
      }));
    auto const got = detail::values_of_all(std::move(asked), threads);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)], i);
    EXPECT_LE(static_cast<int>(seen.size()), std::max(threads, 1));
  }
}

TEST(task_answer, that_fails_first_in_their_order_is_thrown_when_all_have_come) {
  for (int threads : {1, 4}) {
    int came = 0;
    std::mutex mutex;
    auto const with = [&](code c) {
      return [&, c]() -> int {
        std::lock_guard lock(mutex);
        ++came;
        if (c != code::internal) throw error(c, "no");
        return 0;
      };
    };
    number_answers asked;
    asked.push_back(task_answer<int>(with(code::internal)));
    asked.push_back(task_answer<int>(with(code::not_found)));  // is waited for when the others are computed
    asked.push_back(task_answer<int>::computed(with(code::aborted)));
    asked.push_back(task_answer<int>::computed(with(code::internal)));
    EXPECT_EQ(refusal([&] { detail::values_of_all(std::move(asked), threads); }), code::not_found);
    EXPECT_EQ(came, 4);
  }
}

TEST(task_answer, of_a_task_that_can_not_be_asked_throws_what_asking_threw) {
  std::vector<int> const tasks{0, 1, 2};
  auto asked = detail::ask_all(tasks, [](int t) {
    if (t == 1) throw error(code::unavailable, "it is away");
    return task_answer<int>::ready(t);
  });
  ASSERT_EQ(asked.size(), 3u);
  auto const got = detail::wait_for_all(std::move(asked), 1);
  EXPECT_TRUE(got[0] && got[2]);
  ASSERT_FALSE(got[1]);
  EXPECT_EQ(got[1].error().code(), code::unavailable);
}

TEST(task_answer, that_nobody_wants_lets_go_of_what_it_holds) {
  auto const held = std::make_shared<int>(1);
  {
    task_answer<int> const unwanted([held] { return *held; });
  }
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace rill
