#include "rill/ops/state/assign.hpp"

#include <gtest/gtest.h>

#include "base/sentence.hpp"
#include "rill/ops/control/while_loop.hpp"
#include "rill/ops/list/operations.hpp"
#include "rill/run/session.hpp"
#include "rill/state/container.hpp"

namespace {

using namespace rill;

TEST(variable, reads_as_the_step_found_it_and_keeps_its_value_between_steps) {
  graph g;
  auto const v = variable(constant<float, 2>(g, {1, 2}), "v");
  auto const update = assign_add(v, constant<float, 2>(g, {10, 10}));
  session s{g};
  s.run(initializer(g));
  auto const [before, after] = s.run(v, update);
  EXPECT_EQ(before.values()[1], 2.f);
  EXPECT_EQ(after.values()[1], 12.f);
  EXPECT_EQ(s.run(v).values()[1], 12.f);
}

TEST(variable, of_a_taken_name_is_an_error_that_says_how_to_share_it) {
  graph g;
  auto const first = constant(g, 1.f);
  variable(first, "w");
  for (auto again : {+[](value f) { variable(f, "w"); }, +[](value f) { variable<float>(*f.graph, "w"); },
                     +[](value f) { variable(*f.graph, of<double, 3>, "w"); }}) {
    auto const before = g.size();
    EXPECT_EQ(sentence([&] { again(first); }),
              "invalid_argument: node 'w': the graph already has a variable of this name: to share it, use the handle "
              "that it was declared with, or keep its layer (dense_layer, conv2d_layer, ...) and call that again; for "
              "separate weights, choose another name");
    EXPECT_EQ(g.size(), before);
  }
  placeholder<float>(g, "x");
  EXPECT_NE(sentence([&] {
              variable(first, "x");
            }).find("a node 'placeholder' has this one: choose another name, or declare"),
            std::string::npos);
  g.scope("part", [&] { variable(first, "w"); });
  EXPECT_NE(sentence([&] { variable(first, "part"); }).find("a scope or a body has this one"), std::string::npos);
  EXPECT_EQ(constant(g, 1.f, "w").name(), "w_1");  // other nodes are numbered
}

TEST(variable, has_the_name_of_its_scopes_as_they_are_written) {
  graph g;
  auto const first = constant(g, 1.f);
  auto const in_part = [&](std::string_view name) { return g.scope("part", [&] { return variable(first, name); }); };
  EXPECT_EQ(in_part("a").name(), "part/a");
  EXPECT_EQ(in_part("b").name(), "part/b");  // though nodes of this scope begin with part_1/
  EXPECT_EQ(refusal([&] { in_part("a"); }), code::invalid_argument);
  EXPECT_EQ(g.scope("part", [&] { return neg(first); }).name(), "part_3/neg");
  EXPECT_EQ(g.unscoped([&] { return variable(first, "c"); }).name(), "c");
  EXPECT_EQ(g.scope("part", [&] { return g.unscoped([&] { return variable(first, "part/d"); }); }).name(), "part/d");
}

TEST(variable, without_a_value_is_an_error_that_names_it_and_says_what_to_do) {
  graph g;
  auto const v = variable<float, 2>(g, "w");
  session s{g};
  EXPECT_FALSE(bool(s.run(is_initialized(v))));
  try {
    s.run(v);
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::failed_precondition);
    EXPECT_NE(std::string(e.what()).find("initializer(graph)"), std::string::npos);
    EXPECT_EQ(e.node(), "w");
  }
  s.run(assign(v, constant<float, 2>(g, {1, 2})));
  EXPECT_TRUE(bool(s.run(is_initialized(v))));
}

TEST(variable, gets_its_first_value_only_where_it_has_none) {
  for (auto const& passes : {pass_options::none(), pass_options{.verify = true}}) {
    graph g(5);
    auto const v = variable(normal<float, 3>(g), "v");
    auto const w = variable(normal<float, 3>(g) + initial_value(v), "w");
    auto const words = variable(constant(g, tensor::adopt(std::vector<std::string>{"a", "b"}, {2})), "words");
    session s{g, {.passes = passes}}, fresh{g, {.passes = passes}};
    fresh.run(initializer(g));
    s.run(assign(v, constant<float, 3>(g, {1, 2, 3})));
    auto const missing = initializer(g, only_missing);
    s.run(missing);
    EXPECT_TRUE(same_bits(s.get(v), vector<float>({1, 2, 3})));
    EXPECT_TRUE(same_bits(s.get(w), fresh.get(w))) << "the same draws as initializer's";
    EXPECT_EQ(s.get(words).at<std::string>(1), "b");
    s.run(assign_add(w, constant<float, 3>(g, {1, 1, 1})));
    auto const before = s.get(w);
    s.run(missing);
    EXPECT_TRUE(same_bits(s.get(w), before));
  }
}

TEST(variable, of_open_extents_keeps_the_value_that_it_has) {
  graph g;
  auto const first = constant(g, vector<float>({7, 7}));
  auto const v = detail::variable_of(of<float, unknown>, first, "v", {});
  session s{g};
  s.set(v, vector<float>({1, 2, 3}));
  auto const missing = initializer(g, only_missing);
  s.run(missing);
  EXPECT_EQ(s.get(v).elements(), 3);
  s.state().reset();
  s.run(missing);
  EXPECT_TRUE(same_bits(s.get(v), vector<float>({7, 7})));
}

TEST(variable, may_start_with_what_is_computed) {
  graph g;
  auto const v = variable(uniform<float, 4>(g, 1, 2) * 2.f, "v");
  session s{g};
  s.run(initializer(g));
  auto const first = s.run(v);
  for (float x : first.values()) EXPECT_TRUE(x >= 2 && x < 4);
}

TEST(variable, may_start_as_another_does) {
  graph g;
  auto const v = variable(uniform<float, 4>(g), "v");
  auto const copy = variable(initial_value(v), "copy");
  auto const twice = variable(initial_value(copy) * 2.f, "twice");
  auto const erased = variable(initial_value(variable_value(v)), "erased");
  static_assert(std::same_as<decltype(initial_value(v)), expr<of<float, 4>>>);
  for (auto const& passes : {pass_options::none(), pass_options{.verify = true}}) {
    session s{g, {.passes = passes}};
    s.run(initializer(g));
    auto const [a, b, c, d] = s.run(v, copy, twice, erased);
    EXPECT_TRUE(same_bits(a, b));
    EXPECT_TRUE(same_bits(a, d));
    for (int i = 0; i < 4; ++i) EXPECT_EQ(c.at<float>(i), a.at<float>(i) * 2);
    s.run(assign(v, constant<float, 4>(g, {1, 2, 3, 4})));
    EXPECT_TRUE(same_bits(s.run(copy), a));
  }
  auto const inside = while_loop([](auto i) { return i < 1.f; },
                                 [&](auto i) { return i + 1.f + 0.f * sum(initial_value(v)); }, constant(g, 0.f));
  EXPECT_EQ(float(session(g).run(inside)), 1.f);
  auto const empty = variable(g, of<float>, "empty");
  EXPECT_EQ(refusal([&] { initial_value(empty); }), code::failed_precondition);
  EXPECT_EQ(refusal([&] { g.add_initial({empty.node, no_op(g).node}); }), code::invalid_argument) << "as bytes may say";
}

TEST(variable, is_shared_by_sessions_with_one_container_and_by_no_others) {
  graph g;
  auto const v = variable(constant(g, 1.f), "v");
  auto const up = assign_add(v, constant(g, 1.f));
  auto const state = std::make_shared<container>();
  session a{g, {.state = state}}, b{g, {.state = state}}, c{g};
  a.run(initializer(g));
  a.run(operation(up));
  EXPECT_EQ(float(b.run(v)), 2.f);
  EXPECT_THROW(c.run(v), error);
  state->reset();
  EXPECT_THROW(a.run(v), error);
}

TEST(variable, that_is_fed_is_read_as_fed_while_read_and_updates_mean_the_variable_itself) {
  graph g;
  auto const v = variable(constant<float, 3>(g, {1, 2, 3}), "v");
  auto const row = gather(v, constant<std::int32_t, 1>(g, {2}));
  session s{g};
  s.run(initializer(g));
  auto const fed = tensor(vector<float>({7, 8, 9}));
  auto const [whole, now, one, is] = s.run({{static_cast<value>(v), fed}}, v, read(v), row, is_initialized(v));
  EXPECT_EQ(whole.values()[0], 7.f);
  EXPECT_EQ(now.values()[1], 2.f);
  EXPECT_EQ(one.values()[0], 9.f);
  EXPECT_TRUE(bool(is));
}

TEST(assign, changes_integers_and_wraps) {
  graph g;
  auto const v = variable(constant<std::uint8_t>(g, 250), "v");
  session s{g};
  s.run(initializer(g));
  EXPECT_EQ(std::uint8_t(s.run(assign_add(v, constant<std::uint8_t>(g, 10)))), 4);
}

TEST(assign, keeps_snapshots_as_they_were) {
  graph g;
  auto const v = variable(constant<float, 3>(g, {1, 2, 3}), "v");
  auto const up = assign_sub(v, constant<float, 3>(g, {1, 1, 1}));
  session s{g};
  s.run(initializer(g));
  auto const snapshot = s.run(v);
  for (int i = 0; i < 5; ++i) s.run(operation(up));
  EXPECT_EQ(snapshot.values()[2], 3.f);
  EXPECT_EQ(s.run(v).values()[2], -2.f);
}

TEST(assign, of_a_string_and_of_nothing) {
  graph g;
  auto const name = variable(constant<std::string>(g, "one"), "name");
  auto const none = variable(constant<float, 0>(g, {}), "none");
  session s{g};
  s.run(initializer(g));
  EXPECT_EQ(s.run(name).item<std::string>(), "one");
  EXPECT_EQ(s.run(none).elements(), 0);
  s.run(assign(name, constant<std::string>(g, "two")));
  EXPECT_EQ(s.run(name).item<std::string>(), "two");
}

TEST(assign, of_another_type_is_refused_while_recording) {
  graph g;
  auto const v = variable(g, of<float, 2>, "v");
  EXPECT_THROW(assign(v, value(constant<double, 2>(g, {1, 2}))), error);
  EXPECT_THROW(assign(v, value(constant<float, 3>(g, {1, 2, 3}))), error);
}

TEST(variable, that_is_an_empty_handle_is_an_error) {
  graph g;
  auto const one = constant(g, 1.f);
  EXPECT_EQ(refusal([&] { assign(variable_value{}, one); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { assign_add(variable_expr<of<float>>{}, one); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { read(variable_value{}); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { read(variable_expr<of<float>>{}); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { is_initialized(variable_value{}); }), code::invalid_argument);
}

}  // namespace
