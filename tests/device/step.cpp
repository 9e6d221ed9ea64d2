#include "rill/device/step.hpp"

#include <gtest/gtest.h>

#include "base/sentence.hpp"

namespace rill {
namespace {

TEST(step, goes_on_unless_it_is_told_to_end) {
  step_context step;
  EXPECT_FALSE(step.can_end_early());
  EXPECT_NO_THROW(step.check());
  std::stop_source stop;
  step.stop = stop.get_token();
  step.deadline = std::chrono::steady_clock::time_point::max();
  EXPECT_TRUE(step.can_end_early());
  EXPECT_NO_THROW(step.check());
}

TEST(step, ends_when_it_is_stopped_and_at_its_deadline) {
  std::stop_source all;
  step_context step;
  step.stop = all.get_token();
  all.request_stop();
  EXPECT_EQ(sentence([&] { step.check(); }), "cancelled: the step was cancelled");
  step.stop = {};
  step.deadline = std::chrono::steady_clock::time_point::min();
  EXPECT_EQ(sentence([&] { step.check(); }), "deadline_exceeded: the step ran past its deadline");
}

}  // namespace
}  // namespace rill
