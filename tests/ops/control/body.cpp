#include "rill/ops/control/body.hpp"

#include <gtest/gtest.h>

#include "base/sentence.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

using values = std::vector<value>;

TEST(results_of, are_listed_whatever_a_lambda_returns) {
  graph g;
  auto const x = placeholder<float>(g, "x"), y = placeholder<float>(g, "y");
  auto const count = [](auto&& f, auto... in) { return detail::results_of(f, in...).size(); };
  int ran = 0;
  EXPECT_EQ(count([&] { ++ran; }), 0);
  EXPECT_EQ(count([&] { return ++ran, no_op(g); }), 0);
  EXPECT_EQ(ran, 2);
  EXPECT_EQ(count([](auto a) { return a; }, x), 1);
  EXPECT_EQ(count([](auto a) { return std::tuple{a}; }, x), 1);
  auto const both = detail::results_of([](auto a, auto b) { return std::tuple{b, value(a)}; }, x, y);
  ASSERT_EQ(both.size(), 2);
  EXPECT_EQ(both[0].endpoint(), y.endpoint());
  EXPECT_EQ(both[1].endpoint(), x.endpoint());
}

TEST(handle_outside, keeps_the_type_where_the_compiler_knows_it) {
  using X = expr<of<float, 2>>;
  static_assert(std::same_as<detail::handle_outside<X>::type, X>);
  static_assert(std::same_as<detail::handle_outside<value>::type, value>);
  static_assert(std::same_as<detail::handle_outside<std::tuple<X, value>>::type, std::tuple<X, value>>);
  static_assert(std::same_as<detail::handle_outside<void>::type, std::tuple<>>);
  static_assert(std::same_as<detail::handle_outside<variable_expr<of<float, 2>>>::type, X>);
}

TEST(merge_captures, makes_one_list_of_the_captures_of_all_bodies_and_puts_updated_variables_first) {
  graph g;
  value const x = placeholder(g, of<float>, "x"), y = placeholder(g, of<float>, "y");
  auto const v = variable(g, of<float>, "v"), w = variable(g, of<float>, "w");
  auto first = record_body(g, "first", {of<float>}, [&](values const& in) {
    value const read = add(value(v), in[0]);
    return values{add(read, x)};
  });
  auto second = record_body(g, "second", {}, [&](values const&) {
    assign(w, constant(g, 1.f));
    value const read = neg(value(v));
    value const shifted = add(read, y);
    return values{add(shifted, x)};
  });
  auto const all = detail::merge_captures({{&first, 1}, {&second, 0}});
  ASSERT_EQ(all.captures.size(), 2);
  EXPECT_EQ(all.captures[0].endpoint(), x.endpoint());
  EXPECT_EQ(all.captures[1].endpoint(), y.endpoint());
  ASSERT_EQ(all.references.size(), 2);
  EXPECT_EQ(all.references[0].endpoint(), w.endpoint());
  EXPECT_EQ(all.references[1].endpoint(), v.endpoint());
  EXPECT_EQ(all.updates, 1);
  EXPECT_EQ(all.effect, effect::writes);
  EXPECT_EQ(first.subgraph.inputs.size(), 3);
  EXPECT_EQ(second.subgraph.inputs.size(), 2);
  EXPECT_EQ(second.subgraph[second.subgraph.inputs[0]].name, "second/x");
  EXPECT_NO_THROW(verify(first.subgraph));
  EXPECT_NO_THROW(verify(second.subgraph));
}

TEST(common_type, leaves_extents_open_that_differ_and_refuses_other_elements_and_ranks) {
  auto const common = [](type const& a, type const& b) { return detail::common_type(a, b, "no"); };
  EXPECT_EQ(common(of<float, 2, 3>, of<float, 2, 3>), (of<float, 2, 3>));
  EXPECT_EQ(common(of<float, 2, 3>, of<float, 2, 4>), type(dtype::float32, {2, unknown}));
  EXPECT_EQ(common(of<float, "n">, of<float, "m">), type(dtype::float32, {unknown}));
  auto const open = type::of_unknown_rank(dtype::float32);
  EXPECT_EQ(common(open, open), open);
  EXPECT_EQ(common(open, of<float, 2>), open);
  EXPECT_EQ(common(of<float, 2>, open), open);
  for (auto const& other : {of<double, 2>, of<float>, of<float, 2, 2>})
    EXPECT_EQ(sentence([&] { common(of<float, 2>, other); }), "invalid_argument: no");
}

TEST(place_of, begins_with_the_node_if_there_is_one) {
  EXPECT_EQ(detail::place_of(error(code::internal, "words")), ": words");
  EXPECT_EQ(detail::place_of(error(code::internal, "words", "x")), ", node 'x': words");
}

}  // namespace
}  // namespace rill
