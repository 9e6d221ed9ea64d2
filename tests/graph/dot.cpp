#include "rill/graph/dot.hpp"

#include <gtest/gtest.h>

#include "rill/graph/prune.hpp"
#include "rill/ops/array/constant.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/ops/control/function.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/exponential.hpp"

namespace rill {
namespace {

bool says(std::string const& text, std::string const& sub) { return text.find(sub) != std::string::npos; }

std::size_t count(std::string const& text, std::string const& sub) {
  std::size_t n = 0;
  for (std::size_t at = 0; (at = text.find(sub, at)) != std::string::npos; at += sub.size()) ++n;
  return n;
}

TEST(dot, draws_an_empty_graph) {
  graph g;
  EXPECT_TRUE(dot(g).starts_with("digraph {"));
  EXPECT_TRUE(dot(g).ends_with("}\n"));
}

TEST(dot, names_nodes_operations_and_the_types_on_edges) {
  graph g;
  auto const x = constant(g, matrix<float>({{1, 2, 3}}), "x");
  identity(neg(value(x)));
  auto const text = dot(g);
  EXPECT_TRUE(says(text, R"(n0 [label="x\nconstant"])")) << text;
  EXPECT_TRUE(says(text, R"(n1 [label="neg\nneg"])")) << text;
  EXPECT_TRUE(says(text, R"(n0 -> n1 [label="float32[1, 3]"])")) << text;
  EXPECT_TRUE(says(text, "n1 -> n2")) << text;
}

TEST(dot, dashes_control_edges) {
  graph g;
  auto const first = no_op(g, "first");
  g.after({first}, [&] { no_op(g, "second"); });
  EXPECT_TRUE(says(dot(g), "n0 -> n1 [style=dashed]"));
}

TEST(dot, puts_scopes_into_clusters_that_nest_and_are_not_opened_twice) {
  graph g;
  g.scope("outer", [&] {
    no_op(g, "a");
    g.scope("inner", [&] { no_op(g, "b"); });
    no_op(g, "c");
  });
  no_op(g, "d");
  auto const text = dot(g);
  EXPECT_EQ(count(text, "subgraph cluster_"), 2) << text;
  EXPECT_EQ(count(text, "label=\"outer\""), 1);
  EXPECT_EQ(count(text, "label=\"inner\""), 1);
  EXPECT_LT(text.find("label=\"outer\""), text.find("label=\"inner\""));
  EXPECT_TRUE(says(text, R"(label="b\nno_op")"));
  EXPECT_EQ(count(text, "{"), count(text, "}"));
}

TEST(dot, escapes_what_graphviz_would_read_as_its_own) {
  graph g;
  no_op(g, "a\"b\\N\n{c}\x01");
  g.on("/device:cpu:0", [&] { no_op(g, "d"); });
  auto const text = dot(g);
  EXPECT_TRUE(says(text, R"(label="a\"b\\N\n{c}?\nno_op")")) << text;
  EXPECT_TRUE(says(text, R"(label="d\nno_op\n/device:cpu:0")")) << text;
}

TEST(dot, keeps_characters_and_replaces_bytes_that_are_none) {
  graph g;
  no_op(g, "größe");
  no_op(g, "bad\xff");
  EXPECT_TRUE(says(dot(g), "größe"));
  EXPECT_TRUE(says(dot(g), "bad?"));
}

TEST(dot, draws_a_part_with_its_results_emphasized) {
  graph g;
  value const x = constant(g, 2.f), y = neg(x), z = neg(y);
  auto const sub = prune(g, {y.endpoint()}, {z.endpoint()}, {});
  auto const text = dot(sub);
  EXPECT_TRUE(says(text, R"(\nfed"])")) << text;
  EXPECT_EQ(count(text, "peripheries=2"), 1) << text;
}

TEST(dot, draws_each_function_once_in_a_cluster_of_its_own) {
  graph g;
  auto const f = rill::function<"f", of<float>>(g, [](auto a) { return exp(a) + a; });
  f(f(constant(g, 1.f)));
  auto const text = dot(g);
  EXPECT_EQ(count(text, "call of f"), 2) << text;
  EXPECT_EQ(count(text, "label=\"function f\""), 1);
  EXPECT_EQ(count(text, R"(exp\nexp)"), 1);
  EXPECT_TRUE(says(text, "f0n0 -> f0n1 [label=\"float32[]\"]")) << text;
  EXPECT_EQ(count(text, "{"), count(text, "}"));
}

}  // namespace
}  // namespace rill
