#include "rill/run/tasks/place_on_tasks.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "rill/rill.hpp"

namespace rill {
namespace {

using std::chrono::seconds;

local_cluster two_jobs() {
  return local_cluster({{"worker", 2}, {"ps", 2}}, [](device_name const&) { return task_options{.threads = 1}; });
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

/// Records what `f` records to run on a task of "worker".
template <class F> auto on_worker(graph& g, int task, F const& f) {
  return g.on("/job:worker/task:" + std::to_string(task), f);
}

// ---------------------------------------------------------------------------------------------------------------------
// State by name

TEST(state_on_tasks, is_one_queue_if_its_nodes_ask_for_a_job_or_a_type) {
  auto const cluster = two_jobs();
  for (std::string wish : {"/job:ps", "/job:worker", "cpu:0", "/job:ps/device:cpu"}) {
    graph g;
    auto x = placeholder<float>(g, "x");
    auto made = g.on("/job:ps/task:1", [&] { return x * 2.f; });
    auto q = fifo_queue<of<float>>(g, {.capacity = 10}, "q" + std::to_string(wish.size()));
    auto put = g.on(wish, [&] { return q.enqueue(made); });
    auto size = q.size();  // follows the others
    auto take = g.on(wish, [&] { return q.dequeue(); });
    session s(g, cluster.target()), other(g, cluster.target("/job:worker/task:1"));
    s.run({{x, 1.f}}, put);
    other.run({{x, 2.f}}, put);
    EXPECT_EQ(std::int64_t(s.run(size)), 2) << wish;
    EXPECT_EQ(std::int64_t(other.run(size)), 2) << wish;
    EXPECT_EQ(other.run(take, timeout(seconds(60))), 2.f) << wish;
    EXPECT_EQ(s.run(take, timeout(seconds(60))), 4.f) << wish;
  }
}

TEST(state_on_tasks, lies_on_a_task_that_suits_all_of_its_nodes) {
  auto const cluster = two_jobs();
  graph g;
  auto x = placeholder<float>(g, "x");
  auto q = fifo_queue<of<float>>(g, {.capacity = 10}, "q");
  auto put = g.on("/job:ps", [&] { return q.enqueue(x); });
  auto take = g.on("/job:ps/task:1", [&] { return q.dequeue(); });
  session s(g, cluster.target());
  s.run({{x, 3.f}}, put);
  auto const text = s.explain({{x, 3.f}}, put, stages::place);
  EXPECT_NE(text.find("share of /job:ps/task:1"), std::string::npos) << text;
  EXPECT_EQ(s.run(take, timeout(seconds(60))), 3.f);
}

TEST(state_on_tasks, is_one_accumulator_and_one_mutex) {
  auto const cluster = two_jobs();
  graph g;
  auto x = placeholder<float>(g, "x"), y = placeholder<float>(g, "y");
  auto a = g.on("/job:ps/task:0", [&] { return x * 2.f; }), b = g.on("/job:ps/task:1", [&] { return y * 2.f; });
  accumulator<of<float>> sums(g, "sums");
  auto add = g.on("/job:ps", [&] { return sums.apply(b, constant(g, std::int64_t{0})); });
  auto mean = g.on("/job:ps", [&] { return sums.average(1); });
  mutex m(g, "m");
  auto const section = [&](auto v) {
    return g.on("/job:ps", [&] { return g.after({v}, [&] { return m.locked([&] { return v + 1.f; }); }); });
  };
  auto one = section(a), two = section(b);
  session s(g, cluster.target());
  s.run({{y, 2.f}}, add);
  EXPECT_EQ(s.run(mean, timeout(seconds(60))), 4.f);
  auto const text = s.explain({{x, 1.f}, {y, 1.f}}, one, two, stages::place);
  for (auto const& name : {"mutex_acquire ", "mutex_acquire_1 ", "mutex_release ", "mutex_release_1 "}) {
    auto const at = text.find(name);
    ASSERT_NE(at, std::string::npos) << text;
    auto const line = text.substr(at, text.find('\n', at) - at);
    EXPECT_NE(line.find("/job:ps/task:0"), std::string::npos) << line;
  }
}

TEST(state_on_tasks, follows_a_node_in_a_function_that_is_called_on_a_task) {
  auto const cluster = two_jobs();
  graph g;
  auto x = placeholder<float>(g, "x");
  auto q = fifo_queue<of<float>>(g, {.capacity = 10}, "q");
  auto take = rill::function<"take", of<float>>(g, [&](auto a) { return a + q.dequeue(); });
  auto taken = g.on("/job:ps/task:1", [&] { return take(x); });
  auto put = q.enqueue(x);
  session s(g, cluster.target());
  s.run({{x, 3.f}}, put);
  EXPECT_EQ(s.run({{x, 1.f}}, taken, timeout(seconds(60))), 4.f);
}

TEST(state_on_tasks, is_refused_if_its_nodes_ask_for_different_tasks) {
  auto const cluster = two_jobs();
  for (bool soft : {false, true}) {
    graph g;
    auto x = placeholder<float>(g, "x");
    auto q = fifo_queue<of<float>>(g, {.capacity = 10}, "q");
    auto put = g.on("/job:ps", [&] { return q.enqueue(x); });
    auto take = g.on("/job:worker/task:1", [&] { return q.dequeue(); });
    session s(g, cluster.target(), {.soft_placement = soft});
    for (auto const& e : {thrown_by([&] { s.run({{x, 1.f}}, put); }), thrown_by([&] { s.run(take); })}) {
      EXPECT_EQ(e.code(), code::invalid_argument);
      EXPECT_EQ(e.message(),
                "the nodes of queue 'q' must lie together but ask for different tasks: 'q/enqueue' asks for "
                "'/job:ps', 'q/dequeue' asks for '/job:worker/task:1': change a constraint");
    }
  }
}

TEST(state_on_tasks, stays_where_a_step_has_put_it_while_the_graph_grows) {
  auto const cluster = two_jobs();
  graph g;
  auto x = placeholder<float>(g, "x");
  auto q = fifo_queue<of<float>>(g, {.capacity = 10}, "q");
  auto put = q.enqueue(x);
  session s(g, cluster.target());
  s.run({{x, 1.f}}, put);
  auto elsewhere = g.on("/job:ps/task:1", [&] { return q.dequeue(); });
  auto const e = thrown_by([&] { s.run(elsewhere); });
  EXPECT_EQ(e.code(), code::invalid_argument);
  EXPECT_EQ(e.message(),
            "the queue 'q' lies on '/job:worker/task:0', where an earlier step placed it, but "
            "'q/dequeue' asks for '/job:ps/task:1': record all of its nodes before the first step, or change the "
            "constraint");
}

TEST(state_on_tasks, lies_where_the_variable_asks_to_be_that_it_is_recorded_near) {
  auto const cluster = two_jobs();
  graph g;
  auto x = placeholder<float>(g, "x");
  auto v = g.on("/job:ps/task:1", [&] { return variable(constant(g, 1.f), "v"); });
  auto q = fifo_queue<of<float>>(g, {.capacity = 10}, "q");
  auto put = g.near(v, [&] { return q.enqueue(x); });
  auto take = q.dequeue();
  session s(g, cluster.target());
  s.run(initializer(g));
  s.run({{x, 5.f}}, put);
  EXPECT_EQ(s.run(take, timeout(seconds(60))), 5.f);
}

// ---------------------------------------------------------------------------------------------------------------------
// Branches, loops and calls that draw random numbers

// Runs what is recorded on tasks, and expects the bits of one process.
template <class Record> void expect_same_bits(Record const& record) {
  auto const run = [&](auto const& make) {
    graph g(11);
    std::vector<feed> feeds;
    value const y = record(g, feeds);
    auto s = make(g);
    return tensor(s->run(feeds, y, timeout(seconds(60))));
  };
  auto const cluster = two_jobs();
  auto const here = run([](graph& g) { return std::make_unique<session>(g, session_options{.soft_placement = true}); });
  auto const there = run([&](graph& g) { return std::make_unique<session>(g, cluster.target()); });
  EXPECT_TRUE(same_bits(here, there));
}

TEST(draws_on_tasks, may_stand_in_a_branch_on_any_task) {
  expect_same_bits([](graph& g, std::vector<feed>& feeds) -> value {
    auto x = placeholder<float>(g, "x");
    feeds = {{x, 1.f}};
    return cond(
        x > 0.f, [&] { return on_worker(g, 1, [&] { return x + uniform<float>(g); }); },
        [&] { return on_worker(g, 1, [&] { return x * 2.f; }); });
  });
}

TEST(draws_on_tasks, may_stand_in_loops_on_any_task) {
  expect_same_bits([](graph& g, std::vector<feed>& feeds) -> value {
    auto x = placeholder<float, "n">(g, "x");
    feeds = {{x, vector<float>({1, 2, 3, 4})}};
    auto rows = map([&](auto r) { return on_worker(g, 1, [&] { return r + uniform<float>(g); }); }, x);
    return while_loop([&](auto v) { return on_worker(g, 1, [&] { return sum(v) < 100.f; }); },
                      [&](auto v) { return on_worker(g, 1, [&] { return v * 2.f + uniform<float>(g); }); }, rows);
  });
}

TEST(draws_on_tasks, may_stand_in_functions_on_any_task_and_in_branches_within) {
  expect_same_bits([](graph& g, std::vector<feed>& feeds) -> value {
    auto x = placeholder<float>(g, "x");
    feeds = {{x, 1.f}};
    auto f = rill::function<"f", of<float>>(g, [&](auto a) {
      return on_worker(g, 1, [&] {
        return cond(a > 0.f, [&] { return tanh(a) + uniform<float>(g); }, [&] { return a; }) + uniform<float>(g);
      });
    });
    return f(f(x));
  });
}

TEST(draws_on_tasks, may_stand_in_dropout_that_is_trained_on_any_task) {
  auto const cluster = two_jobs();
  auto const trained = [&](auto const& make) {
    graph g(5);
    auto x = placeholder<float, 4, 3>(g, "x");
    auto training = placeholder<bool>(g, "training");
    auto w = variable<float, 3, 2>(g, "w", glorot());
    auto h = on_worker(g, 1, [&] { return dropout(matmul(x, w), 0.5, training); });
    auto train = gradient_descent{0.1f}.minimize(mean(square(h)));
    auto s = make(g);
    s->run(initializer(g));
    auto const in = tensor::adopt(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, shape{4, 3});
    for (int i = 0; i < 3; ++i) s->run({{x, in}, {training, tensor(true)}}, train, timeout(seconds(60)));
    return tensor(s->run(w));
  };
  auto const here =
      trained([](graph& g) { return std::make_unique<session>(g, session_options{.soft_placement = true}); });
  auto const there = trained([&](graph& g) { return std::make_unique<session>(g, cluster.target()); });
  EXPECT_TRUE(same_bits(here, there));
}

TEST(primitives_on_tasks, run_on_the_task_that_they_ask_for) {
  auto const cluster = two_jobs();
  graph g;
  auto x = placeholder<float>(g, "x");
  auto y = on_worker(g, 1, [&] {
    auto const [no, yes] = tagged::switch_(x, x > 0.f);
    return std::get<0>(tagged::merge(no * 2.f, yes * 3.f));
  });
  session s(g, cluster.target());
  EXPECT_EQ(s.run({{x, 2.f}}, y), 6.f);
}

// ---------------------------------------------------------------------------------------------------------------------
// Constraints around branches, loops and calls

TEST(constraints_on_tasks, around_a_branch_or_loop_are_for_the_nodes_in_its_bodies) {
  auto const cluster = two_jobs();
  graph g;
  auto x = placeholder<float>(g, "x");
  auto v = g.on("/job:ps/task:0", [&] { return variable(constant(g, 1.f), "v"); });
  auto w = g.on("/job:ps/task:1", [&] { return variable(constant(g, 2.f), "w"); });
  auto loop = on_worker(g, 0, [&] {
    return while_loop([&](auto a) { return on_worker(g, 1, [&] { return a < 10.f; }); },
                      [&](auto a) { return on_worker(g, 1, [&] { return a + 1.f; }); }, x);
  });
  auto branch = on_worker(g, 0, [&] {
    return cond(x > 0.f, [&] { return on_worker(g, 1, [&] { return x * 2.f; }); }, [&] { return x * 3.f; });
  });
  auto beside = g.near(v, [&] {
    return cond(
        x > 0.f, [&] { return g.near(w, [&] { return w + x; }); }, [&] { return g.near(w, [&] { return w - x; }); });
  });
  session s(g, cluster.target());
  s.run(initializer(g));
  EXPECT_EQ(s.run({{x, 0.f}}, loop, timeout(seconds(60))), 10.f);
  EXPECT_EQ(s.run({{x, 1.f}}, branch, timeout(seconds(60))), 2.f);
  EXPECT_EQ(s.run({{x, 0.f}}, branch, timeout(seconds(60))), 0.f);
  EXPECT_EQ(s.run({{x, 1.f}}, beside, timeout(seconds(60))), 3.f);
  auto const text = s.explain({{x, 0.f}}, loop, stages::place);
  EXPECT_EQ(text.find("share of /job:worker/task:0"), std::string::npos) << text;
}

TEST(constraints_on_tasks, of_neighbours_in_both_branches_make_it_run_on_several_tasks) {
  auto const cluster = two_jobs();
  graph g;
  auto x = placeholder<float>(g, "x");
  auto v = g.on("/job:ps/task:0", [&] { return variable(constant(g, 1.f), "v"); });
  auto w = g.on("/job:ps/task:1", [&] { return variable(constant(g, 2.f), "w"); });
  auto y = cond(
      x > 0.f, [&] { return g.near(v, [&] { return x * 2.f; }); }, [&] { return g.near(w, [&] { return x * 3.f; }); });
  session s(g, cluster.target());
  s.run(initializer(g));
  EXPECT_EQ(s.run({{x, 1.f}}, y, timeout(seconds(60))), 2.f);
  EXPECT_NE(s.explain({{x, 1.f}}, y, stages::place).find("several tasks"), std::string::npos);
}

TEST(constraints_on_tasks, around_a_call_are_for_what_its_function_leaves_open) {
  auto const cluster = two_jobs();
  graph g;
  auto x = placeholder<float>(g, "x");
  auto asks = rill::function<"asks", of<float>>(
      g, [&](auto a) { return on_worker(g, 1, [&] { return tanh(a) + uniform<float>(g) * 0.f; }); });
  auto asks_for_type = rill::function<"type", of<float>>(
      g, [&](auto a) { return g.on("cpu", [&] { return tanh(a) + uniform<float>(g) * 0.f; }); });
  auto leaves_open = rill::function<"open", of<float>>(
      g, [&](auto a) { return cond(a > 9.f, [&] { return a; }, [&] { return tanh(a) + uniform<float>(g) * 0.f; }); });
  auto inlined = rill::function<"inlined", of<float>>(
      g, [&](auto a) { return cond(a > 9.f, [&] { return a; }, [&] { return tanh(a); }) + 1.f; });
  session s(g, cluster.target());
  auto const expect_on = [&](value y, std::string const& task) {
    s.run({{x, 0.f}}, y);
    auto const text = s.explain({{x, 0.f}}, y, stages::place);
    auto const at = text.find("share of ");
    EXPECT_EQ(text.find("share of " + task), at) << text;
    EXPECT_EQ(text.find("share of ", at + 1), std::string::npos) << text;
  };
  expect_on(on_worker(g, 0, [&] { return asks(x); }), "/job:worker/task:1");
  expect_on(g.on("/job:ps/task:1", [&] { return asks_for_type(x); }), "/job:ps/task:1");
  expect_on(g.on("/job:ps/task:1", [&] { return leaves_open(x); }), "/job:ps/task:1");
  expect_on(g.on("/job:ps/task:1", [&] { return inlined(x); }), "/job:ps/task:1");
}

TEST(constraints_on_tasks, for_a_type_of_device_in_a_body_put_it_on_a_task_that_has_one) {
  local_cluster const cluster({{"worker", 2}}, [](device_name const& name) {
    task_options o{.threads = 1};
    if (name.task == 1) o.devices = {emulated("accelerator:0", {.memory = 1 << 20})};
    return o;
  });
  graph g;
  auto x = placeholder<float, 4>(g, "x");
  auto y = cond(
      sum(x) > 0.f, [&] { return g.on("accelerator", [&] { return exp(x) * 2.f; }); },
      [&] { return g.on("accelerator:0", [&] { return x - 1.f; }); });
  session s(g, cluster.target()), here(g, {.soft_placement = true});
  auto const in = vector<float>({0, 1, 2, 3});
  EXPECT_TRUE(same_bits(tensor(s.run({{x, in}}, y)).to(host), tensor(here.run({{x, in}}, y))));
}

// ---------------------------------------------------------------------------------------------------------------------
// Soft placement

TEST(soft_placement_on_tasks, reaches_bodies_and_functions) {
  auto const cluster = two_jobs();
  for (std::string wish : {"gpu:0", "/job:away", "/job:worker/task:7"}) {
    graph g;
    auto x = placeholder<float>(g, "x");
    auto const there = [&](auto v) { return g.on(wish, [&] { return v * 2.f; }); };
    auto f = rill::function<"f", of<float>>(g, [&](auto a) { return there(a) + uniform<float>(g) * 0.f; });
    auto y = cond(x > 0.f, [&] { return there(x); }, [&] { return x * 3.f; });
    auto z = while_loop([](auto v) { return v < 10.f; }, there, x);
    auto called = f(x);
    session s(g, cluster.target(), {.soft_placement = true});
    EXPECT_EQ(s.run({{x, 1.f}}, y), 2.f) << wish;
    EXPECT_EQ(s.run({{x, 1.f}}, z), 16.f) << wish;
    EXPECT_EQ(s.run({{x, 1.f}}, called), 2.f) << wish;
    session hard(g, cluster.target());
    for (value each : {value(y), value(z), value(called)})
      EXPECT_EQ(thrown_by([&] { hard.run({{x, 1.f}}, each); }).code(), code::invalid_argument) << wish;
  }
}

TEST(soft_placement_on_tasks, passes_over_a_device_of_a_task_without_a_kernel) {
  local_cluster const cluster({{"worker", 1}}, [](device_name const&) {
    return task_options{.threads = 1, .devices = {emulated("accelerator:0", {.memory = 1 << 20})}};
  });
  graph g;
  auto words = placeholder<std::string, 2>(g, "words");
  auto same = g.on("accelerator:0", [&] { return equal(words, words); });
  std::vector<feed> const fed{{words, vector<std::string>({"a", "b"})}};
  session soft(g, cluster.target(), {.soft_placement = true}), hard(g, cluster.target());
  EXPECT_TRUE(soft.run(fed, same).at<bool>(1));
  EXPECT_EQ(thrown_by([&] { hard.run(fed, same); }).code(), code::invalid_argument);
}

}  // namespace
}  // namespace rill
