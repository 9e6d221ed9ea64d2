#include "rill/pass/rewriter.hpp"

#include <gtest/gtest.h>

#include "base/sentence.hpp"
#include "rill/ops/array/constant.hpp"
#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/exponential.hpp"
#include "subgraphs.hpp"

namespace rill {
namespace {

std::uint32_t at(subgraph const& sub, std::string_view name) {
  for (std::uint32_t i = 0; i < sub.size(); ++i)
    if (sub[i].name == name) return i;
  return UINT32_MAX;
}

TEST(rewriter, moves_control_edges_to_what_replaces_a_node_and_keeps_targets) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const a = exp(x), b = exp(x);
  auto const waits = g.after({b}, [&] { return no_op(g, "waits"); });
  auto sub = part_of(g, {a}, {waits}, {x});
  rewriter r(sub, "test", nullptr);
  r.replace({at(sub, "exp_1"), 0}, {at(sub, "exp"), 0}, "rule");
  EXPECT_TRUE(r.finish());
  verify(sub);
  EXPECT_EQ(at(sub, "exp_1"), UINT32_MAX);
  EXPECT_EQ(sub[at(sub, "waits")].controls, std::vector<std::uint32_t>{at(sub, "exp")});
  EXPECT_EQ(sub.targets, std::vector<std::uint32_t>{at(sub, "waits")});
}

TEST(rewriter, changes_nothing_unless_it_is_told_to) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto sub = part_of(g, {exp(x)}, {}, {x});
  sub.nodes.push_back(sub.nodes.back());  // which nobody needs
  sub.origin.push_back(0);
  rewriter r(sub, "test", nullptr);
  EXPECT_FALSE(r.finish());
  EXPECT_EQ(sub.size(), 3);
  r.log("rule", 0);
  EXPECT_TRUE(r.finish());
  EXPECT_EQ(sub.size(), 2);
}

TEST(rewriter, follows_replacements_of_replacements) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const a = exp(x), b = neg(a), c = square(b);
  auto sub = part_of(g, {c}, {}, {x});
  pass_report report;
  rewriter r(sub, "test", &report);
  endpoint const ea{at(sub, "exp"), 0}, eb{at(sub, "neg"), 0}, ex{sub.inputs[0], 0};
  r.replace(eb, ea, "first");
  r.replace(ea, ex, "second");
  EXPECT_EQ(r.resolve(eb), ex);
  EXPECT_TRUE(r.finish());
  EXPECT_EQ(sub.size(), 2);
  EXPECT_EQ(sub[sub.outputs[0].node].inputs, std::vector<endpoint>{ex});
  EXPECT_EQ(report.lines, (std::vector<std::string>{"test: first: neg", "test: second: exp"}));
}

TEST(rewriter, puts_new_nodes_before_those_that_read_them_and_keeps_unused_inputs) {
  graph g;
  auto const x = placeholder<float>(g, "x"), unused = placeholder<float>(g, "unused");
  auto const y = square(exp(x));
  auto sub = part_of(g, {y}, {}, {unused, x});
  rewriter r(sub, "test", nullptr);
  auto made = sub[at(sub, "exp")];
  made.op = &definition<ops::neg_op>();
  made.name = "made";
  auto const origin = sub.origin[at(sub, "exp")];
  r.replace({at(sub, "exp"), 0}, {r.add(made, origin), 0}, "rule");
  EXPECT_TRUE(r.finish());
  EXPECT_NO_THROW(verify(sub));
  EXPECT_EQ(sub.inputs.size(), 2);
  EXPECT_EQ(sub[sub.inputs[0]].name, "unused");
  EXPECT_EQ(sub[sub[sub.outputs[0].node].inputs[0].node].name, "made");
  EXPECT_EQ(sub.origin[at(sub, "made")], origin);
}

TEST(rewriter, names_a_node_of_a_cycle_that_a_pass_made) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto sub = part_of(g, {square(exp(x))}, {}, {x});
  rewriter r(sub, "test", nullptr);
  r.replace({sub.inputs[0], 0}, {at(sub, "square"), 0}, "rule");
  auto const text = sentence([&] { r.finish(); });
  EXPECT_NE(text.find("a pass made a cycle"), std::string::npos) << text;
}

TEST(consumers, are_counted_once_for_each_input) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto sub = part_of(g, {add(x, x), exp(x)}, {}, {x});
  auto const all = consumers(sub);
  EXPECT_EQ(all[sub.inputs[0]], (std::vector<std::uint32_t>{at(sub, "add"), at(sub, "add"), at(sub, "exp")}));
  EXPECT_TRUE(all[at(sub, "exp")].empty());
}

TEST(rewriter, moves_neighbours_to_what_replaces_a_node) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const a = exp(x), b = exp(x);
  auto const beside = g.near(b, [&] { return neg(x); });
  auto sub = part_of(g, {a, b, beside}, {}, {x});
  rewriter r(sub, "test", nullptr);
  r.replace({at(sub, "exp_1"), 0}, {at(sub, "exp"), 0}, "rule");
  EXPECT_TRUE(r.finish());
  EXPECT_EQ(sub[at(sub, "neg")].colocated, "exp");
}

}  // namespace
}  // namespace rill
