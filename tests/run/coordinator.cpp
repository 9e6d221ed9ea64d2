#include "rill/run/coordinator.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "base/no_threads.hpp"
#include "base/sentence.hpp"

namespace rill {
namespace {

using namespace std::chrono_literals;

TEST(coordinator, stops_all_when_one_fails_and_keeps_the_first_error) {
  coordinator c;
  std::atomic<int> ended = 0;
  for (int i = 0; i < 3; ++i)
    c.start([&] {
      while (!c.wait_for(1h)) {
      }
      ++ended;
      throw error(code::cancelled, "because of the stop");
    });
  c.start([] { throw error(code::data_loss, "the first cause"); });
  EXPECT_EQ(sentence([&] { c.join(); }), "data_loss: the first cause");
  EXPECT_EQ(ended, 3);
  EXPECT_TRUE(c.should_stop());
}

TEST(coordinator, a_stop_that_is_asked_for_is_no_failure) {
  coordinator c;
  c.start([&] { c.wait_for(1h); });
  EXPECT_FALSE(c.wait_for(1ms));
  c.request_stop();
  EXPECT_TRUE(c.wait_for(1h));
  c.join(1h);
}

TEST(coordinator, waits_as_long_as_it_takes_if_it_is_told_so) {
  coordinator c;
  c.start([&] { std::this_thread::sleep_for(20ms); });
  c.join(std::chrono::nanoseconds::max());
}

TEST(coordinator, waits_no_longer_than_it_is_told) {
  coordinator c;
  c.start([&] { c.wait_for(1h); });
  EXPECT_NE(sentence([&] { c.join(1ms); }).find("1 threads of a coordinator are still running"), std::string::npos);
}

TEST(coordinator, its_end_stops_its_threads) {
  std::atomic<bool> stopped = false;
  {
    coordinator c;
    c.start([&] { stopped = c.wait_for(1h); });
  }
  EXPECT_TRUE(stopped);
}

TEST(coordinator, does_not_wait_for_a_thread_that_could_not_be_started) {
  coordinator c;
  {
    no_threads const now;
    EXPECT_EQ(refusal([&] { c.start([] {}); }), code::resource_exhausted);
  }
  c.join(1h);
}

}  // namespace
}  // namespace rill
