#include "rill/device/step.hpp"

#include <gtest/gtest.h>

#include "base/sentence.hpp"

namespace rill {
namespace {

TEST(step, goes_on_unless_it_is_told_to_end) {
  step_context step;
  EXPECT_FALSE(step.can_end_early());
  EXPECT_NO_THROW(step.check());
  step.stop = cancellation();
  step.deadline = std::chrono::steady_clock::time_point::max();
  EXPECT_TRUE(step.can_end_early());
  EXPECT_NO_THROW(step.check());
}

TEST(step, ends_by_a_copy_of_its_cancellation_and_by_its_deadline) {
  cancellation const all;
  step_context step;
  step.stop = all;
  all.cancel();
  EXPECT_TRUE(step.stop->cancelled());
  EXPECT_EQ(sentence([&] { step.check(); }), "cancelled: the step was cancelled");
  step.stop = cancellation();
  step.deadline = std::chrono::steady_clock::time_point::min();
  EXPECT_EQ(sentence([&] { step.check(); }), "deadline_exceeded: the step ran past its deadline");
}

}  // namespace
}  // namespace rill
