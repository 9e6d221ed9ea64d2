#include "rill/run/plan/plan_instance.hpp"

#include <gtest/gtest.h>

#include <system_error>

#include "base/sentence.hpp"
#include "pass/subgraphs.hpp"
#include "rill/base/pool.hpp"
#include "rill/ops/array/constant.hpp"
#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/exponential.hpp"
#include "rill/ops/state/assign.hpp"
#include "rill/run/plan/make_plan.hpp"
#include "rill/run/run_plan.hpp"

namespace rill {
namespace {

// An operation that fails as its input says.
struct trouble_op {
  static constexpr std::string_view name = "trouble";
  static constexpr std::int8_t arity = 1;
  static constexpr type infer(no_attributes, type const& x) { return x; }
  static kernel cpu(kernel_request const&) {
    return kernel([](kernel_call const& call) {
      auto const x = *call.in<float>(0);
      if (x == 1) throw error(code::out_of_range, "one");
      if (x == 2) throw std::runtime_error("two");
      if (x == 3) throw 3;
      if (x == 4) throw std::bad_alloc();
      if (x == 6) throw std::system_error(std::make_error_code(std::errc::address_in_use), "bind");
      *call.out<float>(0) = x;
    });
  }
};

struct planned {
  graph g;
  container state;
  host_memory memory;

  plan make(std::vector<value> const& fed, std::vector<value> const& fetched, execution wish = execution::sequential) {
    return make_plan(
        part_of(g, fetched, {}, fed),
        {.state = state, .memory = memory, .threads = wish == execution::parallel ? 2 : 1, .execution = wish});
  }
};

TEST(plan_instance, computes_the_results_of_a_body_where_they_are_wanted) {
  planned t;
  auto const x = placeholder<float>(t.g, "x");
  auto const p = t.make({x}, {neg(x), exp(x)});
  plan_instance a(p);
  step_context step;
  float in = 0, negative = 1, exponential = 0, elsewhere = 0;
  a.argument(0, &in);
  a.result(0, &negative), a.result(1, &exponential);
  run_body(a, {}, step);
  EXPECT_EQ(negative, 0);
  EXPECT_EQ(exponential, 1);
  float const other = 5;
  a.argument(0, &other);
  a.result(0, &elsewhere);
  run_body(a, {}, step);
  EXPECT_EQ(elsewhere, -5);
  EXPECT_EQ(negative, 0);
}

TEST(plan_instance, copies_results_of_a_body_that_are_given_constant_a_variables_or_another_result) {
  planned t;
  auto const x = placeholder<float>(t.g, "x");
  auto const v = variable(t.g, of<float>, "v");
  t.state.variable("v", of<float>)->assign(tensor(3.f));
  value const y = neg(x), c = constant(t.g, 7.f);
  auto const p = t.make({x}, {x, c, value(v), y, y});
  plan_instance a(p);
  step_context step;
  float const in = 2;
  float out[5] = {};
  a.argument(0, &in);
  for (std::size_t i = 0; i < 5; ++i) a.result(i, out + i);
  run_body(a, {}, step);
  EXPECT_EQ(std::vector<float>(out, out + 5), (std::vector<float>{2, 7, 3, -2, -2}));
}

TEST(plan_instance, leaves_results_of_a_body_alone_that_nobody_wants) {
  planned t;
  auto const x = placeholder<float>(t.g, "x"), y = placeholder<float>(t.g, "y");
  auto const p = t.make({x, y}, {x, y});
  float const first = 1, second = 2;
  step_context step;
  plan_instance none(p), one(p);
  none.argument(0, &first), none.argument(1, &second);
  EXPECT_NO_THROW(run_body(none, {}, step));
  float out = 0;
  one.argument(0, &first), one.argument(1, &second);
  one.result(1, &out);
  run_body(one, {}, step);
  EXPECT_EQ(out, 2);
}

TEST(plan_instance, names_the_node_that_failed_whatever_was_thrown_and_can_be_used_again) {
  for (auto wish : {execution::sequential, execution::parallel}) {
    planned t;
    auto const x = placeholder<float>(t.g, "x");
    auto const p = t.make({x}, {neg(expr<of<float>>{record<trouble_op>(exp(x * 0.f) - 1.f + x)})}, wish);
    EXPECT_EQ(p.forks(), wish == execution::parallel);
    plan_instance a(p);
    pool workers(2);
    auto const run = [&](float with) {
      step_context step;
      std::vector<tensor> const fed{tensor(with)};
      return sentence([&] {
        run_step(a, fed, &workers, step);
        EXPECT_EQ(a.result(0, fed).at<float>(), -with);
      });
    };
    EXPECT_EQ(run(1), "out_of_range: node 'trouble': one");
    EXPECT_EQ(run(2), "internal: node 'trouble': a kernel threw: two");
    EXPECT_EQ(run(3), "internal: node 'trouble': a kernel threw an object that is not a std::exception");
    EXPECT_EQ(run(4), "resource_exhausted: node 'trouble': no memory");
    EXPECT_EQ(run(5), "");
    EXPECT_EQ(run(6), "internal: node 'trouble': a kernel threw: bind: Address already in use");
  }
}

TEST(plan_instance, writes_into_last_steps_output_if_the_caller_has_let_go_of_it) {
  planned t;
  auto const x = placeholder<float, 4>(t.g, "x");
  auto const p = t.make({x}, {neg(x)});
  plan_instance a(p);
  std::vector<tensor> const fed{vector<float>({1, 2, 3, 4})};
  step_context step;
  run_step(a, fed, nullptr, step);
  auto kept = a.result(0, fed);
  auto const* const place = kept.raw();
  run_step(a, fed, nullptr, step);
  EXPECT_NE(a.result(0, fed).raw(), place);
  kept = a.result(0, fed);
  auto const* const second = kept.raw();
  kept = tensor();
  run_step(a, fed, nullptr, step);
  EXPECT_EQ(a.result(0, fed).raw(), second);
}

TEST(plan_instance, lets_go_of_snapshots_of_variables_when_a_step_ends_or_fails) {
  planned t;
  auto const v = variable(t.g, of<float, 2>, "v");
  auto const x = placeholder<float>(t.g, "x");
  auto const state = t.state.variable("v", of<float, 2>);
  state->assign(vector<float>({1, 2}));
  auto const p = t.make({x}, {value(v), record<trouble_op>(x)});
  plan_instance a(p);
  step_context step;
  std::vector<tensor> const good{tensor(0.f)}, bad{tensor(1.f)};
  auto const shared = [&] {
    // Whoever updates in place copies a snapshot that somebody still holds.
    auto const* const before = state->read().raw();
    state->update([](tensor& now) { now.mutable_data<float>()[0] += 1; });
    return state->read().raw() != before;
  };
  run_step(a, good, nullptr, step);
  EXPECT_TRUE(shared());
  a.release();
  EXPECT_FALSE(shared());
  EXPECT_THROW(run_step(a, bad, nullptr, step), error);
  EXPECT_FALSE(shared());
}

}  // namespace
}  // namespace rill
