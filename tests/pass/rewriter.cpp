#include "rill/pass/rewriter.hpp"

#include <gtest/gtest.h>

#include "base/sentence.hpp"
#include "parts.hpp"
#include "rill/ops/array/constant.hpp"
#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/exponential.hpp"

namespace rill {
namespace {

std::uint32_t at(subgraph const& part, std::string_view name) {
  for (std::uint32_t i = 0; i < part.size(); ++i)
    if (part[i].name == name) return i;
  return UINT32_MAX;
}

TEST(rewriter, moves_control_edges_to_what_replaces_a_node_and_keeps_targets) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const a = exp(x), b = exp(x);
  auto const waits = g.after({b}, [&] { return no_op(g, "waits"); });
  auto part = part_of(g, {a}, {waits}, {x});
  rewriter r(part, "test", nullptr);
  r.replace({at(part, "exp_1"), 0}, {at(part, "exp"), 0}, "rule");
  EXPECT_TRUE(r.finish());
  verify(part);
  EXPECT_EQ(at(part, "exp_1"), UINT32_MAX);
  EXPECT_EQ(part[at(part, "waits")].controls, std::vector<std::uint32_t>{at(part, "exp")});
  EXPECT_EQ(part.targets, std::vector<std::uint32_t>{at(part, "waits")});
}

TEST(rewriter, changes_nothing_unless_it_is_told_to) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto part = part_of(g, {exp(x)}, {}, {x});
  part.nodes.push_back(part.nodes.back());  // which nobody needs
  part.origin.push_back(0);
  rewriter r(part, "test", nullptr);
  EXPECT_FALSE(r.finish());
  EXPECT_EQ(part.size(), 3);
  r.said("rule", 0);
  EXPECT_TRUE(r.finish());
  EXPECT_EQ(part.size(), 2);
}

TEST(rewriter, follows_replacements_of_replacements) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const a = exp(x), b = neg(a), c = square(b);
  auto part = part_of(g, {c}, {}, {x});
  pass_report report;
  rewriter r(part, "test", &report);
  endpoint const ea{at(part, "exp"), 0}, eb{at(part, "neg"), 0}, ex{part.inputs[0], 0};
  r.replace(eb, ea, "first");
  r.replace(ea, ex, "second");
  EXPECT_EQ(r.now(eb), ex);
  EXPECT_TRUE(r.finish());
  EXPECT_EQ(part.size(), 2);
  EXPECT_EQ(part[part.outputs[0].node].inputs, std::vector<endpoint>{ex});
  EXPECT_EQ(report.lines, (std::vector<std::string>{"test: first: neg", "test: second: exp"}));
}

TEST(rewriter, puts_new_nodes_before_those_that_read_them_and_keeps_unused_inputs) {
  graph g;
  auto const x = placeholder<float>(g, "x"), unused = placeholder<float>(g, "unused");
  auto const y = square(exp(x));
  auto part = part_of(g, {y}, {}, {unused, x});
  rewriter r(part, "test", nullptr);
  auto made = part[at(part, "exp")];
  made.op = &definition<ops::neg_op>();
  made.name = "made";
  auto const origin = part.origin[at(part, "exp")];
  r.replace({at(part, "exp"), 0}, {r.add(made, origin), 0}, "rule");
  EXPECT_TRUE(r.finish());
  EXPECT_NO_THROW(verify(part));
  EXPECT_EQ(part.inputs.size(), 2);
  EXPECT_EQ(part[part.inputs[0]].name, "unused");
  EXPECT_EQ(part[part[part.outputs[0].node].inputs[0].node].name, "made");
  EXPECT_EQ(part.origin[at(part, "made")], origin);
}

TEST(rewriter, names_a_node_of_a_cycle_that_a_pass_made) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto part = part_of(g, {square(exp(x))}, {}, {x});
  rewriter r(part, "test", nullptr);
  r.replace({part.inputs[0], 0}, {at(part, "square"), 0}, "rule");
  auto const text = sentence([&] { r.finish(); });
  EXPECT_NE(text.find("a pass made a cycle"), std::string::npos) << text;
}

TEST(consumers, are_counted_once_for_each_input) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto part = part_of(g, {add(x, x), exp(x)}, {}, {x});
  auto const all = consumers(part);
  EXPECT_EQ(all[part.inputs[0]], (std::vector<std::uint32_t>{at(part, "add"), at(part, "add"), at(part, "exp")}));
  EXPECT_TRUE(all[at(part, "exp")].empty());
}

}  // namespace
}  // namespace rill
