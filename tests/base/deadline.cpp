#include "rill/base/deadline.hpp"

#include <gtest/gtest.h>

namespace {

using namespace rill;
using namespace std::chrono_literals;

TEST(deadline_after, is_as_far_from_now_as_is_asked_and_never_over_for_a_long_time) {
  auto const now = std::chrono::steady_clock::now();
  EXPECT_GE(deadline_after(1h), now + 1h);
  EXPECT_LT(deadline_after(1h), now + 2h);
  EXPECT_LT(deadline_after(-1h), now);
  EXPECT_GT(deadline_after(std::chrono::nanoseconds::max()), now + std::chrono::hours(24 * 365));
  EXPECT_GT(deadline_after(std::chrono::nanoseconds::max() - 1s), now + std::chrono::hours(24 * 365));
}

}  // namespace
