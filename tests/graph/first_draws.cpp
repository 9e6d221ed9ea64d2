#include "rill/graph/first_draws.hpp"

#include <gtest/gtest.h>

#include "rill/graph/codec.hpp"
#include "rill/ops/list/registry.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

using draws = std::vector<float>;

// What the variables of a graph start with, by name.
std::map<std::string, draws> start(graph& g, std::int64_t steps_before = 0, session_options options = {.threads = 1}) {
  auto const all = initializer(g);
  session s{g, options};
  for (std::int64_t i = 0; i < steps_before; ++i) s.run(no_op(g));
  s.run(all);
  std::map<std::string, draws> found;
  for (auto const& v : trainable_variables(g)) {
    tensor const t = s.run(value(v));
    found[v.name()] = draws(t.span<float>().begin(), t.span<float>().end());
  }
  return found;
}

// Variables whose first values draw in every way: by an initializer, before the variable is declared, in loops,
// branches and functions, and by what another one starts with.
std::map<std::string, void (*)(graph&)> const declare{
    {"glorot", [](graph& g) { variable<float, 3, 2>(g, "glorot", glorot()); }},
    {"he", [](graph& g) { variable<float, 3, 2>(g, "he", he()); }},
    {"sum of draws", [](graph& g) { variable(uniform<float, 6>(g) * 2.f + normal<float, 6>(g), "sum of draws"); }},
    {"loop of draws",
     [](graph& g) {
       variable(map([&](auto x) { return x + uniform<float, 2>(g); }, constant<float, 3, 2>(g, {0, 0, 0, 0, 0, 0})),
                "loop of draws");
     }},
    {"branch of draws",
     [](graph& g) {
       auto const b = [&] { return uniform<float, 6>(g); };
       variable(cond(uniform<float>(g) < 0.5f, b, b), "branch of draws");
     }},
    {"function of draws",
     [](graph& g) {
       auto const f = function<"noise", of<float, 6>>(g, [&](auto x) { return x + uniform<float, 6>(g); });
       auto const zeros = constant<float, 6>(g, {0, 0, 0, 0, 0, 0});
       variable(f(zeros) + f(zeros), "function of draws");
     }},
};

TEST(first_draws, depend_on_the_seed_and_the_name_of_the_variable_alone) {
  graph in_order(7), reversed(7), other(8);
  for (auto const& [_, make] : declare) make(in_order), make(other);
  uniform<float, 3>(reversed);
  for (auto at = declare.rbegin(); at != declare.rend(); ++at) {
    neg(normal<float, 2>(reversed));
    at->second(reversed);
  }
  auto const expected = start(in_order), late = start(reversed, 5), differ = start(other);
  ASSERT_EQ(expected.size(), declare.size());
  for (auto const& [name, values] : expected) {
    EXPECT_EQ(late.at(name), values) << name;
    EXPECT_NE(differ.at(name), values) << name;
    for (auto const& [second, others] : expected)
      if (second != name) {
        EXPECT_NE(others, values) << name << " and " << second;
      }
  }
  for (auto const& [name, make] : declare) {
    graph alone(7);
    make(alone);
    EXPECT_EQ(start(alone).at(name), expected.at(name)) << name;
  }
}

TEST(first_draws, are_the_same_in_every_execution_from_bytes_and_again) {
  graph g(7);
  for (auto const& [_, make] : declare) make(g);
  auto const expected = start(g);
  for (auto execution : {execution::sequential, execution::parallel, execution::tagged})
    EXPECT_EQ(start(g, 1, {.threads = 2, .execution = execution}), expected);
  auto const again = graph_from_bytes(to_bytes(g), all_operations());
  EXPECT_EQ(start(*again, 3), expected);
  session s{g, {.threads = 1}};
  auto const all = initializer(g);
  s.run(all);
  tensor const once = tensor(s.run("sum of draws")).clone();
  s.run(all);
  EXPECT_TRUE(same_bits(once, s.run("sum of draws")));
}

TEST(first_draws, of_one_value_are_those_of_the_variable_that_was_declared_first) {
  graph g(7), alone(7);
  auto const v = variable(uniform<float, 4>(g), "v");
  auto const copy = variable(initial_value(v), "a_copy");
  auto const sum = variable(initial_value(v) + uniform<float, 4>(g), "more");
  variable(uniform<float, 4>(alone), "v");
  auto const found = start(g);
  EXPECT_EQ(found.at("v"), start(alone).at("v"));
  EXPECT_EQ(found.at("a_copy"), found.at("v"));
  EXPECT_NE(found.at("more"), found.at("v"));
  session s{g, {.threads = 1}};
  for (auto const& i : g.initials()) {  // each in a step of its own
    if (i.variable == copy.node || i.variable == sum.node) s.run(operation(&g, i.assignment));
  }
  tensor const copied = s.run(copy);
  EXPECT_EQ(draws(copied.span<float>().begin(), copied.span<float>().end()), found.at("v"));
  EXPECT_EQ(tensor(s.run(sum)).at<float>(2), found.at("more")[2]);
}

TEST(first_draws, leave_alone_what_other_steps_draw) {
  graph g(7);
  auto const noise = uniform<float, 4>(g);
  variable(noise, "v");
  session s{g, {.threads = 1}};
  auto const [first, once] = s.run(noise, noise + 0.f);
  EXPECT_TRUE(same_bits(first, once));
  EXPECT_FALSE(same_bits(first, s.run(noise)));
  auto const given = s.run(noise, initializer(g));  // the value that the variable gets
  EXPECT_TRUE(same_bits(given, s.run("v")));
}

TEST(first_draws, of_a_derivative_through_a_loop_that_draws_are_those_of_the_loop) {
  graph g(7);
  auto const x = constant<float, 3>(g, {1, 1, 1});
  auto const y = map([&](auto row) { return row * uniform<float>(g); }, x);
  auto const [dx] = gradients(y, x);  // what the loop drew
  variable(dx, "dx");
  variable(y + 0.f, "y");
  auto const found = start(g);
  EXPECT_EQ(found.at("dx"), found.at("y"));
}

}  // namespace
}  // namespace rill
