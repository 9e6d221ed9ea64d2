#include "rill/run/wait/waiting_thread.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "base/sentence.hpp"

namespace rill {
namespace {

using namespace std::chrono_literals;

TEST(waiting_thread, goes_on_when_it_is_resumed_and_throws_the_failure) {
  step_context step;
  waiting_thread never(step), at_once(step), later(step), fails(step);
  never.wait();
  at_once.suspend().resume(nullptr);
  at_once.wait();
  auto &first = later.suspend(), &second = fails.suspend();
  std::thread other([&] {
    first.resume(nullptr);
    second.resume(failed(code::data_loss, "why"));
  });
  later.wait();
  EXPECT_EQ(sentence([&] { fails.wait(); }), "data_loss: why");
  other.join();
}

TEST(waiting_thread, asks_to_give_up_when_the_step_is_late_or_cancelled) {
  for (bool late : {true, false}) {
    step_context step;
    std::stop_source source;
    if (late) step.deadline = std::chrono::steady_clock::now() + 2ms;
    else step.stop = source.get_token();
    waiting_thread here(step);
    here.suspend().on_give_up([&](failure why) { here.resume(why); });
    std::thread other([&] {
      if (!late) source.request_stop();
    });
    EXPECT_NE(sentence([&] { here.wait(); }).find(late ? "past its deadline" : "was cancelled"), std::string::npos);
    other.join();
  }
}

}  // namespace
}  // namespace rill
