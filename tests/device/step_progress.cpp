#include "rill/device/step_progress.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace rill {
namespace {

using namespace std::chrono_literals;

std::string waited_for(void const* at) { return *static_cast<std::string const*>(at); }

TEST(step_progress, tells_what_a_node_waits_for_until_it_waits_no_more) {
  step_progress p("step 3 of a client");
  detail::running_node::scope const now(&p, "take");
  auto const wait = p.begin_wait(std::make_shared<std::string const>("a queue"), waited_for);
  auto const later = step_progress::clock::now() + 5s;
  EXPECT_EQ(p.running_here(), "'take' of step 3 of a client");
  auto const all = p.sample(later, 4s);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].what, "'take' waits for a queue");
  EXPECT_GE(all[0].lasted, 4s);
  EXPECT_TRUE(p.sample(later, 60s).empty());
  p.end_wait(wait);
  for (auto const& each : p.sample(later, 4s)) EXPECT_EQ(each.what.find("waits"), std::string::npos) << each.what;
}

TEST(step_progress, knows_how_long_a_node_has_run_from_one_look_to_the_next) {
  step_progress p("a step"), other("another");
  auto const begin = step_progress::clock::now();
  {
    detail::running_node::scope const now(&p, "slow");
    EXPECT_TRUE(p.sample(begin, 1s).empty()) << "seen for the first time";
    auto const all = p.sample(begin + 2s, 1s);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].what, "runs 'slow'");
    EXPECT_EQ(all[0].lasted, 2s);
    EXPECT_TRUE(other.sample(begin + 2s, 1s).empty());
  }
  EXPECT_TRUE(p.sample(begin + 3s, 1s).empty());
}

TEST(step_progress, keeps_the_first_failure_but_not_that_of_nodes_that_were_told_to_end) {
  step_progress p("a step");
  p.fail(failed({code::cancelled, cause::asked_for}, "the step was cancelled"));
  EXPECT_FALSE(p.why());
  p.fail(failed(code::internal, "first"));
  p.fail(failed(code::internal, "second"));
  EXPECT_EQ(p.why()->message(), "first");
}

}  // namespace
}  // namespace rill
