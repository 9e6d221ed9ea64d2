#include "rill/run/input_gates.hpp"

#include <gtest/gtest.h>

#include "base/sentence.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

using namespace std::chrono_literals;

TEST(input_gates, a_pause_waits_for_the_steps_that_run_and_halts_the_others) {
  graph g;
  auto const draw = prefetch({.capacity = 1}, uniform<float>(g));
  session s(g);
  start_input(s);
  s.run(draw);
  {
    input_pause const halt(s.state());
    auto const steps = s.steps();
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(s.steps(), steps);
  }
  for (int i = 0; i < 10; ++i) s.run(draw);
}

TEST(input_gates, what_waits_at_a_full_queue_gets_in_while_they_are_closed) {
  graph g;
  auto const q = fifo_queue<of<float>>(g, {.capacity = 2}, "small");
  session s(g);
  queue_runner fill(s, {q.enqueue(constant(g, 1.f)), q.enqueue(constant(g, 2.f))});
  auto const state = q.in(s.state());
  while (state->waiting() < 2) std::this_thread::yield();
  {
    input_pause const halt(s.state());
    EXPECT_EQ(state->size(), 4);
    EXPECT_EQ(state->waiting(), 0u);
  }
  EXPECT_EQ(state->contents().elements.size(), 4u);
}

TEST(input_gates, a_pause_says_who_does_not_come_to_an_end) {
  graph g;
  auto const source = fifo_queue<of<float>>(g, {}, "by hand");
  auto const draw = prefetch({.name = "starved"}, dequeue(source));
  session s(g);
  start_input(s);
  while (source.in(s.state())->waiting() == 0) std::this_thread::yield();
  auto const said = sentence([&] { input_pause const halt(s.state(), 10ms); });
  EXPECT_NE(said.find("'starved'"), std::string::npos) << said;
  EXPECT_NE(said.find("deadline_exceeded"), std::string::npos) << said;
  s.run(source.enqueue(constant(g, 3.f)));  // they are open again
  EXPECT_EQ(float(s.run(draw)), 3.f);
}

TEST(input_gates, a_thread_that_halts_can_be_stopped) {
  graph g;
  auto const draw = prefetch(uniform<float>(g));
  auto const state = std::make_shared<container>();
  auto s = std::make_unique<session>(g, session_options{.state = state});
  start_input(*s);
  s->run(draw);
  input_pause const halt(*state);
  s.reset();
}

TEST(input_gates, what_begins_in_a_pause_begins_after_it) {
  graph g;
  auto const q = fifo_queue<of<float>>(g, {.capacity = 2}, "late");
  auto const next = dequeue(q);
  session s(g);
  std::optional<queue_runner> fill;
  {
    input_pause const halt(s.state());
    fill.emplace(s, q.enqueue(constant(g, 1.f)));
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(q.in(s.state())->size(), 0);
  }
  EXPECT_EQ(float(s.run(next)), 1.f);
}

}  // namespace
}  // namespace rill
