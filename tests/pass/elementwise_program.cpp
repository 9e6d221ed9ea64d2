#include "rill/pass/elementwise_program.hpp"

#include <gtest/gtest.h>

#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/math/exponential.hpp"
#include "rill/ops/sum/sum.hpp"
#include "subgraphs.hpp"

namespace rill::detail {
namespace {

std::uint32_t find(subgraph const& sub, std::string_view operation) {
  for (std::uint32_t i = 0; i < sub.size(); ++i)
    if (sub[i].op->name == operation) return i;
  return UINT32_MAX;
}

TEST(elementwise_program, takes_elementwise_nodes_of_known_extents_and_no_strings) {
  graph g;
  auto const x = placeholder<float, 3>(g, "x");
  auto const s = placeholder<std::string, 3>(g, "s");
  auto const open = placeholder(g, type(dtype::float32, {unknown}), "open");
  auto const sub = part_of(g, {exp(x), sum(x), equal(s, s)}, {}, {x, s});
  EXPECT_TRUE(elementwise_program::takes(sub, find(sub, "exp")));
  EXPECT_FALSE(elementwise_program::takes(sub, find(sub, "sum")));
  EXPECT_FALSE(elementwise_program::takes(sub, find(sub, "equal")));
  EXPECT_FALSE(elementwise_program::takes(sub, sub.inputs[0]));
  auto const bare = prune(g, {open.endpoint()}, {neg(open).endpoint()}, {});
  EXPECT_FALSE(elementwise_program::takes(bare, find(bare, "neg")));
}

TEST(elementwise_program, has_the_lines_of_nodes_and_of_programs_within_them) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const both = fuse<"both">([](auto a, auto b) { return a * b + 1.f; }, x, x);
  auto const sub = part_of(g, {neg(both), both}, {}, {x});
  elementwise_program p(sub);
  p.add_input({sub.inputs[0], 0});
  EXPECT_EQ(p.find(endpoint{find(sub, "fused"), 0}), p.none);
  p.add(find(sub, "fused"));
  p.add(find(sub, "neg"));
  auto const made = p.finish({{find(sub, "neg"), 0}, {find(sub, "fused"), 0}, {sub.inputs[0], 0}});
  verify(made);
  EXPECT_EQ(text(made), "r2:float32 = mul(r0, r0)\nr3:float32 = add(r2, r1)\nr4:float32 = neg(r3)\n");
  EXPECT_EQ(made.outputs, (std::vector<std::uint16_t>{4, 3, 0}));
}

}  // namespace
}  // namespace rill::detail
