#include "rill/run/parallel_walk.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <stop_token>
#include <thread>

#include "base/limit.hpp"
#include "rill/rill.hpp"
#include "run/wait/late_wait.hpp"
#include "run/wait/many_steps.hpp"

namespace rill {
namespace {

constexpr timeout soon{std::chrono::seconds(60)};

code code_of(std::function<void()> const& step) {
  try {
    step();
  } catch (error const& e) {
    return e.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return code::internal;
}

// A step of three nodes: one waits, one fails, and one begins to wait when the step has failed.
struct failing_step {
  graph g;
  expr<of<float>> x = placeholder<float>(g, "x"), early = record<test::early_op>(x), bad = record<test::failing_op>(x),
                  late = record<test::late_op>(x);
  session s{g, {.threads = 2, .execution = execution::parallel}};
};

TEST(parallel_walk, a_kernel_that_begins_to_wait_when_the_step_has_failed_is_told) {
  failing_step t;
  for (int i = 0; i < 20; ++i) {
    test::late_wait::reset();
    EXPECT_EQ(code_of([&] { t.s.run({{t.x, 1.f}}, t.early, t.bad, t.late, soon); }), code::aborted);
  }
}

TEST(parallel_walk, a_kernel_that_begins_to_wait_after_a_failure_and_a_stop_or_deadline_is_told) {
  failing_step t;
  for (int i = 0; i < 20; ++i) {
    std::stop_source stop;
    test::late_wait::reset([&](auto const&) { stop.request_stop(); });
    EXPECT_EQ(code_of([&] { t.s.run({{t.x, 1.f}}, t.early, t.bad, t.late, stop.get_token()); }), code::aborted);
  }
  test::late_wait::reset([](step_context const& step) { test::late_wait::wait_for_end(step); });
  auto const c = code_of([&] { t.s.run({{t.x, 1.f}}, t.early, t.bad, t.late, timeout(std::chrono::seconds(1))); });
  EXPECT_TRUE(c == code::aborted || c == code::deadline_exceeded);  // whichever came first
}

TEST(parallel_walk, a_kernel_that_begins_to_wait_when_the_step_was_stopped_is_told) {
  failing_step t;
  for (int i = 0; i < 20; ++i) {
    test::late_wait::reset();
    std::stop_source stop;
    std::thread other([&] {
      test::late_wait::wait_for(test::late_wait::late_runs);
      stop.request_stop();
    });
    EXPECT_EQ(code_of([&] { t.s.run({{t.x, 1.f}}, t.early, t.late, stop.get_token()); }), code::cancelled);
    other.join();
  }
}

TEST(parallel_walk, a_kernel_that_begins_to_wait_past_the_deadline_is_told) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const one = record<test::ended_op>(x), two = record<test::ended_op>(x);
  for (int threads : {1, 2}) {
    session s{g, {.threads = threads, .execution = execution::parallel}};
    for (int i = 0; i < 20; ++i)
      EXPECT_EQ(code_of([&] { s.run({{x, 1.f}}, one, two, timeout(std::chrono::milliseconds(2))); }),
                code::deadline_exceeded);
  }
}

TEST(parallel_walk, steps_that_fail_beside_a_wait_all_end) {
  test::allow(300);
  graph g;
  auto const q = fifo_queue<of<float>>(g);
  auto const x = placeholder<float, 8, 8>(g, "x");
  auto const taken = dequeue(q);
  auto const bad = check(sum(matmul(x, x)) < 0.f, "it must be negative");
  auto const fed = tensor::adopt(std::vector<float>(64, 1.f), {8, 8});
  session s{g, {.threads = 2, .execution = execution::parallel}};
  for (int i = 0; i < test::many_steps; ++i)
    ASSERT_EQ(code_of([&] { s.run({{value(x), fed}}, taken, bad, soon); }), code::failed_precondition);
  EXPECT_EQ(q.in(s.state())->waiting(), 0u);
}

}  // namespace
}  // namespace rill
