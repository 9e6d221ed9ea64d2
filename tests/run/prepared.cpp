#include "rill/run/prepared.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>
#include <thread>
#include <tuple>
#include <vector>

#include "base/sentence.hpp"
#include "rill/ops/array/as.hpp"
#include "rill/ops/array/constant.hpp"
#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/ops/control/while_loop.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/state/assign.hpp"
#include "rill/ops/sum/sum.hpp"
#include "rill/run/session.hpp"

namespace rill {
namespace {

TEST(prepared, is_a_function_of_its_inputs) {
  graph g;
  auto const x = placeholder<float, "n">(g, "x"), y = placeholder<float, "n">(g, "y");
  auto const z = sum(x * y);
  session s(g);
  auto step = s.prepare(inputs(x, y), outputs(z));
  float const a = step(vector<float>({1, 2}), vector<float>({3, 4}));
  EXPECT_EQ(a, 11);
  float const b = step(vector<float>({1, 2, 3}), vector<float>({1, 1, 1}));
  EXPECT_EQ(b, 6);
  float const c = step(vector<float>({1, 2}), vector<float>({3, 4}));
  EXPECT_EQ(c, 11);
}

TEST(prepared, runs_the_operations_among_its_outputs) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const v = variable<float>(g, "v");
  auto const y = x * x;
  session s(g);
  auto step = s.prepare(inputs(x), outputs(y, operation(assign(v, x)), x + x));
  auto const [a, b] = step(3.f);
  EXPECT_EQ(float(a), 9);
  EXPECT_EQ(float(b), 6);
  EXPECT_EQ(float(s.get(v)), 3);
}

TEST(prepared, takes_and_gives_vectors_where_the_number_is_not_known) {
  graph g;
  std::vector<value> x, y;
  for (int i = 0; i < 3; ++i) x.push_back(placeholder(g, of<float>));
  y = {x[0] + x[1], x[2] * x[2]};
  session s(g);
  auto many = s.prepare(x, y);
  auto const results = many({tensor(1.f), tensor(2.f), tensor(4.f)});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].item<float>(), 3);
  EXPECT_EQ(results[1].item<float>(), 16);
  auto const first = expr<of<float>>{x[0]};
  auto one = s.prepare(std::vector<value>{first}, outputs(first + first));
  float const twice = one(std::vector{tensor(5.f)});
  EXPECT_EQ(twice, 10);
  auto from_one = s.prepare(inputs(first), std::vector<value>{first, first});
  EXPECT_EQ(from_one(2.f)[1].item<float>(), 2);
  try {
    many({tensor(1.f)});
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.message(), "a prepared step of 3 inputs was called with 1 tensors");
  }
}

TEST(prepared, runs_targets_and_gives_several_results_or_none) {
  graph g;
  auto const v = variable(constant(g, 0.f), "v");
  auto const update = assign_add(v, constant(g, 1.f));
  session s(g);
  s.run(initializer(g));
  auto count = s.prepare(inputs(), outputs(), operation(update));
  static_assert(std::is_void_v<decltype(count())>);
  count();
  count();
  auto both = s.prepare(inputs(), outputs(v, update));
  auto const [before, after] = both();
  EXPECT_EQ(before.item<float>(), 2);
  EXPECT_EQ(after.item<float>(), 3);
}

TEST(prepared, refuses_tensors_that_do_not_fit_and_goes_on) {
  graph g;
  auto const x = placeholder<float, "n", 2>(g, "x");
  auto const y = neg(x);
  session s(g);
  auto step = s.prepare(inputs(x), outputs(y));
  tensor const fine = matrix<float>({{1, 2}});
  for (int round = 0; round < 2; ++round) {  // before there is a plan, and after
    EXPECT_THROW(step(tensor()), error);
    EXPECT_THROW(step(tensor(matrix<float>({{1, 2, 3}}))), error);
    EXPECT_THROW(step(tensor(matrix<double>({{1, 2}}))), error);
    EXPECT_THROW(step(tensor(1.f)), error);
    EXPECT_EQ(step(fine).at<float>(0, 1), -2);
  }
}

TEST(prepared, takes_numbers_for_scalars_and_erased_handles) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  value const y = placeholder(g, type(dtype::float32), "y");
  session s(g);
  auto step = s.prepare(inputs(x, y), outputs(value(x) - y));
  tensor const difference = step(5.f, 2.f);
  EXPECT_EQ(difference.item<float>(), 3);
  EXPECT_EQ(step(tensor(1.f), 2.f).item<float>(), -1);
  EXPECT_EQ(refusal([&] { step(1.f, 2); }), code::invalid_argument);  // the compiler does not know that y is a float
  EXPECT_EQ(refusal([&] { step(tensor(), 2.f); }), code::invalid_argument);
}

TEST(prepared, refuses_values_of_another_graph_and_empty_ones) {
  graph g, other;
  auto const x = placeholder<float>(other, "x"), mine = placeholder<float>(g, "x");
  session s(g);
  EXPECT_EQ(sentence([&] { s.prepare(inputs(x), outputs(mine)); }),
            "invalid_argument: a prepared step's input belongs to another graph");
  EXPECT_EQ(sentence([&] { s.prepare(inputs(value{}), outputs(mine)); }),
            "invalid_argument: a prepared step's input is an empty handle");
  EXPECT_THROW(s.prepare(inputs(mine), outputs(x)), error);
}

TEST(prepared, can_be_copied_for_each_thread) {
  graph g;
  auto const x = placeholder<float, "n">(g, "x");
  session s(g);
  auto const step = s.prepare(inputs(x), outputs(sum(square(x))));
  std::vector<std::thread> threads;
  std::vector<float> results(4);
  for (std::size_t i = 0; i < results.size(); ++i)
    threads.emplace_back([&, i, mine = step]() mutable {
      auto const fed = tensor::copy<float>(std::vector<float>(i + 1, 2.f), {static_cast<std::int64_t>(i + 1)});
      for (int round = 0; round < 100; ++round) results[i] += float(mine(fed));
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(results, (std::vector<float>{400, 800, 1200, 1600}));
}

TEST(prepared, ends_when_it_is_cancelled) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  session s(g);
  std::stop_source stop;
  auto step = s.prepare(inputs(x), outputs(neg(x)), stop.get_token());
  EXPECT_EQ(float(step(1.f)), -1);
  stop.request_stop();
  EXPECT_EQ(refusal([&] { step(1.f); }), code::cancelled);
}

TEST(prepared, gives_each_call_its_own_time) {
  graph g;
  auto const x = placeholder<int>(g, "x");
  auto const last = while_loop([&](auto i) { return i < x; }, [](auto i) { return i + 1; }, constant(g, 0));
  session s(g);
  auto step = s.prepare(inputs(x), outputs(last), timeout{std::chrono::seconds(20)});
  auto hurried = s.prepare(inputs(x), outputs(last), timeout{std::chrono::nanoseconds(1)});
  EXPECT_EQ(int(step(100)), 100);
  EXPECT_EQ(refusal([&] { hurried(2'000'000'000); }), code::deadline_exceeded);
  EXPECT_EQ(int(step(10)), 10);
  EXPECT_EQ(int(s.run({{x, tensor(3)}}, last, timeout{std::chrono::hours::max()})), 3);
}

TEST(prepared, tells_an_observer_of_each_call) {
  struct counter final : observer {
    int begun = 0, nodes = 0, ended = 0;
    void step_begins(std::uint64_t) override { ++begun; }
    void node_ran(node_record const&) override { ++nodes; }
    void step_ended(std::uint64_t) override { ++ended; }
  } seen;
  graph g;
  auto const x = placeholder<float>(g, "x");
  session s(g);
  auto step = s.prepare(inputs(x), outputs(neg(x)), observe(seen));
  step(1.f);
  step(2.f);
  EXPECT_EQ(std::tuple(seen.begun, seen.nodes, seen.ended), std::tuple(2, 2, 2));
}

TEST(prepared, allocates_nothing_in_the_steady_state) {
  host_memory memory;
  graph g;
  auto const x = placeholder<float, "n">(g, "x");
  auto const y = square(neg(x));
  session s(g, {.memory = &memory});
  auto step = s.prepare(inputs(x), outputs(y));
  auto const fed = vector<float>({1, 2, 3});
  step(fed);
  auto const before = memory.usage().total;
  for (int i = 0; i < 10; ++i) step(fed);
  EXPECT_EQ(memory.usage().total, before);
}

TEST(prepared, refuses_one_input_twice) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  session s(g);
  EXPECT_EQ(sentence([&] { s.prepare(inputs(x, x), outputs(x + x)); }),
            "invalid_argument: node 'x': it is an input of a prepared step twice");
}

TEST(prepared, refuses_a_node_that_has_no_value) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  group(g, {operation(x)});
  value const nothing = g.find("group");
  session s(g);
  for (auto const& said : {sentence([&] { s.prepare(inputs(nothing), outputs(x))(tensor(1.f)); }),
                           sentence([&] { as<of<float>>(nothing); })})
    EXPECT_NE(said.find("invalid_argument: node 'group"), said.npos) << said;
}

TEST(prepared, gives_memory_back_when_its_plan_is_no_longer_kept) {
  host_memory memory;
  graph g;
  auto const x = placeholder<float, "n">(g, "x");
  auto const y = sum(square(neg(x)));
  session s(g, {.memory = &memory, .passes = {.fuse = false}, .plans = 1});
  auto step = s.prepare(inputs(x), outputs(y));
  step(tensor_of<of<float, unknown>>(tensor(dtype::float32, {100000})));
  s.run({{x, tensor(dtype::float32, {10})}}, y);
  EXPECT_GE(memory.usage().current, 100000);
  s.trim();
  EXPECT_EQ(memory.usage().current, 0);
}

}  // namespace
}  // namespace rill
