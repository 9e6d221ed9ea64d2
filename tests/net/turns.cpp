// Threads that several askers share.
#include "rill/net/turns.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace rill::net {
namespace {

// Names, in the order in which they were written down.
class record {
 public:
  void add(std::string name) {
    std::lock_guard lock(mutex_);
    names_.push_back(std::move(name));
  }
  std::vector<std::string> names() {
    std::lock_guard lock(mutex_);
    return names_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> names_;
};

TEST(turns, let_one_who_asks_for_little_pass_one_who_asks_for_much) {
  record done;
  std::promise<void> go;
  turns t(1);
  t.post("much", [&, until = go.get_future().share()] {
    until.wait();
    done.add("much 0");
  });
  for (auto const* name : {"much 1", "much 2"}) t.post("much", [&, name] { done.add(name); });
  t.post("little", [&] { done.add("little"); });
  go.set_value();
  t.finish();
  EXPECT_EQ(done.names(), (std::vector<std::string>{"much 0", "little", "much 1", "much 2"}));
}

TEST(turns, run_one_piece_of_an_asker_at_a_time_in_order) {
  std::vector<int> order;  // no lock: pieces of one asker never run together
  {
    turns t(3);
    for (int i = 0; i < 1000; ++i) t.post("one", [&, i] { order.push_back(i); });
  }
  ASSERT_EQ(order.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(turns, run_pieces_of_several_askers_at_once) {
  turns t(2);
  std::promise<void> first, second;
  t.post("a", [&] {
    first.set_value();
    second.get_future().wait();
  });
  t.post("b", [&] {
    first.get_future().wait();
    second.set_value();
  });
  t.finish();
}

TEST(turns, do_what_was_asked_for_before_they_end_and_nothing_after_that) {
  std::atomic<int> n = 0;
  turns t(2);
  for (int i = 0; i < 10; ++i) t.post(std::to_string(i), [&] { ++n; });
  t.finish();
  EXPECT_EQ(n, 10);
  t.post("late", [&] { ++n; });
  t.finish();
  EXPECT_EQ(n, 10);
}

TEST(turns, know_their_own_threads) {
  turns t(1), other(1);
  bool own = false, others = true;
  t.post("a", [&] { own = t.is_own_thread(), others = other.is_own_thread(); });
  t.finish();
  EXPECT_TRUE(own);
  EXPECT_FALSE(others);
  EXPECT_FALSE(t.is_own_thread());
}

}  // namespace
}  // namespace rill::net
