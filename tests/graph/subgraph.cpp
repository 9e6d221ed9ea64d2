#include "rill/graph/subgraph.hpp"

#include <gtest/gtest.h>

#include "rill/graph/prune.hpp"
#include "rill/ops/array/constant.hpp"
#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/ops/control/function.hpp"
#include "rill/ops/math/arithmetic.hpp"

namespace rill {
namespace {

/// x -> neg -> neg, the first of them twice in an add.
subgraph sample() {
  graph g;
  value const x = placeholder(g, of<float, 2>, "x"), y = neg(x);
  return prune(g, {x.endpoint()}, {add(y, y).endpoint()}, {y.node});
}

void refused(subgraph const& g) {
  try {
    verify(g);
    FAIL() << "the subgraph was accepted";
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::internal);
  }
}

TEST(subgraph, knows_the_types_of_its_values) {
  auto const p = sample();
  EXPECT_NO_THROW(verify(p));
  EXPECT_EQ(p.type_of(p.outputs[0]), (of<float, 2>));
  EXPECT_EQ(p.size(), 3);
}

TEST(subgraph, is_refused_with_a_node_without_operation) {
  auto p = sample();
  p[1].op = nullptr;
  refused(p);
}

TEST(subgraph, is_refused_with_too_few_or_too_many_inputs) {
  auto p = sample();
  p[1].inputs.clear();
  refused(p);
  p = sample();
  p[1].inputs.push_back({0, 0});
  refused(p);
}

TEST(subgraph, is_refused_when_a_node_comes_before_its_inputs) {
  auto p = sample();
  p[1].inputs[0] = {1, 0};
  refused(p);
  p = sample();
  p[1].controls = {2};
  refused(p);
}

TEST(subgraph, is_refused_with_outputs_that_do_not_exist) {
  auto p = sample();
  p[2].inputs[0].port = 1;
  refused(p);
  p = sample();
  p.outputs[0] = {7, 0};
  refused(p);
  p = sample();
  p.targets = {7};
  refused(p);
}

TEST(subgraph, is_refused_with_a_call_that_is_not_as_its_function) {
  graph g;
  auto const x = constant<float, 2>(g, {1, 2});
  auto const n = constant(g, 1);
  auto const f = rill::function<"f", of<float, 2>>(g, [](auto a) { return -a; });
  value const y = f(x), other = n;
  auto const whole = prune(g, {}, {y.endpoint(), other.endpoint()}, {});
  EXPECT_NO_THROW(verify(whole));
  auto const call = std::find_if(whole.nodes.begin(), whole.nodes.end(), [](node const& c) { return called_by(c); });
  auto const at = static_cast<std::uint32_t>(call - whole.nodes.begin());
  auto p = whole;
  p[at].inputs.clear();
  refused(p);
  p = whole;
  p[at].inputs[0] = p.outputs[1];
  refused(p);
  p = whole;
  p[at].outputs.clear();
  p.outputs.clear();
  refused(p);
}

}  // namespace
}  // namespace rill
