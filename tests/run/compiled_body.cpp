#include "rill/run/compiled_body.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "base/sentence.hpp"
#include "rill/graph/body.hpp"
#include "rill/ops/array/as.hpp"
#include "rill/ops/array/constant.hpp"
#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/array/stack.hpp"
#include "rill/ops/array/where.hpp"
#include "rill/ops/check/check_numerics.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/math/exponential.hpp"
#include "rill/ops/state/assign.hpp"
#include "rill/ops/sum/sum.hpp"
#include "rill/ops/table/gather.hpp"

namespace rill {
namespace {

// A graph, and bodies of it that are compiled for a node which is none of it.
struct compiling {
  graph g;
  container state;
  host_memory memory;
  pass_options passes;
  node around;
  std::vector<std::shared_ptr<variable_state>> const variables = {};

  std::shared_ptr<compiled_body> make(recorded_body const& b, std::vector<type> const& arguments) {
    kernel_request const r{.at = around,
                           .inputs = {},
                           .outputs = {},
                           .variables = variables,
                           .state = state,
                           .seed = 0,
                           .threads = 1,
                           .memory = &memory,
                           .passes = &passes,
                           .compile = compile_body};
    return compile_body(r, b.subgraph, arguments);
  }
};

float run(compiled_body& b, float x) {
  auto const one = b.start();
  float y = 0;
  step_context step;
  one->argument(0, &x);
  one->result(0, &y);
  one->run({}, step);
  return y;
}

TEST(compiled_body, is_compiled_for_the_types_of_its_arguments) {
  compiling t;
  auto const b = record_body(t.g, "body", {type(dtype::float32, {unknown})},
                             [](auto const& in) { return std::vector<value>{add(in[0], in[0])}; });
  for (std::int64_t n : {0, 1, 3}) {
    auto const made = t.make(b, {type(dtype::float32, shape{n})});
    std::vector<float> x(3, 2), y(3, 7);
    auto const one = made->start();
    step_context step;
    one->argument(0, x.data());
    one->result(0, y.data());
    one->run({}, step);
    for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(y[static_cast<std::size_t>(i)], i < n ? 4 : 7);
  }
}

TEST(compiled_body, refuses_arguments_that_its_operations_do_not_take) {
  compiling t;
  auto const b = record_body(t.g, "body", {type(dtype::float32, {unknown}), of<float, 3>},
                             [](auto const& in) { return std::vector<value>{add(in[0], in[1])}; });
  auto const text = sentence([&] { t.make(b, {of<float, 2>, of<float, 3>}); });
  EXPECT_NE(text.find("node 'body/add'"), std::string::npos) << text;
  EXPECT_NE(text.find("do not broadcast"), std::string::npos) << text;
}

TEST(compiled_body, has_as_many_runs_at_once_as_are_started) {
  compiling t;
  auto const b =
      record_body(t.g, "body", {of<float>}, [](auto const& in) { return std::vector<value>{neg(exp(in[0]))}; });
  t.passes = pass_options::none();
  auto const made = t.make(b, {of<float>});
  auto const first = made->start(), second = made->start();
  EXPECT_NE(first.get(), second.get());
  float const zero = 0, one = 1;
  float a = 0, c = 0;
  first->argument(0, &zero), first->result(0, &a);
  second->argument(0, &one), second->result(0, &c);
  step_context step;
  first->run({}, step), second->run({}, step);
  EXPECT_EQ(a, -1);
  EXPECT_FLOAT_EQ(c, -std::exp(1.f));
}

TEST(compiled_body, uses_the_memory_of_runs_that_were_given_back) {
  compiling t;
  t.passes = pass_options::none();
  auto const b =
      record_body(t.g, "body", {of<float>}, [](auto const& in) { return std::vector<value>{neg(exp(in[0]))}; });
  auto const made = t.make(b, {of<float>});
  run(*made, 0);
  auto const before = t.memory.usage();
  EXPECT_GT(before.current, 0);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(run(*made, 0), -1);
  EXPECT_EQ(t.memory.usage().total, before.total);
  {
    auto const first = made->start(), second = made->start();
    step_context step;
    float const x = 0;
    float y = 0;
    for (auto* each : {first.get(), second.get()}) each->argument(0, &x), each->result(0, &y), each->run({}, step);
    EXPECT_GT(t.memory.usage().total, before.total);
  }
  run(*made, 0);
  EXPECT_EQ(t.memory.usage().total, 2 * before.total);
}

TEST(compiled_body, gives_a_run_back_that_failed_and_names_the_node) {
  compiling t;
  auto const b = record_body(t.g, "body", {of<float>}, [](auto const& in) {
    return std::vector<value>{neg(check_numerics(in[0], "it is bad"))};
  });
  auto const made = t.make(b, {of<float>});
  auto const text = sentence([&] { run(*made, std::numeric_limits<float>::infinity()); });
  EXPECT_NE(text.find("node 'body/check_numerics'"), std::string::npos) << text;
  auto const before = t.memory.usage().total;
  EXPECT_EQ(run(*made, 1), -1);
  EXPECT_EQ(t.memory.usage().total, before);
}

TEST(compiled_body, holds_no_snapshot_of_a_variable_when_a_run_was_given_back) {
  compiling t;
  auto const v = variable(t.g, of<float>, "v");
  auto const state = t.state.variable("v", of<float>);
  state->assign(tensor(3.f));
  auto const b = record_body(t.g, "body", {of<float>}, [&](auto const&) { return std::vector<value>{v}; });
  auto const made = t.make(b, {of<float>});
  EXPECT_EQ(run(*made, 1), 3);
  auto const* const place = state->read().raw();
  state->update([](tensor& now) { now.mutable_data<float>()[0] = 5; });
  EXPECT_EQ(state->read().raw(), place);  // nothing was copied
  EXPECT_EQ(run(*made, 1), 5);
}

TEST(compiled_body, whose_arguments_are_open_is_compiled_for_those_that_come) {
  compiling t;
  auto const b = record_body(t.g, "body", {type(dtype::float32, {unknown})},
                             [](auto const& in) { return std::vector<value>{add(in[0], in[0]), in[0]}; });
  auto const made = t.make(b, {type(dtype::float32, {unknown})});
  step_context step;
  for (std::int64_t n : {0, 1, 3, 1}) {
    std::vector<float> x(static_cast<std::size_t>(n), 2);
    std::vector<tensor> const given{tensor::borrow(std::span<float>(x), shape{n})};
    auto const results = made->run(given, {}, step);
    ASSERT_EQ(results[0].shape(), shape{n});
    for (float v : results[0].span<float>()) EXPECT_EQ(v, 4);
    EXPECT_TRUE(same_bits(results[1], given[0]));
    EXPECT_NE(results[1].raw(), given[0].raw()) << "what it was given is not its own";
  }
}

TEST(compiled_body, of_which_some_waits_for_extents_is_run_with_tensors) {
  compiling t;
  auto const b = record_body(t.g, "body", {of<float>}, [](auto const& in) {
    auto const both = stack(std::vector<value>{in[0], neg(in[0])}, 0);
    return std::vector<value>{sum(gather(both, where(less(both, zero(both)))), extents{})};
  });
  auto const made = t.make(b, {of<float>});
  EXPECT_TRUE(made->open());
  EXPECT_THROW(made->start(), error);
  step_context step;
  for (auto const& [x, y] : {std::pair{3.f, -3.f}, {0.f, 0.f}, {-5.f, -5.f}})
    EXPECT_EQ(made->run(std::vector<tensor>{tensor(x)}, {}, step)[0].item<float>(), y);
}

TEST(compiled_body, compares_the_names_among_its_results) {
  compiling t;
  auto const b = record_body(t.g, "body", {type(dtype::float32, {unknown})}, [](auto const& in) {
    auto const named = [&](value which) { return as(gather(in[0], where(which)), of<float, "n">); };
    return std::vector<value>{named(less(in[0], zero(in[0]))), named(less(zero(in[0]), in[0]))};
  });
  auto const made = t.make(b, {type(dtype::float32, {unknown})});
  step_context step;
  auto const run = [&](tensor const& x) { return made->run(std::vector<tensor>{x}, {}, step); };
  EXPECT_EQ(run(vector<float>({1, -2, 3, -4}))[1].template at<float>(1), 3);
  EXPECT_EQ(sentence([&] { run(vector<float>({1, -2, 3})); }),
            "invalid_argument: node 'body/as_1': axis 'n' is 1 elsewhere in this step and 2 here");
}

TEST(compiled_body, holds_the_memory_of_the_extents_that_came_last_alone) {
  compiling t;
  t.passes = pass_options::none();
  auto const b = record_body(t.g, "body", {type(dtype::float32, {unknown})},
                             [](auto const& in) { return std::vector<value>{exp(neg(in[0]))}; });
  auto const made = t.make(b, {type(dtype::float32, {unknown})});
  step_context step;
  for (std::int64_t n = 1000; n < 1100; ++n) {
    std::vector<tensor> const given{tensor(dtype::float32, {n})};
    made->run(given, {}, step);
  }
  EXPECT_LT(t.memory.usage().current, 20000);
  made->trim();
  EXPECT_EQ(t.memory.usage().current, 0);
}

TEST(compiled_body, is_run_by_several_threads_at_once) {
  compiling t;
  t.passes = pass_options::none();
  auto const b =
      record_body(t.g, "body", {of<float>}, [](auto const& in) { return std::vector<value>{neg(square(in[0]))}; });
  auto const made = t.make(b, {of<float>});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, x = static_cast<float>(i)] {
      for (int k = 0; k < 200; ++k) EXPECT_EQ(run(*made, x), -x * x);
    });
  for (auto& each : threads) each.join();
}

}  // namespace
}  // namespace rill
