#include "rill/run/queue_runner.hpp"

#include <gtest/gtest.h>

#include "base/sentence.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

using namespace std::chrono_literals;

// A source of the numbers 0, 1, … below `last`: a queue that is filled and closed beforehand.
expr<of<std::int64_t>> numbers(graph& g, session& s, std::int64_t last, std::string name) {
  auto const q = fifo_queue<of<std::int64_t>>(g, {.capacity = 10000}, name);
  auto const x = placeholder<std::int64_t>(g, "x");
  auto const put = q.enqueue(x);
  for (std::int64_t i = 0; i < last; ++i) s.run({{x, tensor(i)}}, put);
  s.run(q.close());
  return dequeue(q);
}

TEST(queue_runner, fills_a_queue_until_its_input_ends_and_closes_it) {
  graph g;
  session s(g);
  auto const q = fifo_queue<of<std::int64_t>>(g, {.capacity = 5}, "squares");
  auto const n = numbers(g, s, 100, "numbers");
  queue_runner fill{s, q.enqueue(n * n)};
  auto const ten = sum(dequeue_many<10>(q));
  std::int64_t total = 0;
  for (int i = 0; i < 10; ++i) total += std::int64_t(s.run(ten));
  EXPECT_EQ(total, 328350);
  EXPECT_NE(sentence([&] { s.run(ten); }).find("out_of_range"), std::string::npos);
  fill.join();
}

TEST(queue_runner, of_several_threads_closes_when_the_last_has_ended) {
  graph g;
  session s(g, {.threads = 2});
  auto const q = fifo_queue<of<std::int64_t>>(g, {.capacity = 3}, "all");
  auto const a = q.enqueue(numbers(g, s, 50, "a")), b = q.enqueue(numbers(g, s, 20, "b"));
  queue_runner fill{s, {a, b}};
  auto const some = sum(dequeue_up_to<8>(q));
  std::int64_t total = 0;
  try {
    for (;;) total += std::int64_t(s.run(some));
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::out_of_range) << e.what();
  }
  EXPECT_EQ(total, 49 * 25 + 19 * 10);
}

TEST(queue_runner, hands_its_error_to_those_who_dequeue_when_what_was_made_is_used_up) {
  graph g;
  session s(g);
  auto const q = fifo_queue<of<float>>(g, {}, "ratios");
  auto const n = cast<float>(numbers(g, s, 10, "numbers"));
  queue_runner fill{s, q.enqueue(check_numerics(constant(g, 1.f) / (3.f - n), "a ratio"))};
  auto const one = dequeue(q);
  for (int i = 0; i < 3; ++i) s.run(one);
  EXPECT_NE(sentence([&] { s.run(one); }).find("a ratio"), std::string::npos);
  EXPECT_NE(sentence([&] { fill.join(); }).find("a ratio"), std::string::npos);
}

TEST(queue_runner, ends_while_it_waits) {
  graph g;
  session s(g);
  auto const q = fifo_queue<of<float>>(g, {.capacity = 2}, "full");
  auto const source = fifo_queue<of<float>>(g, {.capacity = 2}, "empty");
  queue_runner full{s, q.enqueue(constant(g, 1.f))}, starved{s, q.enqueue(dequeue(source))};
  while (q.in(s.state())->size() < 2) std::this_thread::yield();
}

TEST(queue_runner, runs_enqueues_of_one_queue_alone) {
  graph g;
  session s(g);
  auto const a = fifo_queue<of<float>>(g, {}, "a"), b = fifo_queue<of<float>>(g, {}, "b");
  auto const x = constant(g, 1.f);
  EXPECT_NE(sentence([&] { queue_runner r(s, {a.enqueue(x), b.enqueue(x)}); }).find("several queues"),
            std::string::npos);
  EXPECT_NE(sentence([&] { queue_runner r(s, operation(value(x))); }).find("runs enqueues"), std::string::npos);
}

}  // namespace
}  // namespace rill
