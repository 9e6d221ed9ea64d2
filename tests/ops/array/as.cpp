#include "rill/ops/array/as.hpp"

#include "../../base/sentence.hpp"
#include "../executions.hpp"
#include "../run.hpp"
#include "rill/grad/gradients.hpp"
#include "rill/ops/array/constant.hpp"
#include "rill/ops/array/reshape.hpp"
#include "rill/ops/array/where.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/ops/control/function.hpp"
#include "rill/ops/control/while_loop.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/state/assign.hpp"
#include "rill/ops/sum/sum.hpp"
#include "rill/ops/table/gather.hpp"

namespace rill {
namespace {

TEST(as, is_the_checked_way_back_from_an_erased_handle) {
  graph g;
  value const v = placeholder(g, of<float, unknown, 2>, "v");
  auto const x = as<of<float, "batch", 2>>(v);
  static_assert(decltype(x)::static_type == of<float, "batch", 2>);
  EXPECT_EQ(x.type(), (of<float, "batch", 2>));
  EXPECT_EQ(x.name(), "as");
  EXPECT_EQ((as<of<float, "batch", 2>>(v, "x").name()), "x");
  auto const e = error_of([&] { as<of<double, 2, 2>>(v); });
  EXPECT_EQ(e.code(), code::invalid_argument);
  EXPECT_EQ(e.node(), "v");
  EXPECT_EQ(e.message(), "the value is a float32[?, 2], not a float64[2, 2]");
  EXPECT_THROW((as<of<float, 3, 3>>(v)), error);
  EXPECT_THROW(as<of<float>>(value()), error);
}

TEST(as, records_nothing_where_the_value_is_known_to_be_that) {
  graph g;
  value const v = placeholder(g, of<float, "n", 2>, "v"), any = placeholder(g, type::of_unknown_rank(dtype::float32));
  for (type const& t : {type(of<float, "n", 2>), type(of<float, unknown, 2>), type(of<float, unknown, unknown>),
                        type::of_unknown_rank(dtype::float32)})
    EXPECT_EQ(as(v, t).node, v.node) << t.text();
  EXPECT_EQ(as(any, type::of_unknown_rank(dtype::float32)).node, any.node);
  EXPECT_NE(as(any, of<float, unknown>).node, any.node);
}

TEST(as, knows_what_is_said_and_what_was_known) {
  graph g;
  value const v = placeholder(g, of<float, 3, unknown, "m", unknown>, "v");
  EXPECT_EQ(as(v, of<float, unknown, 4, unknown, "k">).type(), (of<float, 3, 4, "m", "k">));
  EXPECT_EQ(as(v, of<float, "a", unknown, "b", unknown>).type(), (of<float, "a", unknown, "b", unknown>));
  value const any = placeholder(g, type::of_unknown_rank(dtype::float32));
  EXPECT_EQ(as(any, of<float, "a", 2>).type(), (of<float, "a", 2>));
}

TEST(as, is_checked_by_the_steps_that_need_it) {
  graph g;
  value const v = placeholder(g, of<float, unknown, 2>, "v"),
              any = placeholder(g, type::of_unknown_rank(dtype::float32));
  auto const three = as<of<float, 3, 2>>(v, "three");
  auto const vector = as<of<float, unknown>>(any, "vector");
  session s{g};
  EXPECT_EQ(s.run({{v, test::counting(dtype::float32, {3, 2})}}, -three).at<float>(2, 1), -6);
  auto const e = error_of([&] { s.run({{v, test::counting(dtype::float32, {1, 2})}}, -three); });
  EXPECT_EQ(e.code(), code::invalid_argument);
  EXPECT_EQ(e.node(), "three");
  EXPECT_EQ(e.message(), "the value is not the float32[3, 2] that it was said to be (float32[1, 2])");
  EXPECT_EQ(s.run({{v, test::counting(dtype::float32, {1, 2})}}, -v).elements(), 2);
  EXPECT_EQ(error_of([&] { s.run({{any, test::counting(dtype::float32, {1, 2})}}, -vector); }).node(), "vector");
  EXPECT_EQ(s.run({{any, test::counting(dtype::float32, {4})}}, -vector).elements(), 4);
}

TEST(as, binds_names_for_the_step) {
  graph g;
  value const v = placeholder(g, of<float, unknown>, "v"), w = placeholder(g, of<float, unknown>, "w");
  auto const a = as<of<float, "n">>(v, "a"), b = as<of<float, "n">>(w, "b");
  auto const known = as<of<float, "n">>(value(constant<float, 3>(g, {1, 2, 3})), "known");
  auto const sum = a + b, all = sum + known;
  static_assert(decltype(all)::static_type == of<float, "n">);
  session s{g};
  auto const run = [&](auto const& y, int of_v, int of_w) {
    return s.run({{v, test::counting(dtype::float32, {of_v})}, {w, test::counting(dtype::float32, {of_w})}}, y);
  };
  EXPECT_EQ(run(sum, 2, 2).template at<float>(1), 4);
  EXPECT_EQ(run(all, 3, 3).template at<float>(2), 9);
  // Broadcasting would have taken them.
  auto const e = error_of([&] { run(sum, 1, 3); });
  EXPECT_EQ(e.code(), code::invalid_argument);
  EXPECT_EQ(e.node(), "b");
  EXPECT_EQ(e.message(), "axis 'n' is 1 elsewhere in this step and 3 here");
  EXPECT_EQ(error_of([&] { run(all, 1, 1); }).message(), "axis 'n' is 1 elsewhere in this step and 3 here");
}

TEST(as, is_checked_when_extents_come_up_within_the_step) {
  graph g;
  value const v = placeholder(g, of<float, unknown>, "v"), some = gather(v, where(less(constant(g, 0.f), v)));
  auto const two = as<of<float, 2>>(some, "two");
  auto const a = as<of<float, "n">>(some, "a");
  auto const x = placeholder<float, "n">(g, "x");
  auto const late = as<of<float, "n">>(value(gather(v, where(less(v, constant(g, 0.f))))), "late");
  test::each_execution s{g};
  EXPECT_EQ(s.run({{v, vector<float>({1, -1, 2})}}, two * 2.f).at<float>(1), 4);
  auto const e = error_of([&] { s.run({{v, vector<float>({1, -1, -2})}}, two * 2.f); });
  EXPECT_EQ(e.node(), "two");
  EXPECT_EQ(e.message(), "the value is not the float32[2] that it was said to be (float32[1])");
  EXPECT_EQ(s.run({{v, vector<float>({1, -1, 2})}, {x, vector<float>({1, 1})}}, a + x).at<float>(1), 3);
  // The name is bound by the feed, before the rest is planned.
  auto const clash = error_of([&] { s.run({{v, vector<float>({1, -1})}, {x, vector<float>({1, 1})}}, a + x); });
  EXPECT_EQ(clash.node(), "a");
  EXPECT_EQ(clash.message(), "axis 'n' is 2 elsewhere in this step and 1 here");
  EXPECT_EQ(s.run({{v, vector<float>({1, -1})}}, a + late).at<float>(0), 0);
  EXPECT_EQ(error_of([&] { s.run({{v, vector<float>({1, -1, 2})}}, a + late); }).message(),
            "axis 'n' is 2 elsewhere in this step and 1 here");
}

TEST(as, leaves_the_value_what_is_fed) {
  graph g;
  value const v = placeholder(g, of<float, unknown>, "v");
  auto const x = as<of<float, "n">>(v, "x");
  auto const two = as<of<float, 2>>(value(x), "two");
  auto const y = x + v;
  session s{g};
  EXPECT_EQ(s.run({{x, vector<float>({1, 2})}}, y).at<float>(1), 4);
  EXPECT_EQ(s.run({{two, vector<float>({1, 2})}}, y).at<float>(1), 4);
  EXPECT_EQ(s.run({{"two", vector<float>({1, 2})}}, two).at<float>(1), 2);
  EXPECT_EQ(s.run({{v, vector<float>({1, 2})}}, two).at<float>(1), 2);
  EXPECT_EQ(refusal([&] { s.run({{x, vector<float>({1})}, {v, vector<float>({1})}}, y); }), code::invalid_argument);
  test::expect_error(code::invalid_argument, "was fed a float32[3]",
                     [&] { s.run({{"two", tensor(dtype::float32, {3})}}, y); });
  auto step = s.prepare(inputs(x), outputs(y));
  EXPECT_EQ(step(vector<float>({3})).at<float>(0), 6);
  EXPECT_EQ(refusal([&] { s.prepare(inputs(x, v), outputs(y)); }), code::invalid_argument);
  auto of_two = s.prepare(inputs(value(two)), outputs(y));
  auto const e = error_of([&] { of_two(tensor(dtype::float32, {3})); });
  EXPECT_EQ(e.node(), "two");
  EXPECT_EQ(e.message(), "it is a float32[2] and was fed a float32[3]");
  EXPECT_EQ(of_two(vector<float>({1, 2})).at<float>(1), 4);
  // A computed value that is fed is not computed, whatever is said of it.
  auto const said = as<of<float, "k">>(-v, "said");
  EXPECT_EQ(s.run({{said, vector<float>({7})}}, said * 1.f).at<float>(0), 7);
}

TEST(as, lets_derivatives_through) {
  graph g;
  value const v = placeholder(g, of<double, 3>, "v"), open = placeholder(g, of<double, unknown>, "open");
  auto const x = as<of<double, "n">>(v);
  auto const three = as<of<double, 3>>(open);
  value const both = sum(x * x) + sum(v * 5.0) + sum(as<of<double, "n">>(open) * 3.0) + sum(three * three);
  auto const d = gradients(both, std::vector<value>{v, open, x});
  ASSERT_TRUE(d[0] && d[1] && d[2]);
  EXPECT_EQ(d[0].type(), (of<double, 3>));
  EXPECT_EQ(d[2].type(), (of<double, "n">));
  session s{g};
  auto const at = vector<double>({1, 2, 3});
  auto const [dv, dopen, dx] = s.run({{v, at}, {open, at}}, value(d[0]), value(d[1]), value(d[2]));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(dv.template at<double>(i), 2 * (i + 1) + 5);
    EXPECT_EQ(dopen.template at<double>(i), 2 * (i + 1) + 3);
    EXPECT_EQ(dx.template at<double>(i), 2 * (i + 1));
  }
  auto const second = gradients(sum(d[1]), std::vector<value>{open});
  EXPECT_EQ(s.run({{v, at}, {open, at}}, value(second[0])).at<double>(2), 2);
}

TEST(as, names_axes_for_each_call_of_a_function_and_each_run_of_a_body) {
  graph g;
  auto const named = [](value v) { return as<of<float, "n">>(v); };
  auto const positive = [](value v) { return gather(v, where(less(constant(*v.graph, 0.f), v))); };
  auto const twice = rill::function<"twice", of<float, unknown>>(g, [&](auto v) { return named(v) * 2.f; });
  auto const late = rill::function<"late", of<float, unknown>>(
      g, [&](auto v) { return sum(named(positive(v))) + sum(reshape<"m">(positive(v))); });
  auto const both = rill::function<"both", of<float, unknown>, of<float, unknown>>(g, [&](auto a, auto b) {
    auto const first = named(a);
    return first + named(b);
  });
  value const v = placeholder(g, of<float, unknown>, "v"), w = placeholder(g, of<float, unknown>, "w");
  auto const x = as<of<float, unknown>>(v), y = as<of<float, unknown>>(w);
  value const calls = sum(value(twice(x))) + sum(value(twice(y))), lately = late(x) + late(y);
  value const clash = both(x, y);
  auto const [n, last] = while_loop([](auto i, auto) { return i < 3; },
                                    [&](auto i, auto each) {
                                      auto const known = named(each);
                                      value const more = gather(known, where(less(constant(g, 1.f), known)));
                                      return std::tuple{i + 1, as<of<float, unknown>>(more)};
                                    },
                                    constant(g, 0), x);
  test::each_execution s{g};
  auto const run = [&](value const& what) {
    return s.run({{v, vector<float>({1, 2, 3})}, {w, vector<float>({4, -1})}}, what);
  };
  EXPECT_EQ(run(calls).at<float>(), 18);
  EXPECT_EQ(run(lately).at<float>(), 20);
  test::expect_error(code::invalid_argument, "axis 'n' is 3 elsewhere in this step and 1 here",
                     [&] { s.run({{v, vector<float>({1, 2, 3})}, {w, vector<float>({4})}}, clash); });
  EXPECT_EQ(run(last).elements(), 2);
  auto const [iterations, same] =
      while_loop([](auto i, auto) { return i < 9; },
                 [&](auto i, auto each) {
                   return std::tuple{i + 1, as<of<float, 3>>(value(gather(each, where(less(constant(g, 1.f), each)))))};
                 },
                 constant(g, 0), placeholder<float, 3>(g, "three"));
  test::expect_error(
      code::invalid_argument,
      "in iteration 0, node 'body_1/as': the value is not the float32[3] that it was said to be (float32[2])",
      [&] { s.run({{"three", vector<float>({2, 1, 2})}}, value(same)); });
}

TEST(as, says_again_outside_of_a_body_what_a_result_is) {
  graph g;
  auto const positive = [](value v) { return gather(v, where(less(constant(*v.graph, 0.f), v))); };
  auto const named = [](value v) { return as<of<float, "n">>(v); };
  value const v = placeholder(g, of<float, unknown>, "v");
  auto const x = placeholder<float, "n">(g, "x");
  auto const p = placeholder<bool>(g, "p");
  auto const open = as<of<float, unknown>>(v);
  auto const late = rill::function<"late", of<float, unknown>>(g, [&](auto a) { return named(positive(a)); });
  auto const known = rill::function<"known", of<float, unknown>>(g, [&](auto a) { return named(neg(a)); });
  auto const branch = cond(p, [&] { return named(positive(v)); }, [&] { return named(positive(neg(v))); });
  static_assert(decltype(branch)::static_type == of<float, "n">);
  test::each_execution rewritten{g}, plain{g, {.passes = pass_options::none()}};
  for (value const y : {value(branch + x), value(named(late(open)) + x), value(named(known(positive(v))) + x)})
    for (auto* s : {&rewritten, &plain}) {
      auto const run = [&](tensor const& of_x) {
        return s->run({{v, vector<float>({1, 2, -3})}, {p, tensor(true)}, {x, of_x}}, y);
      };
      EXPECT_EQ(std::abs(run(vector<float>({0, 0})).at<float>(1)), 2);
      for (auto const& other : {vector<float>({0}), vector<float>({0, 0, 0})})
        test::expect_error(code::invalid_argument,
                           "axis 'n' is " + std::to_string(other.elements()) + " elsewhere in this step and 2 here",
                           [&] { run(other); });
    }
  // What a function's body calls an axis is its own.
  static_assert(decltype(late(open))::static_type == of<float, unknown>);
  value const alone = sum(value(branch)), kept = identity(x);
  for (auto* s : {&rewritten, &plain}) {
    auto const [of_branch, of_x] = s->run(
        {{v, vector<float>({1, 2, -3})}, {p, tensor(false)}, {x, vector<float>({1, 2, 3})}}, value(late(open)), kept);
    EXPECT_EQ(of_branch.elements(), 2);
    EXPECT_EQ(of_x.elements(), 3);
  }
  EXPECT_EQ(rewritten.run({{v, vector<float>({1, 2, -3})}, {p, tensor(false)}}, alone).template at<float>(), 3);
}

TEST(function, keeps_what_its_signature_says_where_extents_are_settled_late) {
  graph g;
  auto const positive = [](value v) { return gather(v, where(less(constant(*v.graph, 0.f), v))); };
  value const v = placeholder(g, of<float, unknown>, "v"), w = placeholder(g, of<float, unknown>, "w");
  function(g, "sum", {of<float, "n">, of<float, "n">}, [](auto const& in) { return std::vector{add(in[0], in[1])}; });
  function(g, "three", {of<float, 3>}, [](auto const& in) { return std::vector{neg(in[0])}; });
  value const both = call(g, "sum", positive(v), positive(w))[0], three = call(g, "three", positive(v))[0];
  test::each_execution rewritten{g}, plain{g, {.passes = pass_options::none()}};
  for (auto* s : {&rewritten, &plain}) {
    auto const run = [&](value const& y, tensor const& of_w) {
      return s->run({{v, vector<float>({1, 2, -3})}, {w, of_w}}, y);
    };
    EXPECT_EQ(run(both, vector<float>({3, 4})).at<float>(1), 6);
    test::expect_error(code::invalid_argument, "in a call of 'sum' axis 'n' is 2 and 1",
                       [&] { run(both, vector<float>({3, -4})); });
    test::expect_error(code::invalid_argument, "'three' takes a float32[3] as argument 0 and was given a float32[2]",
                       [&] { run(three, vector<float>({3})); });
    EXPECT_EQ(s->run({{v, vector<float>({1, 2, 3})}}, three).at<float>(2), -3);
  }
}

TEST(as, names_an_open_variable_and_takes_part_in_its_updates) {
  graph g;
  auto const table = variable<float, unknown, 2>(g, "table");
  auto const x = placeholder<float, "n">(g, "x");
  auto const named = as<of<float, "n", 2>>(value(table), "named");
  value const y = sum<1>(named) + x;
  auto const set = assign(table, placeholder<float, unknown, 2>(g, "fresh"));
  session s{g};
  for (int rows : {2, 3}) {
    s.run({{"fresh", test::counting(dtype::float32, {rows, 2})}}, operation(set));
    EXPECT_EQ(s.run({{x, test::counting(dtype::float32, {rows})}}, y).at<float>(1), 9);
    test::expect_error(code::invalid_argument, "axis 'n' is 1 elsewhere",
                       [&] { s.run({{x, tensor(dtype::float32, {1})}}, y); });
  }
}

TEST(as, says_again_of_stacked_rows_what_a_body_says_of_each) {
  graph g;
  auto const v = placeholder<float, 2, unknown>(g, "v");
  auto const z = placeholder<float, "z">(g, "z");
  auto const named = [](auto const& row) { return as<of<float, "z">>(value(row)); };
  auto const mapped = map(named, v);
  static_assert(decltype(mapped)::static_type == of<float, 2, "z">);
  auto const first = placeholder<float, unknown>(g, "first");
  auto const scanned = scan([](auto const& sum, auto const& row) { return sum + row; },
                            as<of<float, "z">>(value(first)), as<of<float, 2, "z">>(value(v)));
  static_assert(decltype(scanned)::static_type == of<float, 2, "z">);
  value const plus = mapped + z, states = scanned + z;
  test::each_execution s{g};
  auto const rows = test::counting(dtype::float32, {2, 3});
  auto const start = test::counting(dtype::float32, {3});
  EXPECT_EQ(s.run({{v, rows}, {z, start}}, plus).at<float>(1, 2), 9);
  EXPECT_EQ(s.run({{v, rows}, {first, start}, {z, start}}, states).at<float>(1, 2), 15);
  auto const one = tensor(dtype::float32, {1});
  test::expect_error(code::invalid_argument, "axis 'z'", [&] { s.run({{v, rows}, {z, one}}, plus); });
  test::expect_error(code::invalid_argument, "axis 'z'", [&] { s.run({{v, rows}, {first, start}, {z, one}}, states); });
}

TEST(function, reads_a_variable_whose_axis_has_a_name_that_means_another_extent_outside) {
  graph g;
  auto const w = variable<float, "n">(g, "w");
  auto const set = assign(w, placeholder<float, unknown>(g, "fresh"));
  function(g, "total", {of<float>}, [&](auto const& in) {
    value const all = sum(value(w), {0});
    return std::vector{add(all, in[0])};
  });
  auto const x = placeholder<float, "n">(g, "x");
  value const y = add(call(g, "total", constant(g, 1.f))[0], value(x));
  test::each_execution rewritten{g}, plain{g, {.passes = pass_options::none()}};
  for (auto* s : {&rewritten, &plain}) {
    s->run({{"fresh", test::counting(dtype::float32, {3})}}, operation(set));
    EXPECT_EQ(s->run({{x, test::counting(dtype::float32, {2})}}, y).at<float>(1), 9);
  }
}

}  // namespace
}  // namespace rill
