#include "rill/pass/common_subexpressions.hpp"

#include <gtest/gtest.h>

#include "rill/ops/list/operations.hpp"
#include "subgraphs.hpp"

namespace {

using namespace rill;

TEST(common_subexpressions, merges_equal_nodes_and_those_that_follow_from_them) {
  graph g;
  auto const x = placeholder<float, 3>(g, "x");
  auto const y = exp(x) * 2.f + exp(x) * 2.f;
  auto sub = part_of(g, {y}, {}, {x});
  EXPECT_TRUE(merge_common_subexpressions(sub, nullptr));
  verify(sub);
  EXPECT_EQ(count(sub, "exp"), 1u);
  EXPECT_EQ(count(sub, "mul"), 1u);
  EXPECT_EQ(count(sub, "constant"), 1u);
}

TEST(common_subexpressions, knows_that_addition_commutes_and_subtraction_does_not) {
  graph g;
  auto const x = placeholder<float, 3>(g, "x"), y = placeholder<float, 3>(g, "y");
  auto sub = part_of(g, {x + y, y + x, x - y, y - x}, {}, {x, y});
  EXPECT_TRUE(merge_common_subexpressions(sub, nullptr));
  EXPECT_EQ(count(sub, "add"), 1u);
  EXPECT_EQ(count(sub, "sub"), 2u);
  EXPECT_EQ(sub.outputs[0], sub.outputs[1]);
  EXPECT_NE(sub.outputs[2], sub.outputs[3]);
}

TEST(common_subexpressions, respects_attributes_control_edges_and_state) {
  graph g;
  auto const x = placeholder<float, 3, 3>(g, "x");
  auto const first = sum<0>(x);
  auto const second = sum<1>(x);
  auto const later = g.after({first}, [&] { return sum<0>(x); });
  auto const v = variable(constant<float, 3>(g, {1, 2, 3}), "v");
  auto sub = part_of(g, {first, second, later, read(v), read(v)}, {}, {x});
  EXPECT_FALSE(merge_common_subexpressions(sub, nullptr));
  EXPECT_EQ(count(sub, "sum"), 3u);
  EXPECT_EQ(count(sub, "read"), 2u);
}

TEST(common_subexpressions, tells_constants_apart_by_their_bits) {
  graph g;
  auto const zero = constant(g, 0.f), minus = constant(g, -0.f), nan = constant(g, NAN), again = constant(g, NAN);
  auto sub = part_of(g, {zero, minus, nan, again});
  pass_report report;
  merge_common_subexpressions(sub, &report);
  EXPECT_EQ(count(sub, "constant"), 3u);
  EXPECT_EQ(report.lines.size(), 1u);
  EXPECT_NE(report.text().find("common subexpressions: already computed: constant_3"), std::string::npos);
}

TEST(common_subexpressions, keeps_equal_nodes_of_different_places) {
  graph g;
  auto const x = placeholder<float, 3>(g, "x");
  auto const here = exp(x);
  auto const there = g.on("gpu:0", [&] { return exp(x); }), there_too = g.on("gpu:0", [&] { return exp(x); });
  auto const beside = g.near(there, [&] { return exp(x); }), beside_too = g.near(there, [&] { return exp(x); });
  auto sub = part_of(g, {here, there, there_too, beside, beside_too}, {}, {x});
  EXPECT_TRUE(merge_common_subexpressions(sub, nullptr));
  EXPECT_EQ(count(sub, "exp"), 3u);
  EXPECT_EQ(sub.outputs[1], sub.outputs[2]);
  EXPECT_EQ(sub.outputs[3], sub.outputs[4]);
}

}  // namespace
