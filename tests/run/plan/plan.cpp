#include "rill/run/plan/plan.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "rill/graph/prune.hpp"
#include "rill/ops/array/constant.hpp"
#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/array/reshape.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/state/assign.hpp"
#include "rill/ops/table/scatter.hpp"
#include "rill/pass/bind.hpp"
#include "rill/run/plan/make_plan.hpp"
#include "rill/run/run_plan.hpp"
#include "rill/run/session.hpp"

namespace rill {
namespace {

/// An operation without a kernel.
struct bodiless_op {
  static constexpr std::string_view name = "bodiless";
  static constexpr std::int8_t arity = 1;
  static constexpr type infer(no_attributes, type const& x) { return x; }
};

/// A graph, and runs of parts of it that no pass has touched.
struct planned {
  graph g;
  container state;
  host_memory memory;

  plan make(std::vector<value> const& fed, std::vector<value> const& fetched,
            std::vector<operation> const& targets = {}) {
    std::vector<endpoint> feeds, fetches;
    std::vector<type> types;
    std::vector<std::uint32_t> nodes;
    for (auto const& v : fed) feeds.push_back(v.endpoint()), types.push_back(v.type());
    for (auto const& v : fetched) fetches.push_back(v.endpoint());
    for (auto const& t : targets) nodes.push_back(t.node);
    auto sub = prune(g, feeds, fetches, nodes);
    bind_extents(sub, types, state);
    return make_plan(sub, {.state = state, .memory = memory});
  }
};

tensor run(plan const& p, std::vector<tensor> const& fed, plan_instance* kept = nullptr) {
  std::optional<plan_instance> fresh;
  plan_instance& a = kept ? *kept : fresh.emplace(p);
  step_context step;
  run_step(a, fed, nullptr, step);
  auto result = a.result(0, fed);
  a.release();
  return result;
}

TEST(plan, writes_over_what_nobody_reads_any_more_even_if_it_came_from_outside) {
  planned t;
  value const x = placeholder(t.g, of<float, 3>, "x"), i = placeholder(t.g, of<std::int32_t, 1>, "i"),
              v = placeholder(t.g, of<float, 1>, "v");
  auto const once = add_rows(x, i, v), twice = add_rows(once, i, v);
  auto const p = t.make({x, i, v}, {twice});
  EXPECT_EQ(p.overwritten(0), 0);
  EXPECT_EQ(p.memory.arena, 64u);  // the checked index of each
  std::vector<tensor> const fed{vector<float>({1, 2, 3}), vector<std::int32_t>({1}), vector<float>({10})};
  EXPECT_TRUE(same_bits(run(p, fed), vector<float>({1, 22, 3})));
  EXPECT_TRUE(same_bits(fed[0], vector<float>({1, 2, 3})));  // unless its caller wants it there, it is not written
  // A reader of x comes first, if it can; what is fetched, or read by what waits for the write, stays.
  EXPECT_EQ(t.make({x, i, v}, {twice, value(neg(x))}).overwritten(0), 0);
  EXPECT_EQ(t.make({x, i, v}, {twice, x}).overwritten(0), -1);
  EXPECT_EQ(t.make({x, i, v}, {twice, value(twice * x)}).overwritten(0), -1);
  EXPECT_EQ(t.make({x, i, v}, {value(neg(x))}).overwritten(0), -1);
  auto const both = t.make({x, i, v}, {twice, value(add_rows(x, i, neg(v)))});
  EXPECT_TRUE(same_bits(run(both, fed), vector<float>({1, 22, 3})));
}

TEST(plan, computes_a_chain_in_one_place) {
  planned t;
  value const x = placeholder(t.g, of<float, 1000>, "x"), y = square(neg(square(neg(x))));
  auto const p = t.make({x}, {y});
  EXPECT_EQ(p.instructions.size(), 4);
  EXPECT_LE(p.memory.arena, 4096);  // the last one writes into the result
  EXPECT_EQ(p.memory.least, 4000);
  tensor fed(dtype::float32, {1000});
  std::fill_n(fed.mutable_data<float>(), 1000, 2.f);
  EXPECT_EQ(run(p, {fed}).at<float>(999), 16);
  EXPECT_EQ(fed.at<float>(0), 2);  // what is fed is never written
}

TEST(plan, does_not_overwrite_what_is_read_later_or_fetched) {
  planned t;
  value const x = placeholder(t.g, of<float, 4>, "x"), a = neg(x), b = square(a), c = add(a, b);
  auto const p = t.make({x}, {c, a});
  plan_instance run_of(p);
  std::vector<tensor> const fed{vector<float>({1, 2, 3, 4})};
  step_context step;
  run_step(run_of, fed, nullptr, step);
  EXPECT_TRUE(same_bits(run_of.result(0, fed), vector<float>({0, 2, 6, 12})));
  EXPECT_TRUE(same_bits(run_of.result(1, fed), vector<float>({-1, -2, -3, -4})));
}

TEST(plan, does_not_overwrite_what_the_same_kernel_reads_by_another_name) {
  graph g;
  value const x = placeholder(g, of<float, 3>, "x"), e = neg(x), square_of = square(reshape(e, extents{1, 3}));
  for (auto const how : {execution::sequential, execution::parallel})
    for (bool const passes : {false, true}) {
      session s(g, {.threads = 1, .passes = passes ? pass_options{} : pass_options::none(), .execution = how});
      // One kernel computes the square and the sum, and reads e as a row, too; the square stays in the plan's memory.
      auto const [y, all] = s.run({{x, vector<float>({1, 2, 3})}}, add(square_of, e), sum(square_of));
      EXPECT_TRUE(same_bits(y, matrix<float>({{0, 2, 6}}))) << passes;
      EXPECT_EQ(all.item<float>(), 14) << passes;
    }
}

TEST(plan, hands_out_results_that_the_next_run_does_not_touch) {
  planned t;
  value const x = placeholder(t.g, of<float>, "x"), y = neg(x);
  auto const p = t.make({x}, {y});
  plan_instance kept(p);
  auto const first = run(p, {tensor(1.f)}, &kept), second = run(p, {tensor(2.f)}, &kept);
  EXPECT_EQ(first.item<float>(), -1);
  EXPECT_EQ(second.item<float>(), -2);
}

TEST(plan, copies_results_that_are_fed_or_constant) {
  planned t;
  value const x = placeholder(t.g, of<float>, "x"), c = constant(t.g, 5.f);
  tensor const fed(1.f);
  auto const same = run(t.make({x}, {x}), {fed});
  EXPECT_EQ(same.item<float>(), 1);
  EXPECT_NE(same.raw(), fed.raw());
  EXPECT_EQ(run(t.make({}, {c}), {}).item<float>(), 5);
}

TEST(plan, allocates_nothing_in_the_steady_state) {
  planned t;
  value const x = placeholder(t.g, of<float, 100>, "x"), y = square(neg(square(x)));
  auto const p = t.make({x}, {y});
  plan_instance kept(p);
  tensor fed(dtype::float32, {100});
  std::fill_n(fed.mutable_data<float>(), 100, 1.f);
  run(p, {fed}, &kept);
  auto const before = t.memory.usage().total;
  for (int i = 0; i < 10; ++i) run(p, {fed}, &kept);
  EXPECT_EQ(t.memory.usage().total, before);
}

TEST(plan, gives_all_memory_back) {
  planned t;
  value const x = placeholder(t.g, of<float, 100>, "x");
  {
    auto const p = t.make({x}, {square(neg(square(x)))});
    run(p, {tensor(dtype::float32, {100})});
  }
  EXPECT_EQ(t.memory.usage().count, 0);
}

TEST(plan, passes_through_without_an_instruction) {
  planned t;
  value const x = placeholder(t.g, of<float, 2, 3>, "x"), y = reshape(identity(x), extents{6});
  auto const p = t.make({x}, {y});
  EXPECT_EQ(p.instructions.size(), 0);
  EXPECT_EQ(run(p, {matrix<float>({{1, 2, 3}, {4, 5, 6}})}).shape(), (shape{6}));
}

TEST(plan, keeps_a_constant_of_which_somebody_else_reads_the_extents_as_something_else) {
  graph g;
  auto const c = constant(g, 3.f);
  auto const y = broadcast_like(c, reshape<1>(c));
  session s(g, {.passes = pass_options::none()});
  EXPECT_TRUE(same_bits(s.run(y), vector<float>({3})));
}

TEST(plan, works_with_strings_and_empty_tensors) {
  planned t;
  value const s = constant(t.g, vector<std::string>({"a", "b"}));
  auto const v = variable(t.g, s.type(), "v");
  EXPECT_TRUE(same_bits(run(t.make({}, {assign(v, s)}), {}), vector<std::string>({"a", "b"})));
  value const x = placeholder(t.g, of<float, 0, 3>, "x"), y = square(neg(x));
  EXPECT_EQ(run(t.make({x}, {y}), {tensor(dtype::float32, {0, 3})}).shape(), (shape{0, 3}));
}

TEST(plan, says_that_a_variable_of_open_extents_has_no_value) {
  planned t;
  auto const v = variable(t.g, of<float, unknown>, "v");
  for (value const& fetched : {value(v), value(neg(value(v)))}) try {
      t.make({}, {fetched});
      FAIL();
    } catch (error const& e) {
      EXPECT_EQ(e.code(), code::failed_precondition);
      EXPECT_EQ(e.node(), "v");
    }
}

TEST(plan, holds_while_a_variable_keeps_its_extents) {
  planned t;
  auto const v = variable(t.g, of<float, unknown>, "v");
  auto const state = t.state.variable("v", of<float, unknown>);
  state->assign(vector<float>({1, 2}));
  auto const p = t.make({}, {neg(value(v))});
  EXPECT_TRUE(p.holds());
  EXPECT_TRUE(same_bits(run(p, {}), vector<float>({-1, -2})));
  state->assign(vector<float>({1}));
  EXPECT_FALSE(p.holds());
  EXPECT_THROW(run(p, {}), error);
  state->reset();
  EXPECT_FALSE(p.holds());
}

TEST(plan, names_an_operation_without_a_kernel) {
  planned t;
  value const y = record_erased<bodiless_op>(t.g, {}, {constant(t.g, 1.f)}, "y");
  try {
    t.make({}, {y});
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::unimplemented);
    EXPECT_EQ(e.node(), "y");
  }
}

TEST(plan, refuses_to_update_what_is_no_variable) {
  planned t;
  value const x = constant(t.g, 1.f);
  value const update = record_erased<ops::assign_op>(t.g, {}, {x, x}, "update");
  EXPECT_THROW(t.make({}, {update}), error);
  EXPECT_THROW(t.make({}, {record_erased<ops::read_op>(t.g, {}, {x})}), error);
  EXPECT_THROW(t.make({}, {record_erased<ops::is_initialized_op>(t.g, {}, {x})}), error);
}

TEST(plan, lists_its_instructions) {
  planned t;
  value const x = placeholder(t.g, of<float>, "x"), y = neg(x);
  EXPECT_NE(t.make({x}, {y}).text().find("neg"), std::string::npos);
}

}  // namespace
}  // namespace rill
