#include "rill/run/wait/fiber_call.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>
#include <thread>
#include <tuple>
#include <vector>

#include "base/sentence.hpp"
#include "rill/rill.hpp"
#include "run/late_at.hpp"
#include "run/wait/late_wait.hpp"

namespace rill {
namespace {

using namespace std::chrono_literals;

constexpr timeout soon{20s};  // what waits for good would do so

// The sum of a list that takes so many elements of a queue, one in each iteration: its extents are open.
template <class Queue> auto sum_of_list(graph& g, Queue const& q, int elements) {
  auto const [n, list] =
      while_loop([=](auto k, auto) { return k < elements; },
                 [&](auto k, auto v) { return std::tuple{k + 1, concat<0>(v, reshape<1>(dequeue(q)))}; },
                 constant(g, 0), as<of<float, unknown>>(value(constant<float, 1>(g, {0}))));
  return sum(list);
}
TEST(fiber_call, what_waits_in_bodies_of_open_extents_holds_no_thread) {
  graph g;
  auto const q = fifo_queue<of<float>>(g, {.capacity = 4});
  auto const a = sum_of_list(g, q, 3), b = sum_of_list(g, q, 4);
  auto const put = q.enqueue_many(constant<float, 7>(g, {1, 2, 4, 8, 16, 32, 64}));
  for (auto [execution, threads] : {std::pair{execution::automatic, 1},
                                    {execution::automatic, 2},
                                    {execution::parallel, 1},
                                    {execution::tagged, 1}}) {
    session s(g, {.threads = threads, .execution = execution});
    for (int i = 0; i < 3; ++i) {
      auto const [x, y] = s.run(a, b, put, soon);
      EXPECT_EQ(float(x) + float(y), 127.f);
    }
  }
}

TEST(fiber_call, what_waits_in_a_function_that_calls_itself_holds_no_thread) {
  graph g;
  auto const q = fifo_queue<of<float>>(g, {.capacity = 4});
  auto const take = function<"take", of<float>(of<int>)>(g, [&](auto self, auto k) {
    return cond(k < 1, [&] { return cast<float>(k) * 0.f; }, [&] { return dequeue(q) + self(k - 1); });
  });
  auto const n = placeholder<int>(g, "n");
  auto const a = take(n), b = take(n + 1);
  auto const put = q.enqueue_many(constant<float, 7>(g, {1, 2, 4, 8, 16, 32, 64}));
  for (int threads : {1, 2}) {
    session s(g, {.threads = threads});
    auto const [x, y] = s.run({{n, tensor(3)}}, a, b, put, soon);
    EXPECT_EQ(float(x) + float(y), 127.f);
  }
  auto const [i, total] =
      while_loop([](auto k, auto) { return k < 3; }, [&](auto k, auto v) { return std::tuple{k + 1, v + take(k + 1)}; },
                 constant(g, 0), constant(g, 0.f));
  for (int threads : {1, 2}) {
    session s(g, {.threads = threads});
    auto const [x, y] = s.run({{n, tensor(1)}}, total, a, put, soon);
    EXPECT_EQ(float(x) + float(y), 127.f);
  }
}

TEST(fiber_call, hundreds_wait_on_one_thread) {
  graph g;
  auto const q = fifo_queue<of<float>>(g, {.capacity = 1});
  std::vector<value> all;
  for (int i = 0; i < 300; ++i) all.push_back(sum_of_list(g, q, 2));
  auto const put = q.enqueue_many(constant<float, 600>(g, tensor::adopt(std::vector<float>(600, 1.f), {600})));
  auto const total = add_n(all);
  session s(g, {.threads = 1});
  EXPECT_EQ(s.run(total, put, soon).at<float>(), 600.f);
}

TEST(fiber_call, a_step_that_ends_early_gives_them_up_says_where_and_loses_nothing) {
  graph g;
  auto const q = fifo_queue<of<float>>(g);
  auto const a = sum_of_list(g, q, 3), b = sum_of_list(g, q, 3);
  auto const put = q.enqueue_many(constant<float, 2>(g, {1, 2}));
  auto const fails =
      g.after({put}, [&] { return check(placeholder_with_default(constant(g, false)), "it must hold"); });
  for (int threads : {1, 2}) {
    session s(g, {.threads = threads});
    auto const late = test::late_at("in iteration 0", [&](timeout time) { s.run(a, b, time); });
    EXPECT_NE(late.find("in iteration 0"), std::string::npos) << late;
    EXPECT_NE(late.find("past its deadline"), std::string::npos) << late;
    std::stop_source stop;
    std::thread other([&] {
      while (q.in(s.state())->waiting() != 2) std::this_thread::yield();
      stop.request_stop();
    });
    EXPECT_NE(sentence([&] { s.run(a, b, stop.get_token()); }).find("the step was cancelled"), std::string::npos);
    other.join();
    EXPECT_NE(sentence([&] { s.run(a, b, fails, soon); }).find("it must hold"), std::string::npos);
    s.run(q.close(true));
    EXPECT_NE(sentence([&] { s.run(a, b, soon); }).find("closed"), std::string::npos);
  }
}

TEST(fiber_call, an_error_beside_a_wait_is_the_steps) {
  graph g;
  auto const q = fifo_queue<of<float>>(g);
  auto const body = [&](auto k, auto v) {
    auto const next = check_numerics(dequeue(q), "taken");
    return std::tuple{k + 1, concat<0>(v, reshape<1>(next))};
  };
  auto const [n, list] = while_loop([](auto k, auto) { return k < 3; }, body, constant(g, 0),
                                    as<of<float, unknown>>(value(constant<float, 1>(g, {0}))));
  auto const total = sum(list);
  auto const other = dequeue(fifo_queue<of<float>>(g, {}, "empty"));
  auto const put = q.enqueue_many(constant<float, 2>(g, {1, std::numeric_limits<float>::quiet_NaN()}));
  session s(g, {.threads = 1});
  auto const text = sentence([&] { s.run(total, other, put, soon); });
  EXPECT_NE(text.find("in iteration 1"), std::string::npos) << text;
  EXPECT_NE(text.find("taken"), std::string::npos) << text;
}

// Fails while a kernel waits that is done when it is asked to give up.
struct fails_beside_op : test::late_wait_rules {
  static constexpr std::string_view name = "fails_beside";
  static kernel cpu(kernel_request const&) {
    return kernel([](kernel_call const&) {
      test::late_wait::wait_for(test::late_wait::early_waits);
      throw error(code::aborted, "it fails");
    });
  }
};

// A list of one number, made by a body of open extents.
template <class F> auto list_of_one(graph& g, expr<of<float>> x, F const& number) {
  auto const [n, list] = while_loop(
      [](auto k, auto) { return k < 1; },
      [&](auto k, auto v) { return std::tuple{k + 1, concat<0>(v, reshape<1>(number(x + cast<float>(k))))}; },
      constant(g, 0), as<of<float, unknown>>(value(constant<float, 1>(g, {0}))));
  return sum(list);
}

TEST(fiber_call, a_kernel_that_begins_to_wait_when_the_step_has_failed_is_told) {
  graph g;
  auto const q = fifo_queue<of<float>>(g);
  auto const x = placeholder<float>(g, "x");
  auto const early = record<test::early_op>(x), bad = record<test::failing_op>(x);
  auto const late = list_of_one(g, x, [](auto v) { return record<test::late_op>(v); });
  auto const beside = record<fails_beside_op>(x);
  auto const second = list_of_one(g, x, [&](auto v) {
    auto const first = record<test::done_op>(v);
    return first + g.after({operation(first)}, [&] { return dequeue(q); });
  });
  session s(g, {.threads = 2, .execution = execution::parallel});
  for (int i = 0; i < 20; ++i) {
    test::late_wait::reset();
    EXPECT_NE(sentence([&] { s.run({{x, 1.f}}, early, bad, late, soon); }).find("it fails"), std::string::npos);
    test::late_wait::reset();
    EXPECT_NE(sentence([&] { s.run({{x, 1.f}}, beside, second, soon); }).find("it fails"), std::string::npos);
  }
}

}  // namespace
}  // namespace rill
