#include "rill/run/step_scope.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "rill/rill.hpp"
#include "rill/run/plan/make_plan.hpp"

namespace rill {
namespace {

struct counting final : observer {
  void step_begins(std::uint64_t n) override { began = static_cast<std::int64_t>(n); }
  void step_ended(std::uint64_t n) override { ended = static_cast<std::int64_t>(n); }
  void node_ran(node_record const&) override {}
  std::int64_t began = -1, ended = -1;
};

TEST(step_scope, numbers_steps_and_tells_their_observer_of_begin_and_end) {
  graph g;
  container state;
  log_callback const log = [](std::string_view) {};
  arena_pool arenas(host_allocator());
  step_counts counts;
  counts.set(7);
  compiled_step const compiled(make_plan(subgraph{}, {.state = state, .memory = host_allocator()}));
  counting seen;
  step_context step;
  step.watch = &seen;
  try {
    step_scope const scope({state, log, arenas, &counts}, compiled, step);
    EXPECT_EQ(step.number, 7u);
    EXPECT_EQ(step.stream, 7u);
    EXPECT_EQ(step.log, &log);
    EXPECT_EQ(step.arenas, &arenas);
    EXPECT_NE(step.holdings, nullptr);
    EXPECT_EQ(seen.began, 7);
    EXPECT_EQ(seen.ended, -1);
    throw std::runtime_error("the step fails");
  } catch (std::runtime_error const&) {
  }
  EXPECT_EQ(seen.ended, 7);
  EXPECT_EQ(counts.begun(), 8u);
}

TEST(step_scope, leaves_the_numbers_of_a_share_as_its_step_has_them) {
  container state;
  log_callback const none;
  arena_pool arenas(host_allocator());
  compiled_step const compiled(make_plan(subgraph{}, {.state = state, .memory = host_allocator()}));
  step_context step;
  step.number = 3, step.stream = 4;
  step_scope const scope({state, none, arenas, nullptr}, compiled, step);
  EXPECT_EQ(step.number, 3u);
  EXPECT_EQ(step.stream, 4u);
}

TEST(step_scope, lets_go_of_what_the_step_holds) {
  container state;
  log_callback const none;
  arena_pool arenas(host_allocator());
  step_counts counts;
  compiled_step const compiled(make_plan(subgraph{}, {.state = state, .memory = host_allocator()}));
  auto const lock = std::make_shared<int>(1);
  {
    step_context step;
    step_scope const scope({state, none, arenas, &counts}, compiled, step);
    EXPECT_EQ(step.log, nullptr);
    step.holdings->add(&state, lock);
    EXPECT_EQ(lock.use_count(), 2);
  }
  EXPECT_EQ(lock.use_count(), 1);
}

}  // namespace
}  // namespace rill
