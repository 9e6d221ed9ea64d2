#include "rill/run/queue_runner.hpp"

#include <gtest/gtest.h>

#include "base/no_threads.hpp"
#include "base/sentence.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

using namespace std::chrono_literals;

// A source of the numbers 0, 1, … below `last`: a queue that is filled and closed beforehand.
expr<of<std::int64_t>> numbers(graph& g, session& s, std::int64_t last, std::string name) {
  auto const q = fifo_queue<of<std::int64_t>>(g, {.capacity = 10000}, name);
  auto const x = placeholder<std::int64_t>(g, name + "_x");
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
  EXPECT_NE(sentence([&] { queue_runner r(s, operation(value(x))); }).find("runs enqueue operations only"),
            std::string::npos);
}

TEST(queue_runner, that_is_started_later_opens_the_queue_again_and_goes_on) {
  graph g;
  session s(g);
  auto const q = fifo_queue<of<float>>(g, {.capacity = 2}, "q");
  auto const put = q.enqueue(constant(g, 1.f));
  auto const one = dequeue(q);
  for (int i = 0; i < 3; ++i) {
    queue_runner fill{s, put};
    for (int k = 0; k < 5; ++k) s.run(one, timeout(std::chrono::seconds(20)));
  }
  auto const state = q.in(s.state());
  EXPECT_TRUE(state->closed());
  while (state->size() > 0) s.run(one);
  EXPECT_EQ(refusal([&] { s.run(one); }), code::cancelled) << "it did not come to its end";
}

TEST(queue_runner, refuses_a_queue_that_somebody_closed) {
  graph g;
  session s(g);
  auto const q = fifo_queue<of<float>>(g, {}, "q");
  s.run(q.close());
  EXPECT_NE(sentence([&] { queue_runner r(s, q.enqueue(constant(g, 1.f))); }).find("the queue 'q' is closed"),
            std::string::npos);
}

TEST(queue_runner, of_two_on_one_queue_closes_it_when_both_have_ended) {
  graph g;
  session s(g);
  auto const q = fifo_queue<of<std::int64_t>>(g, {}, "q");
  auto const first = q.enqueue(numbers(g, s, 2, "two")), second = q.enqueue(numbers(g, s, 20, "twenty"));
  queue_runner a{s, first}, b{s, second};
  a.join();
  b.join();
  auto const one = dequeue(q);
  for (int i = 0; i < 22; ++i) s.run(one);
  EXPECT_EQ(refusal([&] { s.run(one); }), code::out_of_range);
}

TEST(queue_runner, whose_container_is_reset_leaves_the_queue_as_new) {
  graph g;
  session s(g);
  auto const q = fifo_queue<of<float>>(g, {.capacity = 2}, "q");
  auto const state = q.in(s.state());
  queue_runner fill{s, q.enqueue(constant(g, 1.f))};
  while (state->waiting() == 0) std::this_thread::yield();
  s.state().reset();
  EXPECT_EQ(refusal([&] { fill.join(); }), code::aborted);
  EXPECT_FALSE(state->closed());
  EXPECT_EQ(state->size(), 0);
}

TEST(queue_runner, that_another_one_stops_hands_on_the_first_cause_and_where_it_was) {
  graph g;
  session s(g);
  auto const a = fifo_queue<of<float>>(g, {}, "a"), b = fifo_queue<of<float>>(g, {.capacity = 1}, "b");
  coordinator both;
  auto const fine = b.enqueue(constant(g, 1.f));
  auto const bad = a.enqueue(check_numerics(constant(g, 1.f) / constant(g, 0.f), "a ratio"));
  queue_runner fill_b{both, s, {fine}}, fill_a{both, s, {bad}};
  auto const of_a = dequeue(a), of_b = dequeue(b);
  auto const text = sentence([&] { s.run(of_a); });
  EXPECT_NE(text.find("a thread that fills the queue 'a' failed, node 'check_numerics'"), std::string::npos) << text;
  auto const other = sentence([&] {
    for (;;) s.run(of_b);
  });
  EXPECT_NE(other.find("a thread that fills the queue 'b' was stopped"), std::string::npos) << other;
  EXPECT_NE(other.find("a ratio"), std::string::npos) << other;
}

TEST(queue_runner, is_waited_for_until_a_deadline) {
  graph g;
  session s(g);
  auto const q = fifo_queue<of<float>>(g, {.capacity = 2}, "q");
  queue_runner fill{s, q.enqueue(constant(g, 1.f))};
  EXPECT_EQ(refusal([&] { fill.join(std::chrono::milliseconds(10)); }), code::deadline_exceeded);
}

TEST(queue_runner, that_can_not_start_its_threads_closes_the_queue) {
  graph g;
  session s(g);
  auto const q = fifo_queue<of<float>>(g, {.capacity = 2}, "empty");
  auto const put = q.enqueue(constant(g, 1.f));
  auto const next = dequeue(q);
  {
    no_threads const now;
    EXPECT_EQ(refusal([&] { queue_runner(s, {put, put}); }), code::resource_exhausted);
  }
  auto const said = sentence([&] { s.run(next); });
  EXPECT_NE(said.find("a thread that fills the queue 'empty' could not be started"), std::string::npos) << said;
  queue_runner const fill(s, put);
  EXPECT_EQ(float(s.run(next)), 1.f);
}

TEST(queue_runner, draws_the_same_numbers_whatever_other_threads_do) {
  auto const masks = [](bool others) {
    graph g(7);
    auto const q = fifo_queue<of<float, 8>>(g, {.capacity = 3}, "masks");
    auto const put = q.enqueue(normal<float, 8>(g));
    auto const more = fifo_queue<of<float>>(g, {.capacity = 3}, "more");
    auto const put_more = more.enqueue(normal<float>(g));
    session s(g, {.threads = 2});
    std::unique_ptr<queue_runner> busy;
    if (others) busy = std::make_unique<queue_runner>(s, std::vector{put_more, put_more});
    queue_runner const fill{s, put};
    auto const one = dequeue(q);
    std::vector<tensor> made;
    for (int i = 0; i < 10; ++i) made.emplace_back(s.run(one));
    return made;
  };
  auto const first = masks(false), second = masks(true);
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(same_bits(first[i], second[i])) << i;
}

TEST(queue_runner, counts_the_steps_of_each_thread_by_a_name_that_is_free_again_when_it_has_ended) {
  graph g;
  auto const q = fifo_queue<of<float>>(g, {.capacity = 100}, "q");
  auto const put = q.enqueue(normal<float>(g));
  session s(g, {.threads = 2});
  auto const two = dequeue_many<2>(q);
  for (int i = 0; i < 2; ++i) {
    queue_runner const fill{s, {put, put}};
    s.run(two);
  }
  std::vector<std::string> names;
  for (auto const& [name, n] : s.draws().others)
    if (n > 0) names.push_back(name);
  EXPECT_LE(names.size(), 2u);
  for (auto const& name : names) EXPECT_TRUE(name.ends_with(":0") || name.ends_with(":1")) << name;
}

}  // namespace
}  // namespace rill
