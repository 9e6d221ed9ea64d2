#include "rill/pass/passes.hpp"

#include <gtest/gtest.h>

#include "rill/grad/gradients.hpp"
#include "rill/ops/list/operations.hpp"
#include "rill/run/session.hpp"
#include "subgraphs.hpp"

namespace {

using namespace rill;

TEST(passes, are_switched_off_one_by_one) {
  graph g;
  auto const x = placeholder<float, 4>(g, "x");
  auto const y = exp(x) + exp(x) * 1.f;
  container state;
  auto sub = part_of(g, {y}, {}, {x});
  auto const before = sub.size();
  rewrite(sub, pass_options::none(), state, nullptr);
  EXPECT_EQ(sub.size(), before);
  pass_options only;
  only.fuse = false;
  only.identities = false;
  only.verify = true;
  rewrite(sub, only, state, nullptr);
  EXPECT_EQ(count(sub, "exp"), 1u);
  EXPECT_EQ(count(sub, "mul"), 1u);
}

TEST(passes, tell_what_they_did) {
  graph g;
  auto const x = placeholder<float, 4>(g, "x");
  container state;
  auto sub = part_of(g, {exp(x) * 1.f + exp(x)}, {}, {x});
  pass_report report;
  rewrite(sub, {.verify = true}, state, &report);
  EXPECT_NE(report.text().find("identities: x * 1: mul"), std::string::npos) << report.text();
  EXPECT_NE(report.text().find("common subexpressions: already computed: exp"), std::string::npos) << report.text();
  EXPECT_NE(report.text().find("fuse: joined"), std::string::npos) << report.text();
}

TEST(passes, keep_an_update_of_whose_result_only_the_extents_are_read) {
  graph g;
  value const x = placeholder(g, of<float, unknown>, "x");
  auto const v = variable(constant(g, 0.f), "v");
  auto const slope = gradients(value(x * 2.f + assign_add(v, constant(g, 1.f))), {x})[0];
  for (bool const on : {false, true}) {
    session s(g, {.threads = 1, .passes = on ? pass_options{} : pass_options::none()});
    s.run(initializer(g));
    s.run({{x, vector<float>({1, 2})}}, slope);
    EXPECT_EQ(s.run(v).item<float>(), 1) << on;
  }
}

TEST(passes, place_nodes_before_they_join_them) {
  graph g;
  auto const x = placeholder<float, 4>(g, "x");
  auto const y = exp(neg(exp(neg(x))));
  container state;
  auto sub = part_of(g, {y}, {}, {x});
  auto const place = [&](subgraph& all) {
    EXPECT_EQ(count(all, "fused"), 0u);
    for (auto& n : all.nodes) n.device = n.name.ends_with("_1") ? "/device:gpu:0" : "/device:cpu:0";
  };
  rewrite(sub, {.verify = true}, state, nullptr, nullptr, {place});
  EXPECT_EQ(count(sub, "fused"), 2u);
  EXPECT_EQ(sub[sub.outputs[0].node].device, "/device:gpu:0");
}

TEST(passes, join_no_nodes_into_what_their_device_cannot_run) {
  graph g;
  auto const x = placeholder<float, 4>(g, "x");
  container state;
  auto sub = part_of(g, {exp(neg(x))}, {}, {x});
  auto const place = [&](subgraph& all) {
    for (auto& n : all.nodes) n.device = "/device:gpu:0";
  };
  auto const never = [](node const& placed, op_def const&) { return placed.device != "/device:gpu:0"; };
  rewrite(sub, {.verify = true}, state, nullptr, nullptr, {place, never});
  EXPECT_EQ(count(sub, "fused"), 0u);
}

TEST(passes, forget_what_nodes_ask_for_where_there_is_one_device) {
  graph g;
  auto const x = placeholder<float, 4>(g, "x");
  auto const a = g.on("gpu:0", [&] { return exp(x); });
  auto const b = g.near(a, [&] { return exp(x); });
  container state;
  auto sub = part_of(g, {a + b}, {}, {x});
  rewrite(sub, {.verify = true}, state, nullptr);
  EXPECT_EQ(sub.size(), 2u);
  for (auto const& n : sub.nodes) EXPECT_FALSE(asks_for_place(n));
}

}  // namespace
