#include "rill/pass/passes.hpp"

#include <gtest/gtest.h>

#include "parts.hpp"
#include "rill/ops/operations.hpp"
#include "rill/pass/rewriter.hpp"

namespace {

using namespace rill;

TEST(passes, are_switched_off_one_by_one) {
  graph g;
  auto const x = placeholder<float, 4>(g, "x");
  auto const y = exp(x) + exp(x) * 1.f;
  container state;
  auto part = part_of(g, {y}, {}, {x});
  auto const before = part.size();
  rewrite(part, pass_options::none(), state, nullptr);
  EXPECT_EQ(part.size(), before);
  pass_options only;
  only.fuse = false;
  only.identities = false;
  only.verify = true;
  rewrite(part, only, state, nullptr);
  EXPECT_EQ(count(part, "exp"), 1u);
  EXPECT_EQ(count(part, "mul"), 1u);
}

TEST(passes, tell_what_they_did) {
  graph g;
  auto const x = placeholder<float, 4>(g, "x");
  container state;
  auto part = part_of(g, {exp(x) * 1.f + exp(x)}, {}, {x});
  pass_report report;
  rewrite(part, {.verify = true}, state, &report);
  EXPECT_NE(report.text().find("identities: x * 1: mul"), std::string::npos) << report.text();
  EXPECT_NE(report.text().find("common subexpressions: already computed: exp"), std::string::npos) << report.text();
  EXPECT_NE(report.text().find("fuse: joined"), std::string::npos) << report.text();
}

TEST(rewriter, moves_control_edges_to_what_replaces_a_node_and_keeps_targets) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const a = exp(x), b = exp(x);
  auto const waits = g.after({b}, [&] { return no_op(g, "waits"); });
  auto part = part_of(g, {a}, {waits}, {x});
  auto const at = [&](std::string_view name) {
    for (std::uint32_t i = 0; i < part.size(); ++i)
      if (part[i].name == name) return i;
    return UINT32_MAX;
  };
  rewriter r(part, "test", nullptr);
  r.replace({at("exp_1"), 0}, {at("exp"), 0}, "rule");
  EXPECT_TRUE(r.finish());
  verify(part);
  EXPECT_EQ(at("exp_1"), UINT32_MAX);
  EXPECT_EQ(part[at("waits")].controls, std::vector<std::uint32_t>{at("exp")});
  EXPECT_EQ(part.targets, std::vector<std::uint32_t>{at("waits")});
}

}  // namespace
