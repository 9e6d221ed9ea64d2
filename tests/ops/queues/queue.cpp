#include "rill/ops/queues/queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <stop_token>
#include <thread>

#include "../run.hpp"
#include "base/sentence.hpp"
#include "rill/graph/codec.hpp"
#include "rill/ops/list/registry.hpp"
#include "rill/rill.hpp"
#include "run/late_at.hpp"

namespace rill {
namespace {

using test::expect_error;
using namespace std::chrono_literals;

TEST(queue, hands_elements_out_as_they_came) {
  graph g;
  auto const q = fifo_queue<of<float, 2>, of<std::int32_t>>(g, {.capacity = 4});
  auto const x = placeholder<float, 2>(g, "x");
  auto const i = placeholder<std::int32_t>(g, "i");
  auto const put = q.enqueue(x, i);
  auto const [a, b] = dequeue(q);
  session s(g);
  for (int k = 0; k < 3; ++k) s.run({{x, vector<float>({float(k), 1})}, {i, tensor(k)}}, put);
  EXPECT_EQ(std::int64_t(s.run(q.size())), 3);
  for (int k = 0; k < 3; ++k) {
    auto const [xs, is] = s.run(a, b);
    EXPECT_TRUE(same_bits(xs, vector<float>({float(k), 1})));
    EXPECT_EQ(std::int32_t(is), k);
  }
  EXPECT_EQ(std::int64_t(s.run(q.size())), 0);
}

TEST(queue, hands_out_as_many_elements_as_a_value_says) {
  graph g;
  auto const q = fifo_queue<of<float>>(g, {.capacity = 8});
  auto const put = q.enqueue_many(constant<float, 5>(g, {1, 2, 3, 4, 5}));
  auto const n = placeholder<std::int32_t>(g, "n");
  auto const some = dequeue_many(q, n);
  static_assert(decltype(some)::static_type == of<float, unknown>);
  auto const rest = dequeue_up_to(q, value(placeholder<std::int64_t>(g, "most")));
  session s(g);
  s.run(put);
  EXPECT_TRUE(same_bits(s.run({{n, tensor(2)}}, some), vector<float>({1, 2})));
  EXPECT_EQ(s.run({{n, tensor(0)}}, some).elements(), 0);
  expect_error(code::invalid_argument, "the number of elements is -1", [&] { s.run({{n, tensor(-1)}}, some); });
  expect_error(code::invalid_argument, "which is not between 0 and 2147483647",
               [&] { s.run({{"most", tensor(std::int64_t{1} << 40)}}, rest); });
  s.run(q.close());
  EXPECT_TRUE(same_bits(s.run({{"most", tensor(std::int64_t{4})}}, rest), vector<float>({3, 4, 5})));
  expect_error(code::out_of_range, "too few elements", [&] { s.run({{n, tensor(1)}}, some); });
  expect_error(code::invalid_argument, "not a scalar of int32 or int64", [&] { dequeue_many(q, constant(g, 1.f)); });
}

// Runs `check` with and without rewrites, in each execution, with one thread and with two.
void in_every_execution(auto const& check) {
  for (auto const& passes : {pass_options::none(), pass_options{.verify = true}})
    for (auto wish : {execution::automatic, execution::sequential, execution::parallel, execution::tagged})
      for (int threads : {1, 2}) check(session_options{.threads = threads, .passes = passes, .execution = wish});
}

TEST(queue, a_read_behind_a_wait_does_not_hold_up_the_update_before_what_it_waits_for) {
  in_every_execution([](session_options const& options) {
    graph g;
    auto const v = variable(constant(g, 1.f), "v");
    auto const q = fifo_queue<of<float>>(g, {}, "q");
    auto const d = q.dequeue();
    auto const seen = g.after({operation(d)}, [&] { return v + 0.f; });
    auto const put = g.after({assign(v, constant(g, 5.f))}, [&] { return q.enqueue(constant(g, 0.f)); });
    session s(g, options);
    s.run(initializer(g));
    EXPECT_EQ(float(s.run(seen, put, timeout{20s})), 1.f);
    EXPECT_EQ(float(s.run(v)), 5.f);
  });
}

// In sequential execution nothing else runs while a step waits for another.
TEST(queue, a_read_behind_a_wait_does_not_hold_up_an_update_that_another_step_waits_for) {
  in_every_execution([](session_options const& options) {
    if (options.execution == execution::sequential) return;
    graph g;
    auto const v = variable(constant(g, 1.f), "v");
    auto const out = fifo_queue<of<float>>(g, {}, "out"), back = fifo_queue<of<float>>(g, {}, "back");
    auto const seen = g.after({operation(back.dequeue())}, [&] { return v + 0.f; });
    auto const put = g.after({assign(v, constant(g, 5.f))}, [&] { return out.enqueue(constant(g, 0.f)); });
    auto const relay = back.enqueue(out.dequeue());
    session s(g, options);
    s.run(initializer(g));
    std::thread other([&] { EXPECT_EQ(sentence([&] { s.run(relay, timeout{20s}); }), ""); });
    EXPECT_EQ(sentence([&] { EXPECT_EQ(float(s.run(seen, put, timeout{20s})), 1.f); }), "");
    other.join();
  });
}

TEST(queue, elementwise_nodes_on_both_sides_of_a_wait_are_not_one) {
  in_every_execution([](session_options const& options) {
    graph g;
    auto const x = placeholder<float, 4>(g, "x");
    auto const q = fifo_queue<of<float, 4>>(g, {}, "q"), r = fifo_queue<of<float, 4>>(g, {}, "r");
    auto const a = exp(x);
    auto const put = q.enqueue(a);
    auto const y = a * 2.f + q.dequeue();
    // Here what the first group gives serves what joins it, not the other way round.
    auto const taken = r.dequeue() + 1.f;
    auto const m = x * 3.f;
    auto const given = r.enqueue(m);
    auto const z = m + (taken + 2.f);
    session s(g, options);
    std::vector<feed> const feeds{{x, vector<float>({0, 0, 0, 0})}};
    EXPECT_EQ(s.run(feeds, y, put, timeout{20s}).values()[0], 3.f);
    EXPECT_EQ(s.run(feeds, z, given, timeout{20s}).values()[0], 3.f);
  });
}

TEST(queue, elementwise_nodes_on_both_sides_of_what_another_step_hands_on_are_not_one) {
  in_every_execution([](session_options const& options) {
    if (options.execution == execution::sequential) return;
    graph g;
    auto const x = placeholder<float, 4>(g, "x");
    auto const out = fifo_queue<of<float, 4>>(g, {}, "out"), back = fifo_queue<of<float, 4>>(g, {}, "back");
    auto const a = exp(x);
    auto const put = out.enqueue(a);
    auto const y = a * 2.f + back.dequeue();
    auto const relay = back.enqueue(out.dequeue());
    session s(g, options);
    std::thread other([&] { EXPECT_EQ(sentence([&] { s.run(relay, timeout{20s}); }), ""); });
    EXPECT_EQ(
        sentence([&] { EXPECT_EQ(s.run({{x, vector<float>({0, 0, 0, 0})}}, y, put, timeout{20s}).values()[0], 3.f); }),
        "");
    other.join();
  });
}

TEST(queue, updates_on_both_sides_of_a_wait_are_not_one) {
  in_every_execution([](session_options const& options) {
    graph g;
    auto const x = placeholder<float, 4>(g, "x");
    auto const v = variable(constant<float, 4>(g, {1, 1, 1, 1}), "v"),
               w = variable(constant<float, 4>(g, {1, 1, 1, 1}), "w");
    auto const q = fifo_queue<of<float>>(g, {}, "q");
    auto const d = q.dequeue();
    auto const a = v - x, b = w + a * 2.f;  // of which each is an update's
    auto const first = assign(v, a);
    auto const put = g.after({first}, [&] { return q.enqueue(constant(g, 1.f)); });
    auto const second = g.after({operation(d)}, [&] { return assign(w, b); });
    session s(g, options);
    s.run(initializer(g));
    EXPECT_EQ(sentence([&] { s.run({{x, vector<float>({1, 1, 1, 1})}}, operation(second), put, timeout{20s}); }), "");
    EXPECT_EQ(s.run(v).values()[0], 0.f);
    EXPECT_EQ(s.run(w).values()[0], 1.f);
  });
}

TEST(queue, hands_out_elements_whose_axes_have_the_extents_that_their_names_mean_in_the_step) {
  graph g;
  auto const q = fifo_queue<of<float, "n">>(g, {}, "q");
  auto const put = q.enqueue(as<of<float, "n">>(value(placeholder<float, unknown>(g, "fresh"))));
  auto const x = placeholder<float, "n">(g, "x");
  auto const one = dequeue(q), other = dequeue(q);
  auto const with_x = one + x;
  auto const total = sum(x);
  function(g, "total", {of<float, unknown>}, [](auto const& in) { return std::vector<value>{sum(in[0])}; });
  value const with_total = add(sum(value(one)), call(g, "total", x)[0]);
  for (auto how : {execution::sequential, execution::parallel, execution::tagged}) {
    session s(g, {.execution = how});
    auto const fill = [&](std::initializer_list<std::int64_t> all) {
      for (auto n : all) s.run({{"fresh", test::counting(dtype::float32, {n})}}, put);
    };
    feed const two{x, vector<float>({1, 2})};
    fill({2, 3, 3, 3, 2, 3, 2, 3, 4, 4});
    EXPECT_EQ(s.run({two}, with_x).values()[1], 4);
    expect_error(code::invalid_argument, "axis 'n' is 2 elsewhere in this step and 3 here",
                 [&] { s.run({two}, with_x); });
    expect_error(code::invalid_argument, "axis 'n' is 2 elsewhere in this step and 3 here",
                 [&] { s.run({two}, with_total); });
    // Whether they are used or fetched alone, and whoever comes first.
    expect_error(code::invalid_argument, "axis 'n' is 2 elsewhere in this step and 3 here",
                 [&] { s.run({two}, one, total); });
    expect_error(code::invalid_argument, "axis 'n' is", [&] { s.run(one, other); });
    expect_error(code::invalid_argument, "axis 'n' is", [&] { s.run(sum(one), other); });
    auto const [a, b] = s.run(sum(one), other);
    EXPECT_EQ(float(a), 10);
    EXPECT_EQ(b.shape(), (shape{4}));
  }
}

TEST(queue, stacks_many_even_more_than_its_capacity) {
  graph g;
  auto const q = fifo_queue<of<float>>(g, {.capacity = 2});
  auto const x = placeholder<float, "n">(g, "x");
  auto const put = q.enqueue_many(x);
  auto const four = dequeue_many<4>(q);
  static_assert(std::same_as<decltype(four), expr<of<float, 4>> const>);
  session s(g);
  std::thread other([&] { s.run({{x, vector<float>({1, 2, 3, 4, 5, 6, 7, 8})}}, put); });
  EXPECT_TRUE(same_bits(s.run(four), vector<float>({1, 2, 3, 4})));
  EXPECT_TRUE(same_bits(s.run(four), vector<float>({5, 6, 7, 8})));
  other.join();
}

TEST(queue, a_dequeue_and_the_enqueue_that_it_waits_for_may_be_in_one_step) {
  graph g;
  auto const q = fifo_queue<of<float>>(g);
  auto const got = dequeue(q) * 2.f;
  auto const put = q.enqueue(constant(g, 21.f));
  for (int threads : {1, 2}) {
    session s(g, {.threads = threads});
    EXPECT_EQ(float(s.run(got, put)), 42.f);
  }
}

TEST(queue, ten_thousand_dequeues_wait_in_one_step_on_a_pool_of_one_thread) {
  graph g;
  auto const q = fifo_queue<of<std::int64_t>>(g, {.capacity = 10});
  std::vector<value> all;
  for (int i = 0; i < 10000; ++i) all.push_back(q.dequeue());
  auto const total = add_n(all);
  auto const x = placeholder<std::int64_t, "n">(g, "x");
  auto const put = q.enqueue_many(x);
  auto const state = std::make_shared<container>();
  session waiting(g, {.threads = 1, .state = state}), filling(g, {.threads = 1, .state = state});
  std::thread other([&] {
    std::vector<std::int64_t> numbers(10000);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int64_t>(i);
    filling.run({{value(x), tensor::adopt(std::move(numbers), {10000})}}, put);
  });
  EXPECT_EQ(waiting.run(total).at<std::int64_t>(), 9999 * 5000);
  other.join();
}

TEST(queue, once_closed_is_drained_and_then_out_of_range) {
  graph g;
  auto const q = fifo_queue<of<float>>(g);
  auto const put = q.enqueue(constant(g, 1.f));
  auto const one = dequeue(q);
  auto const three = dequeue_many<3>(q);
  auto const some = dequeue_up_to<3>(q);
  session s(g);
  for (int i = 0; i < 5; ++i) s.run(put);
  EXPECT_FALSE(bool(s.run(q.is_closed())));
  s.run(q.close());
  s.run(q.close());  // again
  EXPECT_TRUE(bool(s.run(q.is_closed())));
  expect_error(code::cancelled, "is closed", [&] { s.run(put); });
  s.run(three);
  expect_error(code::out_of_range, "too few elements", [&] { s.run(three); });
  EXPECT_EQ(std::int64_t(s.run(q.size())), 2);  // what it took is back
  auto const [left, sum_of_left] = s.run(some, sum(some));
  EXPECT_EQ(left.shape(), shape{2});
  EXPECT_EQ(float(sum_of_left), 2.f);
  expect_error(code::out_of_range, "too few elements", [&] { s.run(one); });
  expect_error(code::out_of_range, "too few elements", [&] { s.run(some); });
}

TEST(queue, a_step_that_is_cancelled_or_late_leaves_nobody_waiting_and_loses_nothing) {
  graph g;
  auto const q = fifo_queue<of<float>>(g, {.capacity = 3});
  auto const put = q.enqueue(constant(g, 1.f));
  auto const four = dequeue_many<4>(q);
  auto const two_waits = sum(four) + sum(dequeue_many<4>(q));
  for (auto const& waits : {value(sum(four)), value(two_waits)}) {  // the straight and parallel execution
    session s(g, {.threads = 1});
    s.run(put);
    s.run(put);
    expect_error(code::deadline_exceeded, "past its deadline", [&] { s.run(waits, timeout{2ms}); });
    EXPECT_EQ(std::int64_t(s.run(q.size())), 2);
    std::stop_source stop;
    std::thread other([&] {
      while (q.in(s.state())->waiting() == 0) std::this_thread::yield();
      stop.request_stop();
    });
    expect_error(code::cancelled, "the step was cancelled", [&] { s.run(waits, stop.get_token()); });
    other.join();
    EXPECT_EQ(std::int64_t(s.run(q.size())), 2);
    s.run(put);
    expect_error(code::deadline_exceeded, "past its deadline", [&] { s.run(put, timeout{2ms}); });
    EXPECT_EQ(std::int64_t(s.run(q.size())), 3);
    EXPECT_EQ(float(s.run(sum(dequeue_many<3>(q)))), 3.f);
  }
}

// A dequeue_many that has some elements and waits for more is given up; those are back in their place, before or
// between what has come meanwhile.
TEST(queue, a_dequeue_of_many_that_fails_half_way_puts_what_it_took_back_in_its_order) {
  auto const expect_order = [](auto const& make, std::vector<std::int64_t> const& wanted) {
    for (auto wish : {execution::sequential, execution::parallel, execution::tagged})
      for (bool late : {true, false}) {
        graph g;
        auto const q = make(g);
        auto const x = placeholder<std::int64_t>(g, "x");
        auto const put = q.enqueue(x);
        auto const eight = dequeue_many<8>(q);
        auto const five = q.enqueue_many(constant<std::int64_t, 5>(g, {5, 3, 9, 1, 7}));
        auto const one = q.dequeue();
        session s(g, {.threads = 1, .execution = wish});
        auto const state = q.in(s.state());
        // Whether it waited for one more when it was to end. A deadline may come before: then there is another attempt.
        auto const gives_up_half_way = [&](std::chrono::milliseconds time) {
          s.run(five);
          std::stop_source stop;
          std::atomic<bool> over = false;
          std::thread waits([&] {
            if (late) expect_error(code::deadline_exceeded, "deadline", [&] { s.run(eight, timeout{time}); });
            else expect_error(code::cancelled, "cancelled", [&] { s.run(eight, stop.get_token()); });
            over = true;
          });
          while (state->waiting() == 0 && !over) std::this_thread::yield();
          for (std::int64_t each : {2, 8}) s.run({{x, tensor(each)}}, put);  // one short of eight
          bool const half_way = state->size() == 0;
          stop.request_stop();
          waits.join();
          EXPECT_EQ(state->waiting(), 0);
          std::vector<std::int64_t> order;
          for (std::size_t i = 0; i < wanted.size(); ++i) order.push_back(std::int64_t(s.run(one)));
          EXPECT_EQ(order, wanted) << "execution " << static_cast<int>(wish) << (late ? ", late" : ", cancelled");
          EXPECT_EQ(std::int64_t(s.run(q.size())), 0);
          return half_way;
        };
        auto time = 100ms;
        while (!gives_up_half_way(time) && (time *= 2) < 30s) {
        }
        EXPECT_LT(time, 30s) << "it never had seven";
      }
  };
  expect_order([](graph& g) { return fifo_queue<of<std::int64_t>>(g); }, {5, 3, 9, 1, 7, 2, 8});
  expect_order([](graph& g) { return priority_queue<of<std::int64_t>>(g); }, {1, 2, 3, 5, 7, 8, 9});
}

TEST(queue, a_dequeue_of_more_than_it_holds_that_fails_puts_back_more_than_its_capacity) {
  graph g;
  auto const q = fifo_queue<of<std::int64_t>>(g, {.capacity = 2});
  auto const put = q.enqueue_many(constant<std::int64_t, 5>(g, {5, 3, 9, 1, 7}));
  auto const eight = dequeue_many<8>(q);
  session s(g);
  std::stop_source stop;
  std::thread waits([&] { expect_error(code::cancelled, "cancelled", [&] { s.run(eight, stop.get_token()); }); });
  while (q.in(s.state())->waiting() == 0) std::this_thread::yield();
  s.run(put, timeout{20s});  // goes in as fast as it is taken out
  stop.request_stop();
  waits.join();
  expect_error(code::deadline_exceeded, "deadline", [&] { s.run(put, timeout{2ms}); });
  for (std::int64_t wanted : {5, 3, 9, 1, 7}) EXPECT_EQ(std::int64_t(s.run(q.dequeue())), wanted);
  EXPECT_EQ(std::int64_t(s.run(q.size())), 0);
}

TEST(queue, a_step_that_fails_elsewhere_gives_up_its_waits) {
  graph g;
  auto const q = fifo_queue<of<float>>(g);
  auto const a = dequeue(q), b = dequeue(q);
  auto const bad = check_numerics(constant(g, 1.f) / placeholder_with_default(constant(g, 0.f)), "division");
  auto const holds = check(placeholder_with_default(constant(g, false)), "it must hold");
  for (auto [execution, threads] : {std::pair{execution::sequential, 1},
                                    {execution::automatic, 1},
                                    {execution::automatic, 2},
                                    {execution::parallel, 1}}) {
    SCOPED_TRACE(std::to_string(static_cast<int>(execution)) + " on " + std::to_string(threads));
    session s(g, {.threads = threads, .execution = execution});
    timeout const soon{20s};  // what waits does so for good
    expect_error(code::invalid_argument, "division", [&] { s.run(a, b, bad, soon); });
    expect_error(code::failed_precondition, "it must hold", [&] { s.run(a, holds, soon); });
    expect_error(code::failed_precondition, "it must hold", [&] { s.run(a, b, holds, soon); });
    s.run(q.enqueue(constant(g, 1.f)));
    EXPECT_EQ(std::int64_t(s.run(q.size())), 1);
  }
}

TEST(queue, a_shuffled_one_keeps_some_back_and_has_the_same_order_for_the_same_seed) {
  auto const order = [](std::int64_t seed) {
    graph g;
    auto const q = shuffle_queue<of<std::int64_t>>(g, {.capacity = 100, .min_after_dequeue = 20, .seed = seed});
    auto const x = placeholder<std::int64_t, 50>(g, "x");
    auto const one = dequeue(q);
    session s(g);
    tensor numbers(dtype::int64, {50});
    for (int i = 0; i < 50; ++i) numbers.mutable_data<std::int64_t>()[i] = i;
    s.run({{value(x), numbers}}, q.enqueue_many(x));
    std::vector<std::int64_t> got;
    for (int i = 0; i < 30; ++i) got.push_back(std::int64_t(s.run(one)));
    expect_error(code::deadline_exceeded, "deadline", [&] { s.run(one, timeout{1ms}); });
    s.run(q.close());
    for (int i = 0; i < 20; ++i) got.push_back(std::int64_t(s.run(one)));
    return got;
  };
  auto const first = order(1);
  EXPECT_EQ(order(1), first);
  EXPECT_NE(order(2), first);
  EXPECT_EQ(std::set<std::int64_t>(first.begin(), first.end()).size(), 50);
  EXPECT_FALSE(std::is_sorted(first.begin(), first.end()));
}

TEST(queue, a_windowed_one_draws_the_same_whatever_has_come_meanwhile_and_puts_back_in_place) {
  auto const order = [](std::size_t ahead, bool giving_up) {
    queue_state q("q", {queue_order::windowed, 1000, 7, 5, false, {of<std::int32_t>}});
    auto const request = [](std::size_t wanted) {
      auto const r = std::make_shared<queue_request>();
      r->wanted = wanted;
      r->finished = [](queue_request&, failure const&) {};
      return r;
    };
    std::vector<int> out;
    int next = 0;
    auto const put = [&] {
      auto const r = request(0);
      r->elements.push_back({{tensor(next++)}});
      q.enqueue(r);
    };
    while (out.size() < 60) {
      while (next < 80 && next < static_cast<int>(out.size() + 8 + ahead)) put();
      if (giving_up) {
        auto const much = request(200);
        q.dequeue(much);
        EXPECT_EQ(q.contents().elements.size(), static_cast<std::size_t>(next) - out.size());
        q.give_up(*much, failed(code::cancelled, "enough"));
      }
      auto const r = request(1);
      q.dequeue(r);
      out.push_back(r->elements.at(0).parts[0].item<std::int32_t>());
    }
    return out;
  };
  auto const first = order(0, false);
  EXPECT_EQ(first, order(10, false));
  EXPECT_EQ(first, order(10, true));
  std::set<int> const seen(first.begin(), first.end());
  EXPECT_EQ(seen.size(), first.size());
  EXPECT_FALSE(std::is_sorted(first.begin(), first.end()));
}

TEST(queue, one_of_priorities_hands_out_the_smallest_and_equal_ones_as_they_came) {
  graph g;
  auto const q = priority_queue<of<std::int64_t>, of<std::int32_t>>(g);
  auto const p = placeholder<std::int64_t, 6>(g, "p");
  auto const x = placeholder<std::int32_t, 6>(g, "x");
  auto const [priority, what] = dequeue_many<6>(q);
  session s(g);
  s.run({{p, vector<std::int64_t>({3, 1, 2, 1, 3, 0})}, {x, vector<std::int32_t>({0, 1, 2, 3, 4, 5})}},
        q.enqueue_many(p, x));
  EXPECT_TRUE(same_bits(s.run(what), vector<std::int32_t>({5, 1, 3, 2, 0, 4})));
}

TEST(queue, a_padding_one_fills_up_with_zeros_and_what_follows_is_planned_for_the_extents) {
  graph g;
  auto const q = padding_queue<of<float, unknown, 2>>(g);
  auto const x = placeholder<float, "rows", 2>(g, "x");
  auto const put = q.enqueue(x);
  auto const both = dequeue_many<2>(q);
  static_assert(std::same_as<decltype(both), expr<of<float, 2, unknown, 2>> const>);
  auto const doubled = both * 2.f;
  session s(g);
  for (int k = 0; k < 2; ++k) {
    s.run({{x, matrix<float>({{1, 2}})}}, put);
    s.run({{x, matrix<float>({{3, 4}, {5, 6}, {7, 8}})}}, put);
    auto const got = s.run(doubled);
    EXPECT_EQ(got.shape(), (shape{2, 3, 2}));
    std::vector<float> const wanted{2, 4, 0, 0, 0, 0, 6, 8, 10, 12, 14, 16};
    EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), got.data<float>()));
  }
  auto const plain = fifo_queue<of<float, unknown, 2>>(g);
  s.run({{x, matrix<float>({{1, 2}})}}, plain.enqueue(x));
  s.run({{x, matrix<float>({{1, 2}, {3, 4}})}}, plain.enqueue(x));
  expect_error(code::invalid_argument, "by a padding queue only", [&] { s.run(dequeue_many<2>(plain)); });
}

TEST(queue, a_padding_one_of_components_of_unknown_rank_is_refused_when_it_is_made) {
  graph g;
  constexpr type any = type::of_unknown_rank(dtype::float32);
  expect_error(code::invalid_argument, "each component needs a known rank", [&] { padding_queue<any>(g); });
  expect_error(code::invalid_argument, "each component needs a known rank",
               [&] { bucket_queue<of<std::int64_t>, any>(g, {.together = 2}); });
  EXPECT_NO_THROW(fifo_queue<any>(g));
}

TEST(queue, holds_strings) {
  graph g;
  auto const q = fifo_queue<of<std::string>>(g);
  auto const x = placeholder<std::string, 3>(g, "x");
  session s(g);
  s.run({{x, vector<std::string>({"a", "a longer one than fits in place", "c"})}}, q.enqueue_many(x));
  auto const got = s.run(dequeue_many<3>(q));
  EXPECT_EQ(got.at<std::string>(1), "a longer one than fits in place");
}

TEST(queue, close_waits_for_those_who_wait_to_get_in_or_ends_them) {
  graph g;
  auto const q = fifo_queue<of<float>>(g, {.capacity = 1});
  auto const put = q.enqueue(constant(g, 1.f));
  auto const one = dequeue(q);
  auto const closing = q.close(), ending = q.close(true);
  for (bool cancel : {false, true}) {
    session s(g);
    s.run(put);
    std::string said;
    std::thread waits([&] { said = sentence([&] { s.run(put); }); });
    while (s.state().queue(q.name(), q.in(s.state())->options())->waiting() == 0) std::this_thread::yield();
    std::thread closes([&] { s.run(cancel ? ending : closing); });
    if (!cancel) {
      while (!bool(s.run(q.is_closed()))) std::this_thread::yield();
      EXPECT_EQ(float(s.run(one)), 1.f);
    }
    waits.join();
    closes.join();
    EXPECT_EQ(said.find("was closed") != std::string::npos, cancel) << said;
    EXPECT_EQ(std::int64_t(s.run(q.size())), 1);
  }
}

TEST(queue, a_container_that_is_reset_ends_those_who_wait) {
  graph g;
  auto const q = fifo_queue<of<float>>(g);
  session s(g);
  auto const one = dequeue(q);
  std::string said;
  std::thread waits([&] { said = sentence([&] { s.run(one); }); });
  while (q.in(s.state())->waiting() == 0) std::this_thread::yield();
  s.state().reset();
  waits.join();
  EXPECT_NE(said.find("was reset"), std::string::npos) << said;
  s.run(q.enqueue(constant(g, 1.f)));
  EXPECT_EQ(float(s.run(one)), 1.f);
}

TEST(queue, is_shared_by_graphs_of_one_container_and_refuses_another_of_its_name) {
  auto const state = std::make_shared<container>();
  graph a, b, c;
  session(a, {.state = state}).run(fifo_queue<of<float>>(a, {}, "shared").enqueue(constant(a, 3.f)));
  EXPECT_EQ(float(session(b, {.state = state}).run(dequeue(fifo_queue<of<float>>(b, {}, "shared")))), 3.f);
  auto const other = dequeue(fifo_queue<of<std::int32_t>>(c, {}, "shared"));
  expect_error(code::failed_precondition, "already has a queue of this name",
               [&] { session(c, {.state = state}).run(other); });
}

TEST(queue, refuses_what_makes_no_sense) {
  graph g;
  expect_error(code::invalid_argument, "at least 1", [&] { fifo_queue<of<float>>(g, {.capacity = 0}); });
  expect_error(code::invalid_argument, "less than the capacity",
               [&] { shuffle_queue<of<float>>(g, {.capacity = 5, .min_after_dequeue = 5}); });
  expect_error(code::invalid_argument, "only a shuffled queue",
               [&] { fifo_queue<of<float>>(g, {.capacity = 5, .min_after_dequeue = 1}); });
  expect_error(code::invalid_argument, "an int64 scalar", [&] { priority_queue<of<float>>(g); });
}

TEST(queue, names_the_component_that_a_value_does_not_fit_and_what_came) {
  graph g;
  auto const q = fifo_queue<of<float, 2>, of<std::int32_t>>(g, {}, "examples");
  value const pair = constant<float, 2>(g, {1, 2}), number = constant(g, 1), real = constant(g, 1.f);
  auto const says = [&](std::string const& words, auto const& record) {
    auto const text = sentence(record);
    EXPECT_EQ(text.find("invalid_argument: node 'examples/" + words), 0u) << text;
  };
  says("enqueue': enqueue: component 1 of the queue 'examples' takes an int32[], and a float32[] came",
       [&] { q.enqueue(pair, real); });
  says("enqueue': enqueue: component 0 of the queue 'examples' takes a float32[2], and a float32[] came",
       [&] { q.enqueue(real, number); });
  says(
      "enqueue_many': enqueue_many: component 0 of the queue 'examples' takes rows of float32[2], and a float32[2] "
      "came",
      [&] { q.enqueue_many(pair, number); });
  says("enqueue_many': enqueue_many: component 1 of the queue 'examples' takes rows of int32[], and an int32[] came",
       [&] { q.enqueue_many(value(constant<float, 1, 2>(g, {1, 2})), number); });
  says("enqueue': enqueue: an element of the queue 'examples' has 2 components, and 1 value came",
       [&] { q.enqueue_by(0, {pair}); });
  // What only the step knows.
  value const open = placeholder(g, type::of_unknown_rank(dtype::float32), "open");
  auto const put = q.enqueue(open, number), rows = q.enqueue_many(open, value(constant<std::int32_t, 1>(g, {7})));
  session s(g);
  auto const three = vector<float>({1, 2, 3});
  says("enqueue': enqueue: component 0 of the queue 'examples' takes a float32[2], and a float32[3] came",
       [&] { s.run({{open, three}}, put); });
  says(
      "enqueue_many': enqueue_many: component 0 of the queue 'examples' takes rows of float32[2], and a float32[3] "
      "came",
      [&] { s.run({{open, three}}, rows); });
  EXPECT_EQ(std::int64_t(s.run(q.size())), 0);
}

TEST(queue, in_a_loop_waits_and_says_where_it_did_when_time_is_up_or_the_step_is_cancelled) {
  graph g;
  auto const q = fifo_queue<of<float>>(g);
  auto const [n, total] =
      while_loop([](auto i, auto) { return i < 10; }, [&](auto i, auto t) { return std::tuple{i + 1, t + dequeue(q)}; },
                 constant(g, 0), constant(g, 0.f));
  auto const put = q.enqueue(constant(g, 2.f));
  value const beside = dequeue(q);
  for (auto [execution, threads] : {std::pair{execution::sequential, 1},
                                    {execution::automatic, 1},
                                    {execution::automatic, 2},
                                    {execution::parallel, 2},
                                    {execution::tagged, 1},
                                    {execution::tagged, 2}}) {
    SCOPED_TRACE(std::to_string(static_cast<int>(execution)) + " on " + std::to_string(threads));
    session s(g, {.threads = threads, .execution = execution});
    std::thread other([&] {
      for (int i = 0; i < 10; ++i) s.run(put);
    });
    EXPECT_EQ(float(s.run(total)), 20.f);
    other.join();
    auto const cancelled = [&](auto const&... what) {
      std::stop_source stop;
      std::thread stops([&] {
        while (q.in(s.state())->waiting() != sizeof...(what)) std::this_thread::yield();
        stop.request_stop();
      });
      auto text = sentence([&] { s.run(what..., stop.get_token()); });
      stops.join();
      return text;
    };
    auto const in_body = "in iteration 0, node 'body/queue/dequeue': ", anywhere = "queue/dequeue";
    for (auto const& text : {test::late_at(in_body, [&](timeout time) { s.run(total, time); }), cancelled(total)}) {
      EXPECT_NE(text.find(in_body), std::string::npos) << text;
      EXPECT_NE(text.find(text.starts_with("cancelled: ") ? "the step was cancelled" : "past its deadline"),
                std::string::npos)
          << text;
    }
    if (execution == execution::sequential) continue;  // where the first wait keeps the second from beginning
    for (auto const& text :
         {test::late_at(anywhere, [&](timeout time) { s.run(total, beside, time); }), cancelled(total, beside)})
      EXPECT_NE(text.find(anywhere), std::string::npos) << text;
  }
}

TEST(queue, travels_as_bytes) {
  graph g;
  auto const q = shuffle_queue<of<float, 2>>(g, {.capacity = 9, .min_after_dequeue = 1, .seed = 4}, "examples");
  auto const put = q.enqueue(constant<float, 2>(g, {1, 2}));
  q.close();
  value const got = q.dequeue();
  auto const again = graph_from_bytes(to_bytes(g), all_operations());
  session s(*again);
  s.run(operation(again->find(put.origin().name)));
  s.run(operation(again->find("examples/queue_close")));
  EXPECT_TRUE(same_bits(s.run({}, std::vector<std::string>{got.name()})[0], vector<float>({1, 2})));
}

TEST(queue, many_threads_that_put_and_take_lose_nothing) {
  graph g;
  auto const q = fifo_queue<of<std::int64_t>>(g, {.capacity = 7});
  auto const x = placeholder<std::int64_t>(g, "x");
  auto const put = q.enqueue(x);
  auto const three = dequeue_many<3>(q);
  session s(g, {.threads = 2});
  std::atomic<std::int64_t> total{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      auto step = s.prepare(inputs(x), outputs(), put);
      for (int i = 0; i < 300; ++i) step(tensor(std::int64_t{t * 300 + i}));
    });
    threads.emplace_back([&] {
      auto step = s.prepare(inputs(), outputs(three));
      for (int i = 0; i < 100; ++i) {
        auto const got = step();
        for (int k = 0; k < 3; ++k) total += got.template at<std::int64_t>(k);
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(total, 899 * 450);
}

}  // namespace
}  // namespace rill
