#include "rill/ops/sync/turnstile.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "../gears.hpp"
#include "../run.hpp"
#include "base/sentence.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

using test::expect_error;
using namespace std::chrono_literals;

TEST(mutex, lets_one_step_at_a_time_read_and_write) {
  graph g;
  auto const n = variable(constant(g, 0.f), "n");
  mutex const m(g, "m");
  auto const add_one = m.locked([&] { return assign(n, read(n) + 1.f); });  // reads, then writes: not one update
  session s(g, {.threads = 2});
  s.run(initializer(g));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) s.run(operation(value(add_one)));
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(float(s.run(n)), 400.f);
}

TEST(mutex, is_let_go_by_a_step_that_fails_or_that_never_releases_it) {
  graph g;
  mutex const m(g, "m");
  auto const zero = placeholder_with_default(constant(g, 0.f));
  auto const fails = m.locked([&] { return check_numerics(constant(g, 1.f) / zero, "division"); });
  auto const keeps = m.acquire();
  session s(g);
  for (int i = 0; i < 3; ++i) {
    expect_error(code::invalid_argument, "division", [&] { s.run(fails, timeout{1s}); });
    s.run(keeps, timeout{1s});
  }
}

TEST(mutex, a_step_that_waits_too_long_leaves_nobody_waiting) {
  graph g;
  mutex const m(g, "m");
  session s(g);
  auto const twice = g.after({m.acquire()}, [&] { return m.acquire(); });  // waits for itself
  expect_error(code::deadline_exceeded, "deadline", [&] { s.run(twice, timeout{2ms}); });
  EXPECT_EQ(s.state().mutex("m")->waiting(), 0);
  s.run(m.acquire(), timeout{1s});
}

TEST(mutex, that_is_not_held_cannot_be_released) {
  graph g;
  session s(g);
  expect_error(code::failed_precondition, "does not hold the mutex 'm'", [&] { s.run(mutex(g, "m").release()); });
}

TEST(mutex, and_a_barrier_whose_container_is_reset_end_those_who_wait_and_let_the_holder_go_on) {
  for (auto wish : test::all_gears) {
    graph g;
    auto const v = variable(constant(g, 3.f), "v");
    mutex const m(g, "m");
    auto const seen = identity(v);
    auto const held = g.after({m.acquire(), operation(seen)}, [&] { return arrive(g, "two", 2); });
    auto const next = m.acquire();
    session s(g, {.threads = 2, .gear = wish});
    s.run(initializer(g));
    std::thread holder([&] { EXPECT_EQ(refusal([&] { s.run(held, timeout{20s}); }), code::aborted); });
    while (s.state().barrier("two", 2)->waiting() == 0) std::this_thread::yield();
    std::thread waits([&] { EXPECT_EQ(refusal([&] { s.run(next, timeout{20s}); }), code::aborted); });
    while (s.state().mutex("m")->waiting() == 0) std::this_thread::yield();
    s.state().reset();
    holder.join();
    waits.join();
    expect_error(code::failed_precondition, "has no value yet", [&] { s.run(v); });
    EXPECT_EQ(s.state().barrier("two", 2)->waiting(), 0);
    s.run(next, timeout{20s});  // the step that failed has let it go
  }
}

TEST(barrier, lets_all_go_on_when_the_last_arrives_again_and_again) {
  graph g;
  auto const here = arrive(g, "three", 3);
  auto const state = std::make_shared<container>();
  std::atomic<int> passed = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      session s(g, {.threads = 1, .state = state});
      for (int i = 0; i < 50; ++i) {
        s.run(here);
        EXPECT_GE(++passed, 3 * i + 1);
      }
    });
  for (auto& t : threads) t.join();
  session s(g, {.state = state});
  expect_error(code::deadline_exceeded, "deadline", [&] { s.run(here, timeout{2ms}); });
  EXPECT_EQ(state->barrier("three", 3)->waiting(), 0);
  expect_error(code::failed_precondition, "made otherwise", [&] { s.run(arrive(g, "three", 4)); });
  expect_error(code::invalid_argument, "one party or more", [&] { arrive(g, "none", 0); });
}

}  // namespace
}  // namespace rill
