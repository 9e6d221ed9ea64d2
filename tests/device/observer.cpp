#include "rill/device/observer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>

#include "rill/base/pool.hpp"
#include "rill/rill.hpp"

namespace {

using namespace rill;

struct recorder : observer {
  std::vector<std::string> seen;
  int begun = 0, ended = 0;
  void step_begins(std::uint64_t) override { ++begun; }
  void node_ran(node_record const& r) override {
    EXPECT_LE(r.begin, r.end);
    seen.push_back(std::string(r.operation));
  }
  void step_ended(std::uint64_t) override { ++ended; }
};

TEST(observer, is_told_of_each_node_of_the_steps_that_name_it) {
  graph g;
  auto const x = placeholder<float, 2, 2>(g, "x");
  auto const y = matmul(exp(x), x);
  session s{g};
  recorder r;
  auto const in = tensor(matrix<float>({{1, 2}, {3, 4}}));
  s.run({{x, in}}, y, observe(r));
  EXPECT_EQ(r.seen, (std::vector<std::string>{"exp", "matmul"}));
  s.run({{x, in}}, y);
  EXPECT_EQ(r.begun, 1);
  EXPECT_EQ(r.ended, 1);
}

// Uses the pool of the step that it watches: for a loop, and for a step of another session.
struct busy_observer : observer {
  explicit busy_observer(std::shared_ptr<pool> p)
      : loops(p),
        x(placeholder<float, 64>(inner, "x")),
        sums(exp(x) * sqrt(x)),
        own(inner, {.pool = p, .execution = execution::parallel}) {}
  void node_ran(node_record const&) override {
    std::atomic<int> chunks = 0;
    loops->parallel()(8, [&](std::size_t) { ++chunks; });
    EXPECT_EQ(chunks, 8);
    own.run({{x, tensor_of<of<float, 64>>(fill(0.f))}}, sums);
    ++nodes;
  }
  static tensor fill(float x) {
    tensor t(dtype::float32, {64});
    std::fill_n(t.mutable_data<float>(), 64, x);
    return t;
  }
  graph inner;
  std::shared_ptr<pool> loops;
  expr<of<float, 64>> x, sums;
  session own;
  int nodes = 0;
};

TEST(observer, may_use_the_pool_of_the_step_that_it_watches) {
  graph g;
  auto const q = fifo_queue<of<float>>(g, {.capacity = 1});
  auto const a = dequeue(q), b = dequeue(q), c = dequeue(q);
  auto const put = q.enqueue_many(constant<float, 3>(g, {1, 2, 4}));
  auto const result = exp(a) * 0.f + sqrt(b) * 0.f + a + b + c;
  for (auto const how : {execution::automatic, execution::parallel, execution::tagged}) {
    auto const threads = std::make_shared<pool>(3);
    busy_observer busy(threads);
    session s(g, {.pool = threads, .execution = how});
    for (int i = 0; i < 20; ++i)
      EXPECT_EQ(float(s.run(result, put, observe(busy), timeout(std::chrono::seconds(30)))), 7.f);
    EXPECT_GT(busy.nodes, 0);
  }
}

TEST(observer, may_use_the_pool_while_a_loop_waits_within_its_body) {
  graph g;
  auto const q = fifo_queue<of<float>>(g, {.capacity = 1});
  auto const total = std::get<1>(while_loop([](auto k, auto) { return k < 4; },
                                            [&](auto k, auto v) { return std::tuple{k + 1, v + dequeue(q)}; },
                                            constant(g, 0), constant(g, 0.f)));
  auto const other = dequeue(q);
  auto const put = q.enqueue_many(constant<float, 5>(g, {1, 1, 1, 1, 1}));
  for (auto const how : {execution::automatic, execution::tagged}) {
    auto const threads = std::make_shared<pool>(2);
    busy_observer busy(threads);
    session s(g, {.pool = threads, .execution = how});
    for (int i = 0; i < 10; ++i)
      EXPECT_EQ(float(s.run(total + other, put, observe(busy), timeout(std::chrono::seconds(30)))), 5.f);
  }
}

// Is still told of one node while others run in bodies that are compiled for ever new extents, and dropped. The thread
// that tells it may be the one that runs them, and then it waits in vain: so not for long.
struct slow_observer : observer {
  explicit slow_observer(std::atomic<bool>& last) : last_ran(last) {}
  void node_ran(node_record const& r) override {
    if (r.operation == "matmul")
      for (auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
           !last_ran && std::chrono::steady_clock::now() < end;)
        std::this_thread::yield();
    names.emplace(r.name);
  }
  std::atomic<bool>& last_ran;
  std::set<std::string> names;
};

TEST(observer, is_told_names_of_bodies_that_are_gone) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const m = placeholder<float, 2, 2>(g, "m");
  auto const longer = [&](auto n, auto v) {
    return std::tuple{print(n + 1), concat<0>(v, reshape<1>(x * sum(tanh(v))))};
  };
  auto const [i, y] =
      while_loop([](auto n, auto) { return n < 300; }, longer, constant(g, 0), as<of<float, unknown>>(reshape<1>(x)));
  auto const z = matmul(m, m);
  int iterations = 0;
  std::atomic<bool> last_ran = false;
  session s(g, {.threads = 2,
                .log = [&](std::string_view) { last_ran = ++iterations == 300; },
                .passes = pass_options::none(),
                .execution = execution::parallel});
  slow_observer watching(last_ran);
  s.run({{x, tensor(1.f)}, {m, tensor(matrix<float>({{1, 2}, {3, 4}}))}}, sum(y), z, observe(watching));
  EXPECT_TRUE(watching.names.contains("matmul"));
  EXPECT_TRUE(watching.names.contains("body/concat"));
}

TEST(observer, is_told_of_the_end_of_a_step_that_fails) {
  graph g;
  value const x = placeholder(g, of<float>, "x");
  auto const y = check_numerics(x, "x");
  session s{g};
  recorder r;
  EXPECT_THROW(s.run({{x, tensor(std::nanf(""))}}, y, observe(r)), error);
  EXPECT_EQ(r.begun, 1);
  EXPECT_EQ(r.ended, 1);
}

TEST(stop_token, ends_a_step_and_leaves_the_session_usable) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const y = exp(x);
  session s{g};
  std::stop_source stop;
  stop.request_stop();
  try {
    s.run({{x, tensor(1.f)}}, y, stop.get_token());
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::cancelled);
  }
  try {
    s.run({{x, tensor(1.f)}}, y, timeout{std::chrono::nanoseconds(-1)});
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::deadline_exceeded);
  }
  EXPECT_FLOAT_EQ(float(s.run({{x, tensor(1.f)}}, y)), std::exp(1.f));
}

}  // namespace
