#include "rill/ops/sync/turnstile.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "../executions.hpp"
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
    expect_error(code::invalid_argument, "division", [&] { s.run(fails, timeout{20s}); });
    s.run(keeps, timeout{20s});
  }
}

TEST(mutex, a_step_that_waits_too_long_leaves_nobody_waiting) {
  graph g;
  mutex const m(g, "m");
  auto const holds = g.after({m.acquire()}, [&] { return arrive(g, "two", 2); }), here = arrive(g, "two", 2);
  session s(g, {.threads = 2});
  std::thread holder([&] { s.run(holds, timeout{20s}); });
  while (s.state().barrier("two", 2)->waiting() == 0) std::this_thread::yield();
  expect_error(code::deadline_exceeded, "deadline", [&] { s.run(m.acquire(), timeout{2ms}); });
  EXPECT_EQ(s.state().mutex("m")->waiting(), 0);
  s.run(here, timeout{20s});
  holder.join();
  s.run(m.acquire(), timeout{20s});
}

TEST(mutex, sections_of_one_step_read_and_assign_a_variable_one_after_the_other) {
  for (auto const& passes : {pass_options::none(), pass_options{.verify = true}})
    for (auto wish : {execution::automatic, execution::sequential, execution::parallel, execution::tagged}) {
      graph g;
      auto const v = variable(constant(g, 1.f), "v");
      auto const x = placeholder<float, unknown>(g, "x");
      mutex const m(g, "m");
      auto const update = [&](auto const& f) { return operation(m.locked([&] { return assign(v, f(read(v))); })); };
      auto const add = update([](auto n) { return n + 2.f; }), times = update([](auto n) { return n * 3.f; });
      auto const late =
          update([&](auto n) { return n + as<of<float>>(sum(gather(x, where(value(less(constant(g, 0.f), x)))))); });
      auto const seen = m.locked([&] { return read(v) * 1.f; });
      session s(g, {.threads = 2, .passes = passes, .execution = wish});
      s.run(initializer(g));
      EXPECT_EQ(float(s.run(seen, add, times, timeout{20s})), 9.f);
      s.run({{x, vector<float>({1, -1, 5})}}, late, add, timeout{20s});
      EXPECT_EQ(float(s.run(v)), 17.f);
    }
}

TEST(mutex, that_a_step_locks_within_itself_is_refused_in_bodies_and_functions_too) {
  for (auto wish : test::all_executions) {
    graph g;
    mutex const m(g, "m");
    auto const f = function<"f", of<float>>(g, [&](auto x) { return m.locked([&] { return x + 1.f; }); });
    auto const p = placeholder<bool>(g, "p");
    auto const one = constant(g, 1.f);
    auto const within = m.locked([&] { return m.locked([&] { return one * 2.f; }); });
    auto const in_branch =
        m.locked([&] { return cond(p, [&] { return m.locked([&] { return one * 2.f; }); }, [&] { return one; }); });
    auto const in_call = m.locked([&] { return f(one); });
    auto const kept = while_loop([](auto i) { return i < 3; },
                                 [&](auto i) { return g.after({m.acquire()}, [&] { return i + 1; }); }, constant(g, 0));
    auto const again = while_loop([](auto i) { return i < 3; }, [&](auto i) { return m.locked([&] { return i + 1; }); },
                                  constant(g, 0));
    session s(g, {.threads = 2, .execution = wish});
    auto const run = [&](auto const& y, bool taken) {
      return sentence([&] { s.run({{p, tensor(taken)}}, operation(y), timeout{20s}); });
    };
    EXPECT_EQ(run(within, true),
              "failed_precondition: node 'mutex_acquire_1': the step holds the mutex 'm' already, since "
              "'mutex_acquire': a mutex that is locked within itself would wait for ever. Release it before");
    EXPECT_NE(run(in_branch, true).find("holds the mutex 'm' already, since 'mutex_acquire_2'"), std::string::npos);
    EXPECT_NE(run(in_call, true).find("in the function 'f'"), std::string::npos);
    EXPECT_NE(run(kept, true).find("in iteration 1, node 'body/mutex_acquire'"), std::string::npos);
    EXPECT_EQ(run(in_branch, false), "");
    EXPECT_EQ(run(again, true), "") << "each iteration has let it go";
    EXPECT_EQ(run(f(one) + f(one * 2.f), true), "") << "one call after the other";
  }
}

TEST(mutex, that_is_not_held_cannot_be_released) {
  graph g;
  session s(g);
  expect_error(code::failed_precondition, "does not hold the mutex 'm'", [&] { s.run(mutex(g, "m").release()); });
}

TEST(mutex, and_a_barrier_whose_container_is_reset_end_those_who_wait_and_let_the_holder_go_on) {
  for (auto wish : test::all_executions) {
    graph g;
    auto const v = variable(constant(g, 3.f), "v");
    mutex const m(g, "m");
    auto const seen = identity(v);
    auto const held = g.after({m.acquire(), operation(seen)}, [&] { return arrive(g, "two", 2); });
    auto const next = m.acquire();
    session s(g, {.threads = 2, .execution = wish});
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
  expect_error(code::failed_precondition, "of this name that differs", [&] { s.run(arrive(g, "three", 4)); });
  expect_error(code::invalid_argument, "at least one party", [&] { arrive(g, "none", 0); });
}

}  // namespace
}  // namespace rill
