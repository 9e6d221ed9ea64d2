#include "rill/graph/prune.hpp"

#include <gtest/gtest.h>

#include "rill/ops/array/constant.hpp"
#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/state/assign.hpp"

namespace rill {
namespace {

std::vector<std::string> names(subgraph const& sub) {
  std::vector<std::string> all;
  for (auto const& n : sub.nodes) all.push_back(n.name);
  return all;
}

TEST(prune, keeps_what_the_fetches_need_and_nothing_else) {
  graph g;
  value const x = constant(g, tensor(1.f), "x"), y = neg(x);
  square(y);
  auto const sub = prune(g, {}, {y.endpoint()}, {});
  EXPECT_EQ(names(sub), (std::vector<std::string>{"x", "neg"}));
  EXPECT_EQ(sub.outputs, (std::vector<endpoint>{{1, 0}}));
  EXPECT_NO_THROW(verify(sub));
}

TEST(prune, stops_at_what_is_fed) {
  graph g;
  value const x = placeholder(g, of<float>, "x"), y = neg(x), z = square(y);
  auto const sub = prune(g, {y.endpoint()}, {z.endpoint()}, {});
  EXPECT_EQ(names(sub), (std::vector<std::string>{"neg", "square"}));
  EXPECT_EQ(sub[0].op, &fed_op);
  EXPECT_EQ(sub.inputs, (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(sub.origin, (std::vector<std::uint32_t>{y.node, z.node}));
}

TEST(prune, fetches_what_is_fed) {
  graph g;
  value const x = placeholder(g, of<float>, "x");
  auto const sub = prune(g, {x.endpoint()}, {x.endpoint(), x.endpoint()}, {});
  EXPECT_EQ(sub.size(), 1);
  EXPECT_EQ(sub.outputs, (std::vector<endpoint>{{0, 0}, {0, 0}}));
}

TEST(prune, follows_control_edges_and_targets) {
  graph g;
  auto const first = no_op(g, "first");
  auto const second = g.after({first}, [&] { return no_op(g, "second"); });
  no_op(g, "other");
  auto const sub = prune(g, {}, {}, {second.node});
  EXPECT_EQ(names(sub), (std::vector<std::string>{"first", "second"}));
  EXPECT_EQ(sub[1].controls, (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(sub.targets, (std::vector<std::uint32_t>{1}));
}

TEST(prune, takes_a_fed_placeholder_for_what_a_control_edge_comes_from) {
  graph g;
  value const x = placeholder(g, of<float>, "x"), other = constant(g, tensor(1.f), "other");
  value const y = g.after({operation(x)}, [&] { return neg(other); });
  auto const sub = prune(g, {x.endpoint()}, {y.endpoint()}, {});
  EXPECT_EQ(names(sub), (std::vector<std::string>{"x", "other", "neg"}));
  EXPECT_EQ(sub[2].controls, (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(sub[0].op, &fed_op);
  EXPECT_NO_THROW(verify(sub));
  auto const without = prune(g, {}, {y.endpoint()}, {});
  EXPECT_EQ(without[without[2].controls[0]].op->name, "placeholder") << "which asks for the feed";
}

TEST(prune, runs_what_a_control_edge_comes_from_though_its_value_is_fed) {
  graph g;
  value const x = placeholder(g, of<float>, "x"), y = neg(x);
  value const z = g.after({operation(y)}, [&] { return square(x); });
  auto const sub = prune(g, {y.endpoint(), x.endpoint()}, {z.endpoint()}, {});
  EXPECT_EQ(names(sub), (std::vector<std::string>{"neg", "x", "neg", "square"}));
  EXPECT_EQ(sub[3].controls, (std::vector<std::uint32_t>{2}));
}

TEST(prune, keeps_a_variable_that_is_updated_though_its_value_is_fed) {
  graph g;
  auto const v = variable(g, of<float>, "v");
  auto const update = assign(v, constant(g, 1.f));
  auto const sub = prune(g, {v.endpoint()}, {update.endpoint()}, {});
  EXPECT_NO_THROW(verify(sub));
  auto const& n = sub[sub.outputs[0].node];
  EXPECT_EQ(sub[n.inputs[0].node].op->name, "variable");
}

TEST(prune, gives_an_empty_part_for_nothing) {
  graph g;
  constant(g, 1.f);
  EXPECT_EQ(prune(g, {}, {}, {}).size(), 0);
}

}  // namespace
}  // namespace rill
