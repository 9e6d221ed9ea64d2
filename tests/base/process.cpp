#include "rill/base/process.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/forked.hpp"

namespace rill::detail {
namespace {

TEST(in_process, is_as_it_was_in_the_process_that_made_it) {
  in_process<std::vector<int>> list;
  list->push_back(3);
  EXPECT_TRUE(holds_in_a_child([&] { return list->empty(); }));
  EXPECT_EQ(*list, std::vector{3});
}

TEST(in_process, is_made_once_for_all_threads_of_a_child) {
  static std::atomic<int> made = 0;
  struct counted {
    counted() { ++made; }
  };
  in_process<counted> here;
  made = 0;
  EXPECT_TRUE(holds_in_a_child([&] {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([&] { *here; });
    for (auto& t : threads) t.join();
    return made == 1;
  }));
  EXPECT_EQ(made, 0);
}

TEST(in_process, is_left_as_it_lies_with_a_lock_that_nobody_will_give_back) {
  struct meeting {
    std::mutex mutex;
    std::condition_variable changed;
    bool over = false;
  };
  std::optional<in_process<meeting>> here(std::in_place);
  auto& m = **here;
  std::atomic<bool> waits = false;
  std::thread waiting([&] {
    std::unique_lock lock(m.mutex);
    waits = true;
    m.changed.wait(lock, [&] { return m.over; });
  });
  while (!waits) std::this_thread::yield();
  m.mutex.lock();  // the other thread waits now
  EXPECT_TRUE(holds_in_a_child([&] {
    here.reset();  // the standard's condition variable would wait for who waits there
    return true;
  }));
  EXPECT_TRUE(holds_in_a_child([&] { return (*here)->mutex.try_lock(); }));
  m.over = true;
  m.mutex.unlock();
  m.changed.notify_all();
  waiting.join();
}

}  // namespace
}  // namespace rill::detail
