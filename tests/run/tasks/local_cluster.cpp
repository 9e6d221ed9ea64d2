// Steps over several tasks in one process.
#include "rill/run/local_cluster.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include "rill/rill.hpp"
#include "run/lanes/digits.hpp"

namespace rill {
namespace {

local_cluster two_jobs() {
  return local_cluster({{"ps", 2}, {"worker", 2}}, [](device_name const&) { return task_options{.threads = 2}; });
}

template <class F> error thrown_by(F const& f) {
  try {
    f();
  } catch (error const& e) {
    return e;
  }
  ADD_FAILURE() << "nothing was thrown";
  return error::no_memory();
}

TEST(local_cluster, runs_nodes_on_the_tasks_that_they_ask_for) {
  auto const cluster = two_jobs();
  graph g;
  auto x = placeholder<float, 3>(g, "x");
  auto w = g.on("/job:ps/task:1", [&] { return variable<float, 3>(g, "w", zeros()); });
  auto y = g.on("/job:worker/task:1", [&] { return x * w + 1.f; });
  session s(g, cluster.target());
  s.run(initializer(g));
  tensor const made = s.run({{x, vector<float>({1, 10, 100})}}, y);
  EXPECT_TRUE(same_bits(made, vector<float>({1, 1, 1})));
  EXPECT_TRUE(cluster.state("/job:ps/task:1").find_variable("w"));
  EXPECT_FALSE(cluster.state("/job:ps/task:0").find_variable("w"));
  EXPECT_FALSE(cluster.state("/job:worker/task:0").find_variable("w"));
}

TEST(local_cluster, refuses_steps_of_an_earlier_generation_of_the_training) {
  auto const cluster = two_jobs();
  graph g;
  auto w = g.on("/job:ps/task:1", [&] { return variable<float>(g, "w", zeros()); });
  auto const add = operation(value(assign_add(w, constant(g, 1.f))));
  session of_training(g, cluster.target()), other(g, cluster.target());
  other.run(initializer(g));
  auto const begin = [&](std::int64_t n) {
    for (auto const* task : {"/job:ps/task:0", "/job:ps/task:1", "/job:worker/task:0", "/job:worker/task:1"})
      cluster.state(task).begin_generation(n);
  };
  begin(7);
  of_training.state().begin_generation(7);
  of_training.run(add);
  begin(8);
  auto const why = thrown_by([&] { of_training.run(add); });
  EXPECT_EQ(why.code(), code::aborted) << why.what();
  EXPECT_EQ(why.cause(), cause::lost);
  other.run(add);
  EXPECT_EQ(other.run(w), 2.f);
  of_training.state().begin_generation(8);
  of_training.run(add);
  EXPECT_EQ(other.run(w), 3.f);
}

TEST(local_cluster, sends_values_back_and_forth) {
  auto const cluster = two_jobs();
  graph g;
  auto v = placeholder<float>(g, "x");
  value y = v;
  for (int i = 0; i < 20; ++i)
    y = g.on("/job:worker/task:" + std::to_string(i % 2), [&] { return tanh(expr<of<float>>(y)) + v * 0.1f; });
  session here(g, {.soft_placement = true}), there(g, cluster.target());
  EXPECT_TRUE(same_bits(here.run({{v, 0.5f}}, y), there.run({{v, 0.5f}}, y)));
}

TEST(local_cluster, reads_and_updates_have_an_order_over_tasks) {
  auto const cluster = two_jobs();
  graph g;
  auto v = g.on("/job:ps/task:0", [&] { return variable(constant(g, 1.f), "v"); });
  auto w = g.on("/job:ps/task:1", [&] { return variable(constant(g, 2.f), "w"); });
  auto const a = assign_add(v, w);
  auto const b = g.after({a}, [&] { return assign_add(w, read(v)); });
  auto const c = g.after({b}, [&] { return assign_add(v, read(w)); });
  session s(g, cluster.target());
  s.run(initializer(g));
  s.run(c);
  EXPECT_EQ(s.run(w), 5.f);
  EXPECT_EQ(s.run(v), 8.f);
}

TEST(local_cluster, what_is_fed_can_be_fetched) {
  auto const cluster = two_jobs();
  graph g;
  auto x = placeholder<float>(g, "x");
  auto k = constant(g, 3.f);
  session s(g, cluster.target());
  EXPECT_EQ(s.run({{x, 2.f}}, x), 2.f);
  EXPECT_EQ(s.run(k), 3.f);
  auto const [a, b, again] = s.run({{x, 2.f}}, x, x * 2.f, x);
  EXPECT_EQ(a, 2.f);
  EXPECT_EQ(b, 4.f);
  EXPECT_EQ(again, 2.f);
}

TEST(local_cluster, extents_that_the_step_settles_cross_tasks) {
  auto const cluster = two_jobs();
  graph g;
  auto const on = [&](int task, auto const& f) { return g.on("/job:worker/task:" + std::to_string(task), f); };
  auto x = placeholder<float, "n">(g, "x");
  auto places = on(0, [&] { return where(x > 0.f); });
  auto others = on(1, [&] { return where(x <= 0.f); });
  // Each task waits for what the other settles.
  auto mine = on(0, [&] { return sum(others) + sum(places); });
  auto theirs = on(1, [&] { return sum(places) * sum(others); });
  session here(g, {.soft_placement = true}), there(g, cluster.target());
  auto const fed = vector<float>({1, -1, 2, -3, 5});
  auto const [a, b, c] = here.run({{x, fed}}, mine, theirs, places);
  auto const [d, e, f] = there.run({{x, fed}}, mine, theirs, places);
  EXPECT_TRUE(same_bits(a, d));
  EXPECT_TRUE(same_bits(b, e));
  EXPECT_TRUE(same_bits(c, f));
}

TEST(local_cluster, a_queue_may_wait_for_what_the_step_settles_on_another_task) {
  auto const cluster = two_jobs();
  graph g;
  auto x = placeholder<float, 4>(g, "x");
  auto q = g.on("/job:ps/task:0", [&] { return fifo_queue<of<float>>(g, {}, "sums"); });
  auto taken = g.on("/job:worker/task:0", [&] { return q.dequeue() * 2.f; });
  auto some = g.on("/job:worker/task:1", [&] { return gather(x, where(x > 0.f)); });
  auto total = g.on("/job:ps/task:1", [&] { return sum(some); });
  auto put = q.enqueue(total);
  session s(g, cluster.target());
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(s.run({{x, vector<float>({1, -2, 3, -4})}}, taken, put, timeout(std::chrono::seconds(60))), 8.f);
}

TEST(local_cluster, an_error_names_the_node_and_the_task) {
  auto const cluster = two_jobs();
  graph g;
  auto i = placeholder<std::int32_t>(g, "i");
  auto y = g.on("/job:worker/task:1", [&] { return gather(constant(g, vector<float>({1, 2, 3})), i); });
  session s(g, cluster.target());
  auto const e = thrown_by([&] { s.run({{i, 7}}, y); });
  EXPECT_EQ(e.code(), code::invalid_argument) << e.what();
  EXPECT_EQ(e.cause(), cause::own);
  EXPECT_NE(std::string(e.what()).find("/job:worker/task:1"), std::string::npos) << e.what();
  tensor const third = s.run({{i, 2}}, y);
  EXPECT_TRUE(same_bits(third, tensor(3.f)));
}

TEST(local_cluster, a_step_that_is_stopped_ends_on_all_tasks) {
  auto const cluster = two_jobs();
  graph g;
  auto q = g.on("/job:ps/task:0", [&] { return fifo_queue<of<float>>(g, {.capacity = 1}, "q"); });
  auto y = g.on("/job:worker/task:1", [&] { return q.dequeue() * 2.f; });
  session s(g, cluster.target());
  auto const e = thrown_by([&] { s.run(y, timeout(std::chrono::milliseconds(50))); });
  EXPECT_EQ(e.code(), code::deadline_exceeded) << e.what();
  EXPECT_EQ(e.cause(), cause::asked_for);
  std::stop_source stop;
  stop.request_stop();
  auto const stopped = thrown_by([&] { s.run(y, stop.get_token()); });
  EXPECT_EQ(stopped.code(), code::cancelled) << stopped.what();
  EXPECT_EQ(stopped.cause(), cause::asked_for);
  s.run(q.enqueue(constant(g, 4.f)));
  EXPECT_EQ(s.run(y), 8.f);
}

TEST(local_cluster, trains_with_the_bits_of_one_process) {
  auto const losses = [](auto&& make) {
    graph g(7);
    auto x = placeholder<float, "n", 8>(g, "x");
    auto label = placeholder<float, "n", 2>(g, "label");
    auto w = g.on("/job:ps/task:0", [&] { return variable<float, 8, 16>(g, "w", glorot()); });
    auto u = g.on("/job:ps/task:1", [&] { return variable<float, 16, 2>(g, "u", glorot()); });
    auto h = g.on("/job:worker/task:0", [&] { return dropout(relu(matmul(x, w)), 0.5, true); });
    auto loss = g.on("/job:worker/task:1", [&] { return mean(square(matmul(h, u) - label)); });
    auto train = adam{.rate = 0.1f}.minimize(loss);
    auto s = make(g);
    s->run(initializer(g));
    std::vector<tensor> all;
    for (int i = 0; i < 5; ++i)
      all.push_back(s->run({{x, test::digits(3 + i % 2, 8)}, {label, test::digits(3 + i % 2, 2)}}, loss, train));
    return all;
  };
  auto const cluster = two_jobs();
  auto const here =
      losses([](graph& g) { return std::make_unique<session>(g, session_options{.soft_placement = true}); });
  auto const there = losses([&](graph& g) { return std::make_unique<session>(g, cluster.target()); });
  for (std::size_t i = 0; i < here.size(); ++i) EXPECT_TRUE(same_bits(here[i], there[i])) << i;
}

TEST(local_cluster, a_variable_is_found_where_it_lies_whichever_task_comes_first) {
  auto const cluster = two_jobs();
  graph g;
  auto x = placeholder<float>(g, "x");
  auto v = variable(constant(g, 1.f), "v");
  auto up = assign_add(v, x);
  session one(g, cluster.target("/job:worker/task:1")), two(g, cluster.target("/job:ps/task:0"));
  one.run(initializer(g));
  EXPECT_TRUE(cluster.state("/job:worker/task:1").find_variable("v"));
  two.run({{x, 2.f}}, up);
  EXPECT_EQ(one.run(v), 3.f);
  EXPECT_FALSE(cluster.state("/job:ps/task:0").find_variable("v"));
}

TEST(local_cluster, a_variable_may_have_other_extents_in_each_step) {
  auto const cluster = two_jobs();
  graph g;
  auto x = placeholder<float, "n">(g, "x");
  auto v = g.on("/job:ps/task:0", [&] { return variable<float, unknown>(g, "v"); });
  auto set = assign(v, x);
  auto total = g.on("/job:worker/task:1", [&] { return sum(exp(v)); });
  session s(g, cluster.target());
  s.run({{x, vector<float>({0, 0})}}, set);
  EXPECT_EQ(s.run(total), 2.f);
  s.run({{x, vector<float>({0, 0, 0, 0, 0})}}, set);
  EXPECT_EQ(s.run(total), 5.f);
}

TEST(local_cluster, deals_variables_of_a_job_out_to_its_tasks) {
  auto const cluster = two_jobs();
  graph g;
  g.on("/job:ps", [&] {
    (void)variable<float, 100>(g, "large", zeros());
    (void)variable<float, 10>(g, "a", zeros());
    (void)variable<float, 10>(g, "b", zeros());
  });
  (void)variable<float, 5>(g, "free", zeros());
  session s(g, cluster.target("/job:worker/task:1"));
  s.run(initializer(g));
  EXPECT_TRUE(cluster.state("/job:ps/task:0").find_variable("large"));
  EXPECT_TRUE(cluster.state("/job:ps/task:1").find_variable("a"));
  EXPECT_TRUE(cluster.state("/job:ps/task:1").find_variable("b"));
  EXPECT_TRUE(cluster.state("/job:worker/task:1").find_variable("free"));
}

TEST(local_cluster, a_task_that_has_lost_its_variables_gets_them_back_while_others_train) {
  auto const cluster = two_jobs();
  graph g;
  auto const on_ps = [&](int task, std::string const& name) {
    return g.on("/job:ps/task:" + std::to_string(task), [&] { return variable<float, 8>(g, name, zeros()); });
  };
  auto const kept = on_ps(0, "kept"), lost = on_ps(1, "lost");
  auto const train = adam{.rate = 0.01f}.minimize(sum(square(expr(kept) - 1.f)) + sum(square(expr(lost) - 1.f)));
  session chief(g, cluster.target("/job:worker/task:0")), other(g, cluster.target("/job:worker/task:1"));
  chief.run(initializer(g));
  std::atomic<int> steps = 0, losses = 0;
  std::atomic<bool> is_to_lose = false;
  std::jthread const trains([&](std::stop_token end) {
    while (!end.stop_requested()) try {
        if (is_to_lose.exchange(false)) {  // between two steps: those that run when a process is lost fail
          cluster.state("/job:ps/task:1").reset();
          ++losses, losses.notify_one();
        }
        other.run(train);
        ++steps;
      } catch (error const& e) {
        EXPECT_EQ(e.code(), code::failed_precondition) << e.what();  // a variable has no value
      }
  });
  auto const missing = initializer(g, only_missing);
  for (int i = 0; i < 20; ++i) {
    is_to_lose = true;
    losses.wait(i);
    chief.run(missing);
    for (auto const before = steps.load(); steps.load() < before + 2;) std::this_thread::yield();
    for (auto const& v : {kept, lost}) {
      auto const now = chief.get(v);
      for (float each : now.span<float>()) EXPECT_TRUE(std::isfinite(each)) << v.name();
    }
  }
  auto const at_ps = cluster.state("/job:ps/task:0").find_variable("kept");
  EXPECT_GT(at_ps->read().at<float>(0), 0) << "what had a value was trained on";
}

TEST(local_cluster, a_session_on_tasks_has_no_state_and_no_devices_of_its_own) {
  auto const cluster = two_jobs();
  graph g;
  auto v = variable(constant(g, 1.f), "v");
  session s(g, cluster.target());
  s.run(initializer(g));
  EXPECT_EQ(thrown_by([&] { s.state().variable("v", v.type()); }).code(), code::failed_precondition);
  EXPECT_EQ(thrown_by([&] { session(g, cluster.target(), {.devices = {emulated("accelerator:0", {})}}); }).code(),
            code::invalid_argument);
  EXPECT_EQ(thrown_by([&] { session(g, target{{nullptr}}); }).code(), code::invalid_argument);
  session_options own_state{.state = std::make_shared<container>()};
  EXPECT_EQ(thrown_by([&] { session(g, two_jobs().target(), own_state); }).code(), code::invalid_argument);
}

TEST(local_cluster, a_loop_runs_where_its_variables_lie) {
  auto const cluster = two_jobs();
  graph g;
  auto x = placeholder<float>(g, "x");
  auto v = g.on("/job:ps/task:1", [&] { return variable(constant(g, 2.f), "v"); });
  auto y = while_loop([](auto a) { return a < 100.f; }, [&](auto a) { return a * v; }, x);
  session s(g, cluster.target());
  s.run(initializer(g));
  EXPECT_EQ(s.run({{x, 1.f}}, y), 128.f);
  EXPECT_EQ(s.explain({{x, 1.f}}, y, stages::place).find("several tasks"), std::string::npos);
}

// Runs a graph in one process and on tasks, and expects the same bits of all fetches.
template <class Record> void expect_same_bits(Record const& record) {
  auto const run = [&](auto const& make) {
    graph g(11);
    std::vector<feed> feeds;
    std::vector<value> fetched = record(g, feeds);
    auto s = make(g);
    s->run(initializer(g));
    std::vector<tensor> all;
    if (s->devices().size() > 1) {
      auto const text = s->explain(feeds, fetched[0], stages::place);
      EXPECT_NE(text.find("several tasks"), std::string::npos) << text;
    }
    for (int i = 0; i < 3; ++i)
      for (auto const& f : fetched) all.push_back(s->run(feeds, f, timeout(std::chrono::seconds(60))));
    return all;
  };
  auto const cluster = two_jobs();
  auto const here = run([](graph& g) { return std::make_unique<session>(g, session_options{.soft_placement = true}); });
  for (auto execution : {execution::automatic, execution::sequential}) {
    auto const there = run([&](graph& g) {
      return std::make_unique<session>(g, cluster.target(), session_options{.execution = execution});
    });
    for (auto const& name : {"/job:ps/task:0", "/job:ps/task:1", "/job:worker/task:0", "/job:worker/task:1"})
      cluster.state(name).reset();
    for (std::size_t i = 0; i < here.size(); ++i) EXPECT_TRUE(same_bits(here[i], there[i])) << i;
  }
}

TEST(local_cluster, a_branch_is_taken_on_several_tasks) {
  for (bool which : {false, true})
    expect_same_bits([&](graph& g, std::vector<feed>& feeds) -> std::vector<value> {
      auto x = placeholder<float, 4>(g, "x");
      auto p = placeholder<bool>(g, "p");
      feeds = {{x, vector<float>({1, 2, 3, 4})}, {p, which}};
      auto early = g.on("/job:worker/task:1", [&] { return exp(x); });
      auto v = g.on("/job:ps/task:1", [&] { return variable(constant(g, 3.f), "v"); });
      auto y = cond(
          p,
          [&] {
            auto a = g.on("/job:worker/task:0", [&] { return early * v; });
            return g.on("/job:worker/task:1", [&] { return a + early; });
          },
          [&] { return g.on("/job:ps/task:0", [&] { return x - early; }); });
      auto z = g.on("/job:worker/task:0", [&] { return sum(y); });
      return {y, z};
    });
}

TEST(local_cluster, a_loop_runs_on_several_tasks) {
  expect_same_bits([](graph& g, std::vector<feed>& feeds) -> std::vector<value> {
    auto x = placeholder<float, 4>(g, "x");
    feeds = {{x, vector<float>({1, 2, 3, 4})}};
    auto v = g.on("/job:ps/task:1", [&] { return variable(constant(g, 3.f), "v"); });
    auto w = g.on("/job:ps/task:0", [&] { return variable(constant(g, 0.5f), "w"); });
    auto [n, y, seen] = while_loop([](auto i, auto, auto) { return i < 7; },
                                   [&](auto i, auto a, auto b) {
                                     auto c = g.on("/job:worker/task:0", [&] { return tanh(a * v); });
                                     auto d = g.on("/job:worker/task:1", [&] { return c * w + b; });
                                     return std::tuple(i + 1, g.on("/job:worker/task:0", [&] { return d + a; }), c);
                                   },
                                   constant(g, 0), x, x);
    return {n, y, seen};
  });
}

TEST(local_cluster, a_loop_on_several_tasks_draws_updates_and_nests) {
  expect_same_bits([](graph& g, std::vector<feed>& feeds) -> std::vector<value> {
    auto x = placeholder<float, 4>(g, "x");
    feeds = {{x, vector<float>({1, 2, 3, 4})}};
    auto v = g.on("/job:ps/task:1", [&] { return variable<float, 4>(g, "v", zeros()); });
    auto [n, y] = while_loop(
        [](auto i, auto) { return i < 5; },
        [&](auto i, auto a) {
          auto noise = g.on("/job:worker/task:1", [&] { return uniform<float, 4>(g); });
          auto up = assign_add(v, g.on("/job:worker/task:0", [&] { return a * noise; }));
          auto inner = while_loop([](auto k, auto) { return k < 3; },
                                  [&](auto k, auto b) {
                                    auto c = g.on("/job:worker/task:0", [&] { return b * 0.5f; });
                                    return std::tuple(k + 1, g.on("/job:worker/task:1", [&] { return c + up; }));
                                  },
                                  constant(g, 0), a);
          auto taken = cond(
              i < 2, [&] { return g.on("/job:ps/task:0", [&] { return std::get<1>(inner) * 2.f; }); },
              [&] { return std::get<1>(inner); });
          return std::tuple(i + 1, taken);
        },
        constant(g, 0), x);
    return {y, n};
  });
}

// Each iteration sends 80 KB to a task that waits at a queue.
TEST(local_cluster, a_loop_that_only_sends_keeps_to_the_pace_of_its_receiver) {
  auto const cluster = two_jobs();
  constexpr int n = 300, ahead = 4;
  constexpr std::int64_t floats = 20000;
  graph g;
  auto q = g.on("/job:worker/task:1", [&] { return fifo_queue<of<float>>(g, {.capacity = n}, "pace"); });
  auto one = placeholder<float>(g, "one");
  auto put = q.enqueue(one);
  auto x = placeholder<float, floats>(g, "x");
  auto [i, total] = while_loop([&](auto k, auto) { return k < n; },
                               [&](auto k, auto sum_of) {
                                 auto made = g.on("/job:worker/task:0", [&] { return x * cast<float>(k); });
                                 auto next =
                                     g.on("/job:worker/task:1", [&] { return sum_of + sum(made) * q.dequeue(); });
                                 return std::tuple(k + 1, next);
                               },
                               constant(g, 0), constant(g, 0.f), parallel_iterations(ahead));
  session s(g, cluster.target());
  std::vector<float> first(floats);
  first[0] = 1;
  std::promise<float> done;
  host_allocator().reset_peak();
  auto const before = host_allocator().usage().current;
  s.start({{x, tensor::adopt(first, shape{floats})}}, total,
          [&](auto const& r) { done.set_value(r ? float(*r) : -1.f); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // it could run far ahead
  for (int k = 0; k < n; ++k) s.run({{one, 1.f}}, put);
  EXPECT_EQ(done.get_future().get(), static_cast<float>(n * (n - 1) / 2));
  auto const most = host_allocator().usage().peak - before;
  EXPECT_LT(most, (ahead + 20) * static_cast<std::int64_t>(floats * sizeof(float))) << "of " << n << " values";
}

TEST(local_cluster, loops_within_loops_keep_to_the_pace_of_their_receivers) {
  auto const cluster = two_jobs();
  constexpr int n = 40;
  graph g;
  auto v = placeholder<float>(g, "x");
  auto [i, total] =
      while_loop([&](auto k, auto) { return k < n; },
                 [&](auto k, auto sum) {
                   auto [j, inner] =
                       while_loop([&](auto m, auto) { return m < n; },
                                  [&](auto m, auto part) {
                                    auto made = g.on("/job:worker/task:0", [&] { return v * cast<float>(k * n + m); });
                                    auto next = g.on("/job:worker/task:1", [&] { return part + tanh(made); });
                                    return std::tuple(m + 1, next);
                                  },
                                  constant(g, 0), sum, parallel_iterations(2));
                   return std::tuple(k + 1, inner);
                 },
                 constant(g, 0), constant(g, 0.f), parallel_iterations(3));
  session here(g, {.soft_placement = true}), s(g, cluster.target());
  for (int round = 0; round < 3; ++round)
    EXPECT_EQ(float(s.run({{v, .001f}}, total)), float(here.run({{v, .001f}}, total)));
}

TEST(local_cluster, a_queue_lies_where_a_node_in_a_body_asks_for_it) {
  auto const cluster = two_jobs();
  graph g;
  auto q = fifo_queue<of<float>>(g, {.capacity = 5}, "q");
  auto const one = placeholder<float>(g, "one");
  auto const put = q.enqueue(one);
  auto [i, total] = while_loop([&](auto k, auto) { return k < 3; },
                               [&](auto k, auto sum) {
                                 auto next = g.on("/job:worker/task:1", [&] { return sum + q.dequeue(); });
                                 return std::tuple(k + 1, next);
                               },
                               constant(g, 0), constant(g, 0.f));
  session s(g, cluster.target());
  for (float each : {1.f, 2.f, 3.f}) s.run({{one, each}}, put);
  EXPECT_EQ(float(s.run(total, timeout(std::chrono::seconds(30)))), 6);
}

TEST(local_cluster, the_derivative_of_a_loop_on_several_tasks_runs_on_them_too) {
  expect_same_bits([](graph& g, std::vector<feed>& feeds) -> std::vector<value> {
    auto x = placeholder<float, 5, 4>(g, "x");
    feeds = {{x, test::digits(5, 4)}};
    auto w = g.on("/job:ps/task:1", [&] { return variable<float, 4, 4>(g, "w", glorot()); });
    auto u = g.on("/job:ps/task:0", [&] { return variable<float, 4, 4>(g, "u", glorot()); });
    auto [n, h] =
        while_loop([](auto i, auto) { return i < 4; },
                   [&](auto i, auto a) {
                     auto b = g.on("/job:worker/task:0", [&] { return tanh(matmul(a, w)); });
                     return std::tuple(i + 1, g.on("/job:worker/task:1", [&] { return a + tanh(matmul(b, u)); }));
                   },
                   constant(g, 0), x);
    auto loss = sum(square(h));
    auto [dw, du, dx] = gradients(loss, w, u, x);
    return {loss, dw, du, dx, n};
  });
}

TEST(local_cluster, many_steps_of_several_sessions_run_at_once) {
  auto const cluster = two_jobs();
  constexpr int n = 40;
  auto const client = [&](std::string_view first) {
    graph g;
    auto x = placeholder<float>(g, "x");
    auto a = g.on("/job:worker/task:0", [&] { return x + 1.f; });
    auto b = g.on("/job:worker/task:1", [&] { return a * 2.f; });
    auto c = g.on("/job:ps/task:0", [&] { return b - x; });
    auto v = g.on("/job:ps/task:1", [&] { return variable(constant(g, 0.f), "total"); });
    auto add = assign_add(v, c);
    std::atomic<int> ended = 0, right = 0;
    session s(g, cluster.target(first));  // waits until its callbacks have returned
    for (int i = 0; i < n; ++i)
      s.start({{x, static_cast<float>(i)}}, c, operation(add), [&, i](auto const& r) {
        right += r && *r == static_cast<float>(i + 2);
        ++ended;
        ended.notify_all();
      });
    for (int seen = ended; seen < n; seen = ended) ended.wait(seen);
    EXPECT_EQ(right, n);
  };
  {
    graph g;
    g.on("/job:ps/task:1", [&] { return variable(constant(g, 0.f), "total"); });
    session(g, cluster.target()).run(initializer(g));
  }
  std::thread other([&] { client("/job:ps/task:0"); });
  client("/job:worker/task:0");
  other.join();
  auto const total = cluster.state("/job:ps/task:1").find_variable("total")->read().item<float>();
  EXPECT_EQ(total, 2.f * n * (n + 3) / 2.f);
}

TEST(local_cluster, two_steps_meet_at_a_queue_of_another_task) {
  auto const cluster = two_jobs();
  graph g;
  auto q = g.on("/job:ps/task:0", [&] { return fifo_queue<of<float>>(g, {.capacity = 1}, "q"); });
  auto x = placeholder<float>(g, "x");
  auto put = q.enqueue(g.on("/job:worker/task:0", [&] { return exp(x); }));
  auto got = g.on("/job:worker/task:1", [&] { return log(q.dequeue()); });
  session s(g, cluster.target());
  std::thread producer([&] {
    for (int i = 0; i < 50; ++i) s.run({{x, 1.f}}, put, timeout(std::chrono::seconds(60)));
  });
  for (int i = 0; i < 50; ++i) EXPECT_FLOAT_EQ(s.run(got, timeout(std::chrono::seconds(60))), 1.f);
  producer.join();
}

TEST(local_cluster, a_failure_ends_what_waits_for_it_on_other_tasks) {
  auto const cluster = two_jobs();
  graph g;
  auto i = placeholder<std::int32_t>(g, "i");
  auto broken = g.on("/job:worker/task:1", [&] { return gather(constant(g, vector<float>({1, 2, 3})), i); });
  auto q = g.on("/job:ps/task:1", [&] { return fifo_queue<of<float>>(g, {.capacity = 1}, "q"); });
  auto y = g.on("/job:worker/task:0", [&] { return exp(broken) + q.dequeue(); });
  session s(g, cluster.target());
  for (int n = 0; n < 20; ++n) {
    auto const e = thrown_by([&] { s.run({{i, 7}}, y, timeout(std::chrono::seconds(60))); });
    EXPECT_EQ(e.node(), broken.origin().name) << e.what();
  }
}

TEST(local_cluster, observers_and_prints_hear_of_all_tasks) {
  struct watcher final : observer {
    std::mutex mutex;
    std::set<std::string> names;
    int begun = 0, ended = 0;
    void step_begins(std::uint64_t) override { ++begun; }
    void node_ran(node_record const& r) override {
      std::lock_guard lock(mutex);
      names.emplace(r.name);
    }
    void step_ended(std::uint64_t) override { ++ended; }
  } seen;
  auto const cluster = two_jobs();
  graph g;
  auto x = placeholder<float>(g, "x");
  auto a = g.on("/job:worker/task:0", [&] { return exp(x); });
  auto b = g.on("/job:worker/task:1", [&] { return print(tanh(a), "tanh is"); });
  std::string said;
  session s(g, cluster.target(), {.log = [&](std::string_view line) { said += line; }});
  s.run({{x, 0.f}}, b, observe(seen));
  EXPECT_TRUE(seen.names.contains(a.origin().name));
  EXPECT_EQ(seen.begun, 1);
  EXPECT_EQ(seen.ended, 1);
  EXPECT_NE(said.find("tanh is"), std::string::npos) << said;
}

TEST(local_cluster, tasks_have_devices_of_their_own) {
  local_cluster const cluster({{"worker", 2}}, [](device_name const&) {
    return task_options{.threads = 1, .devices = {emulated("accelerator:0", {.memory = 1 << 20})}};
  });
  graph g;
  auto x = placeholder<float, 4>(g, "x");
  auto y = g.on("/job:worker/task:1/device:accelerator:0", [&] { return exp(x) * 2.f; });
  auto z = g.on("/job:worker/task:0/device:accelerator", [&] { return y + 1.f; });
  session s(g, cluster.target()), here(g, {.soft_placement = true});
  EXPECT_EQ(s.devices().size(), 4u);
  auto const in = vector<float>({0, 1, 2, 3});
  EXPECT_TRUE(same_bits(tensor(s.run({{x, in}}, z)).to(host), tensor(here.run({{x, in}}, z))));
}

TEST(local_cluster, says_what_each_task_runs_and_why) {
  auto const cluster = two_jobs();
  graph g;
  auto x = placeholder<float>(g, "x");
  auto a = g.on("/job:worker/task:0", [&] { return exp(x); });
  auto b = g.on("/job:worker/task:1", [&] { return tanh(a); });
  session s(g, cluster.target());
  auto const text = s.explain({{x, 0.f}}, b, stages::place);
  EXPECT_NE(text.find("exp   /job:worker/task:0  asked for by g.on"), std::string::npos) << text;
  EXPECT_NE(text.find("share of /job:worker/task:1"), std::string::npos) << text;
}

TEST(local_cluster, names_what_it_has) {
  auto const cluster = two_jobs();
  auto const e = thrown_by([&] { (void)cluster.state("/job:ps/task:7"); });
  EXPECT_EQ(e.code(), code::not_found);
  EXPECT_NE(e.message().find("/job:worker/task:0"), std::string::npos) << e.message();
  EXPECT_EQ(thrown_by([] { local_cluster({}); }).code(), code::invalid_argument);
  EXPECT_EQ(thrown_by([] { local_cluster({{"a", 1}, {"a", 1}}); }).code(), code::invalid_argument);
  EXPECT_EQ(thrown_by([] { local_cluster({{"not a name", 1}}); }).code(), code::invalid_argument);
  graph g;
  auto x = placeholder<float>(g, "x");
  auto y = g.on("/job:chief", [&] { return x * 2.f; });
  session s(g, cluster.target());
  auto const unknown = thrown_by([&] { s.run({{x, 1.f}}, y); });
  EXPECT_EQ(unknown.code(), code::invalid_argument) << unknown.what();
}

TEST(local_cluster, updates_variables_where_they_lie_whatever_is_asked_for_around_an_optimizer) {
  auto const cluster = two_jobs();
  graph g;
  auto x = placeholder<float, 3>(g, "x");
  auto w = g.on("/job:ps/task:1", [&] { return variable<float, 3>(g, "w", zeros()); });
  value const there = g.on("/job:worker/task:0", [&] { return value(exp(x)); });
  auto const loss = sum(square(w - x));
  auto const minimize = [&] { return momentum{0.1f}.minimize(loss); };
  auto const on_worker = g.on("/job:worker/task:1", minimize);
  auto const near_worker = g.near(there, minimize);
  auto const average = g.on("/job:worker/task:1", [&] { return moving_averages({w}).update(); });
  session s(g, cluster.target());
  s.run(initializer(g));
  for (auto const& step : {on_worker, near_worker, average}) s.run({{x, vector<float>({1, 10, 100})}}, step);
  EXPECT_TRUE(cluster.state("/job:ps/task:1").find_variable("w/momentum"));
  EXPECT_NE(s.run(value(w)).to(host).at<float>(0), 0);
}

TEST(local_cluster, runs_near_a_variable_what_is_recorded_for_another_task) {
  auto const cluster = two_jobs();
  graph g;
  auto w = g.on("/job:ps/task:1", [&] { return variable<float, 3>(g, "w", zeros()); });
  auto y = g.on("/job:worker/task:1", [&] { return g.near(w, [&] { return sum(square(w + 1.f)); }); });
  session s(g, cluster.target());
  s.run(initializer(g));
  EXPECT_EQ(s.run(y).to(host).item<float>(), 3);
  EXPECT_NE(s.explain({}, y, stages::place).find("/job:ps/task:1"), std::string::npos);
}

}  // namespace
}  // namespace rill
