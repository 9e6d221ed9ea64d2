// Variables of open extents that steps change: what reads them has those that they have then.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "../../base/sentence.hpp"
#include "../executions.hpp"
#include "../run.hpp"
#include "rill/ops/array/as.hpp"
#include "rill/ops/array/concat.hpp"
#include "rill/ops/array/constant.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/ops/control/function.hpp"
#include "rill/ops/control/while_loop.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/math/exponential.hpp"
#include "rill/ops/state/assign.hpp"
#include "rill/ops/sum/sum.hpp"
#include "rill/ops/table/gather.hpp"
#include "rill/ops/table/scatter_update.hpp"

namespace rill {
namespace {

/// A variable v and a fed x, both float32[?].
struct model {
  graph g;
  variable_value v = variable(g, of<float, unknown>, "v");
  value x = placeholder(g, of<float, unknown>, "x");
  expr<of<bool>> flag = placeholder<bool>(g, "flag");
  operation set = operation(assign(v, x));

  value now() { return read(v); }
  /// Makes v longer by one.
  value grow() { return assign(v, concat({v, constant<float, 1>(g, {1})}, 0)); }
};

tensor ones(std::int64_t n) {
  tensor t(dtype::float32, {n});
  std::fill_n(t.mutable_data<float>(), n, 1.f);
  return t;
}

/// `fetched` in all executions, with v of three ones at first and x of so many: the sum, or the number of elements.
std::vector<std::int64_t> runs(model& m, value fetched, std::vector<std::int64_t> const& extents) {
  test::each_execution s(m.g);
  s.run({{m.x, ones(3)}}, m.set);
  std::vector<std::int64_t> made;
  for (auto n : extents) {
    auto const t = s.run({{m.x, ones(n)}, {m.flag, tensor(n % 2 == 1)}}, fetched);
    made.push_back(t.rank() == 0 ? static_cast<std::int64_t>(t.template at<float>()) : t.elements());
  }
  return made;
}

using extents = std::vector<std::int64_t>;

TEST(variable, is_read_with_the_extents_that_it_has_in_each_step) {
  model m;
  value const y = neg(m.now());
  test::each_execution s(m.g);
  auto step = s.prepare(inputs(), outputs(y));
  for (auto n : {2, 5, 1, 0, 3}) {
    s.run({{m.x, ones(n)}}, m.set);
    EXPECT_EQ(s.run(y).elements(), n);
    EXPECT_EQ(step().elements(), n);
  }
}

TEST(variable, is_read_with_the_extents_that_an_update_gave_it) {
  model m;
  value const before = sum(value(m.v)), after = m.g.after({m.set}, [&] { return neg(m.now()); });
  EXPECT_EQ(runs(m, after, {2, 5, 1, 0, 3}), (extents{2, 5, 1, 0, 3}));
  EXPECT_EQ(runs(m, m.g.after({m.set}, [&] { return add(before, sum(m.now())); }), {2, 5, 1}), (extents{5, 7, 6}));
  auto const typed = m.g.after({m.set}, [&] { return as<of<float, 2>>(m.now()); });
  EXPECT_EQ(runs(m, typed, {2, 2}), (extents{2, 2}));
  EXPECT_EQ(error_of([&] { runs(m, typed, {4}); }).code(), code::invalid_argument);
}

TEST(variable, gives_rows_of_the_extents_that_an_update_gave_it) {
  graph g;
  auto const v = variable(g, type::of_unknown_rank(dtype::float32), "v");
  value const x = placeholder(g, type::of_unknown_rank(dtype::float32), "x"), set = assign(v, x);
  auto const which = constant<std::int32_t, 2>(g, {1, 0});
  value const before = gather(v, which), after = g.after({set}, [&] { return neg(gather(v, which)); });
  value const inside = g.after(
      {set}, [&] { return cond(constant(g, true), [&] { return value(gather(v, which)); }, [&] { return x; }); });
  test::each_execution s(g);
  s.run({{x, ones(5)}}, operation(set));
  auto const table = [](std::int64_t rows, std::int64_t width) {
    return test::counting(dtype::float32, {rows, width});
  };
  auto const [was, is] = s.run({{x, table(2, 3)}}, before, after);
  EXPECT_EQ(was.shape(), shape{2});
  EXPECT_TRUE(same_bits(is, matrix<float>({{-4, -5, -6}, {-1, -2, -3}})));
  EXPECT_TRUE(same_bits(s.run({{x, table(4, 1)}}, after), matrix<float>({{-2}, {-1}})));
  EXPECT_TRUE(same_bits(s.run({{x, table(2, 2)}}, inside), matrix<float>({{3, 4}, {1, 2}})));
  EXPECT_EQ(error_of([&] { s.run({{x, ones(1)}}, after); }).code(), code::invalid_argument);
  s.run({{x, ones(4)}}, operation(set));
  EXPECT_EQ(s.run(before).elements(), 2);
}

TEST(variable, is_given_rows_for_the_extents_that_it_has) {
  model m;
  auto const which = constant<std::int32_t, 2>(m.g, {1, 1});
  auto const more = scatter_add(m.v, which, constant<float, 2>(m.g, {1, 2}));
  auto const then = m.g.after({m.set}, [&] { return scatter_sub(m.v, which, constant<float, 2>(m.g, {1, 2})); });
  test::each_execution s(m.g);
  for (auto n : {2, 5, 3}) {
    s.run({{m.x, ones(n)}}, m.set);
    s.run(more);
    EXPECT_EQ(s.run(m.v).at<float>(1), 4);
    s.run({{m.x, ones(n + 1)}}, then);
    EXPECT_EQ(s.run(m.v).elements(), n + 1);
    EXPECT_EQ(s.run(m.v).at<float>(1), -2);
  }
  test::expect_error(code::invalid_argument, "index 0 is 1, and there are 1 rows",
                     [&] { s.run({{m.x, ones(1)}}, then); });
}

TEST(variable, may_have_no_value_before_the_update_that_comes_before_a_read) {
  model m;
  value const y = m.g.after({m.set}, [&] { return neg(m.now()); });
  test::each_execution s(m.g);
  EXPECT_EQ(s.run({{m.x, ones(4)}}, y).elements(), 4);
}

TEST(variable, may_be_given_other_extents_again_and_again_in_a_step) {
  model m;
  value const one = m.g.after({m.set}, [&] { return m.now(); });
  auto const twice = m.g.after({one}, [&] { return assign(m.v, concat({one, one}, 0)); });
  value const two = m.g.after({twice}, [&] { return neg(m.now()); });
  EXPECT_EQ(runs(m, two, {2, 5, 1, 0, 3}), (extents{4, 10, 2, 0, 6}));
  EXPECT_EQ(runs(m, add(sum(one), sum(two)), {2, 5}), (extents{-2, -5}));
}

TEST(variable, is_read_after_a_branch_loop_or_function_that_may_change_its_extents) {
  model m;
  operation const branch = cond(m.flag, [&] { assign(m.v, m.x); }, [] {});
  EXPECT_EQ(runs(m, m.g.after({branch}, [&] { return neg(m.now()); }), {2, 5, 2, 1, 0}), (extents{3, 5, 5, 1, 1}));
  value const loop = fold([&](value s, value) { return m.g.after({m.grow()}, [&] { return value(neg(s)); }); },
                          value(constant(m.g, 1.f)), value(constant<float, 3>(m.g, {0, 0, 0})));
  EXPECT_EQ(runs(m, m.g.after({loop}, [&] { return neg(m.now()); }), {1, 1}), (extents{6, 9}));
  function(m.g, "set", {of<float, unknown>},
           [&](auto const& in) { return std::vector<value>{sum(value(assign(m.v, in[0])))}; });
  value const call = rill::call(m.g, "set", m.x)[0];
  EXPECT_EQ(runs(m, m.g.after({call}, [&] { return neg(m.now()); }), {2, 5, 0}), (extents{2, 5, 0}));
}

TEST(variable, has_in_bodies_the_extents_that_it_has_when_they_run) {
  model m;
  auto const set = [&](auto const& f) { return m.g.after({m.set}, f); };
  auto const zero = [&] { return value(constant(m.g, 0.f)); };
  EXPECT_EQ(runs(m, set([&] { return cond(m.flag, [&] { return value(sum(value(m.v))); }, zero); }), {2, 5, 1, 3}),
            (extents{0, 5, 1, 3}));
  EXPECT_EQ(runs(m, set([&] { return cond(m.flag, [&] { return value(neg(value(m.v))); }, [&] { return m.x; }); }),
                 {2, 5, 0, 1}),
            (extents{2, 5, 0, 1}));
  value const set_and_read =
      cond(m.flag, [&] { return m.g.after({assign(m.v, m.x)}, [&] { return value(sum(m.now())); }); }, zero);
  EXPECT_EQ(runs(m, set_and_read, {2, 5, 1, 3}), (extents{0, 5, 1, 3}));
  function(m.g, "total", {of<float, unknown>},
           [&](auto const& in) { return std::vector<value>{add(sum(value(m.v)), sum(in[0]))}; });
  EXPECT_EQ(runs(m, set([&] { return rill::call(m.g, "total", m.x)[0]; }), {2, 5, 0}), (extents{4, 10, 0}));
}

TEST(variable, may_grow_in_each_iteration) {
  model m;
  auto const rows = value(constant<float, 3>(m.g, {0, 1, 2}));
  auto const start = value(constant(m.g, 0.f));
  auto const grown = [&](value s, value) { return m.g.after({m.grow()}, [&] { return value(add(s, sum(m.now()))); }); };
  EXPECT_EQ(runs(m, fold(grown, start, rows), {1, 1}), (extents{4 + 5 + 6, 7 + 8 + 9}));
  auto const short_of_six = [&](value) { return less(sum(value(m.v)), constant(m.g, 6.f)); };
  value const count = while_loop(
      short_of_six, [&](value s) { return m.g.after({m.grow()}, [&] { return value(add(s, constant(m.g, 1.f))); }); },
      start);
  EXPECT_EQ(runs(m, count, {1, 1}), (extents{3, 0}));
  // A branch makes it grow, another reads it.
  auto const in_branches = [&](value s, value e) {
    operation const first = cond(less(e, constant(m.g, 1.5f)), [&] { m.grow(); }, [] {});
    return m.g.after({first}, [&] {
      return cond(less(constant(m.g, .5f), e), [&] { return value(add(s, sum(value(m.v)))); }, [&] { return s; });
    });
  };
  EXPECT_EQ(runs(m, fold(in_branches, start, rows), {1, 1}), (extents{5 + 5, 7 + 7}));
}

TEST(variable, may_grow_in_each_call_of_a_function_that_calls_itself) {
  model m;
  function(m.g, "f", {of<int>}, {of<float>}, [&](auto const& in) {
    auto const last = [&] { return value(sum(value(m.v))); };
    auto const next = [&] {
      return m.g.after({m.grow()}, [&] {
        auto const rest = rill::call(m.g, "f", sub(in[0], constant(m.g, 1)))[0];
        return value(add(sum(m.now()), rest));
      });
    };
    return std::vector<value>{cond(less(in[0], constant(m.g, 1)), last, next)};
  });
  EXPECT_EQ(runs(m, rill::call(m.g, "f", constant(m.g, 3))[0], {1, 1}), (extents{4 + 5 + 6 + 6, 7 + 8 + 9 + 9}));
}

TEST(variable, keeps_what_its_axes_names_mean_in_the_step) {
  graph g;
  auto const v = variable<float, "n">(g, "v");
  auto const x = placeholder<float, "n">(g, "x");
  auto const set = assign(v, x);
  value const y = add(sum(value(read(v))), sum(value(x)));
  value const z = g.after({operation(set)}, [&] { return add(read(v), x); });
  test::each_execution s(g);
  s.run({{x, ones(3)}}, operation(set));
  EXPECT_EQ(s.run({{x, ones(3)}}, y).at<float>(), 6);
  test::expect_error(code::invalid_argument, "axis 'n' is 2 elsewhere in this step and 3 here",
                     [&] { s.run({{x, ones(2)}}, y); });
  EXPECT_EQ(s.run({{x, ones(2)}}, z).elements(), 2);
}

TEST(variable, is_updated_by_a_fused_kernel_for_the_extents_that_it_has) {
  model m;
  auto const more = operation(assign(m.v, add(exp(value(m.x)), value(m.v))));
  test::each_execution s(m.g);
  for (auto n : {2, 1, 2, 3, 1}) {
    s.run({{m.x, ones(n)}}, m.set);
    s.run({{m.x, ones(2 - n % 2)}}, more);
    EXPECT_EQ(s.run(m.v).elements(), std::max(n, 2 - n % 2));
  }
}

}  // namespace
}  // namespace rill
