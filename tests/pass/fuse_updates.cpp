#include "rill/pass/fuse_updates.hpp"

#include <gtest/gtest.h>

#include "rill/ops/control/cond.hpp"
#include "rill/ops/list/operations.hpp"
#include "rill/pass/order_uses.hpp"
#include "rill/run/session.hpp"
#include "subgraphs.hpp"

namespace {

using namespace rill;

TEST(fuse_updates, puts_the_arithmetic_and_its_assignment_into_one) {
  graph g;
  auto const v = variable(constant<float, 3>(g, {1, 2, 3}), "v");
  auto const x = placeholder<float, 3>(g, "x");
  auto const update = assign_sub(v, x * 0.5f);
  auto sub = part_of(g, {}, {update}, {x});
  EXPECT_TRUE(fuse_updates(sub, nullptr));
  verify(sub);
  EXPECT_EQ(count(sub, "fused_update"), 1u);
  EXPECT_EQ(count(sub, "mul") + count(sub, "assign_sub"), 0u);
}

// As in a recurrent layer, whose weights a loop reads where they lie.
TEST(fuse_updates, takes_over_what_an_update_waits_for) {
  graph g;
  auto const v = variable(constant<float, 3>(g, {1, 2, 3}), "v");
  auto const x = placeholder<float, 3>(g, "x");
  auto const seen = cond(constant(g, true), [&] { return v + x; }, [&] { return v * x; });
  auto const update = assign_sub(v, seen * 0.5f);
  auto const other = cond(constant(g, false), [&] { return v + x; }, [&] { return v * x; });
  auto sub = part_of(g, {other}, {update}, {x});
  EXPECT_TRUE(order_uses(sub, nullptr));
  EXPECT_TRUE(fuse_updates(sub, nullptr));
  verify(sub);
  ASSERT_EQ(count(sub, "fused_update"), 1u);
  auto const fused =
      std::find_if(sub.nodes.begin(), sub.nodes.end(), [](node const& n) { return n.op->name == "fused_update"; });
  EXPECT_EQ(fused->controls.size(), 2u);  // for both branches
  for (auto const& passes : {pass_options::none(), pass_options{.verify = true}}) {
    session s{g, {.passes = passes}};
    s.run(initializer(g));
    auto const product = s.run({{x, tensor(vector<float>({2, 2, 2}))}}, other, operation(update));
    EXPECT_EQ(product.values()[2], 6.f);
    EXPECT_EQ(s.run(v).values()[2], 0.5f);
  }
}

TEST(fuse_updates, updates_several_variables_and_reads_them_as_the_step_found_them) {
  graph g;
  auto const m = variable(constant<float, 2>(g, {1, 2}), "m"), v = variable(constant<float, 2>(g, {10, 20}), "v");
  auto const x = placeholder<float, 2>(g, "x");
  auto const mean = m * 0.5f + x;
  auto const train = group(g, {assign(m, mean), assign_add(v, mean * v)});
  for (auto const& passes : {pass_options::none(), pass_options{.verify = true}}) {
    session s{g, {.passes = passes}};
    s.run(initializer(g));
    auto const step = [&] { s.run({{x, tensor(vector<float>({1, 1}))}}, train); };
    step();
    step();
    auto const [now_m, now_v] = s.run(m, v);
    EXPECT_EQ(now_m.values()[0], 1.75f);   // 1 → 1.5 → 1.75
    EXPECT_EQ(now_v.values()[0], 68.75f);  // 10 + 1.5·10 = 25; 25 + 1.75·25
  }
}

// v's update comes before the read of m, and that before m's update.
TEST(fuse_updates, keeps_updates_apart_between_which_a_variable_is_read) {
  graph g;
  auto const m = variable(constant<float, 2>(g, {1, 2}), "m"), v = variable(constant<float, 2>(g, {10, 20}), "v");
  auto const x = placeholder<float, 2>(g, "x");
  auto const mean = x * 0.5f;
  auto const next = mean + 1.f;
  auto const of_m = assign(m, mean), of_v = assign(v, next);
  auto const before = g.after({of_v}, [&] { return read(m); });
  for (auto const& passes : {pass_options::none(), pass_options{.verify = true}}) {
    session s{g, {.passes = passes}};
    s.run(initializer(g));
    auto const seen = s.run({{x, tensor(vector<float>({4, 6}))}}, before, operation(of_m));
    EXPECT_EQ(seen.values()[1], 2.f);
    EXPECT_EQ(s.run(m).values()[1], 3.f);
    EXPECT_EQ(s.run(v).values()[1], 4.f);
  }
}

TEST(fuse_updates, leaves_an_update_whose_result_or_delta_is_wanted) {
  graph g;
  auto const v = variable(constant<float, 3>(g, {1, 2, 3}), "v");
  auto const delta = v * 0.5f;
  auto const update = assign_sub(v, delta);
  auto sub = part_of(g, {update});
  EXPECT_FALSE(fuse_updates(sub, nullptr));
  sub = part_of(g, {delta}, {update});
  EXPECT_FALSE(fuse_updates(sub, nullptr));
}

TEST(fuse_updates, keeps_a_snapshot_that_somebody_fetches) {
  graph g;
  auto const v = variable(constant<float, 2>(g, {1, 2}), "v");
  auto const update = assign_add(v, v * 1.5f);
  session s{g, {.passes = {.verify = true}}};
  s.run(initializer(g));
  auto const before = s.run(v, operation(update));
  EXPECT_EQ(before.values()[1], 2.f);
  EXPECT_EQ(s.run(v).values()[1], 5.f);
  EXPECT_EQ(before.values()[1], 2.f);
}

TEST(fuse_updates, leaves_arithmetic_apart_that_is_very_long) {
  graph g;
  auto const v = variable(constant<float, 2>(g, {1, 2}), "v");
  auto const x = placeholder<float, 2>(g, "x");
  auto const update = assign_sub(v, fuse(
                                        [](auto a) {
                                          for (int i = 0; i < 5000; ++i) a = i % 2 ? a + 1.f : a * 0.5f;
                                          return a;
                                        },
                                        x));
  auto sub = part_of(g, {}, {update}, {x});
  EXPECT_FALSE(fuse_updates(sub, nullptr));
}

TEST(fuse_updates, joins_no_nodes_of_different_places) {
  graph g;
  auto const v = variable(constant<float, 3>(g, {1, 2, 3}), "v");
  auto const x = placeholder<float, 3>(g, "x");
  auto const update = [&](char const* of_product, char const* of_update) {
    auto const product = g.on(of_product, [&] { return x * 0.5f; });
    return g.on(of_update, [&] { return assign_sub(v, product); });
  };
  auto apart = part_of(g, {}, {update("cpu:0", "gpu:0")}, {x});
  EXPECT_FALSE(fuse_updates(apart, nullptr));
  auto together = part_of(g, {}, {update("gpu:0", "gpu:0")}, {x});
  EXPECT_TRUE(fuse_updates(together, nullptr));
  EXPECT_EQ(together[together.targets[0]].device, "/device:gpu:0");
}

}  // namespace
