#include "rill/pass/order_uses.hpp"

#include <gtest/gtest.h>

#include "rill/ops/control/cond.hpp"
#include "rill/ops/list/operations.hpp"
#include "rill/run/session.hpp"
#include "subgraphs.hpp"

namespace {

using namespace rill;

/// The names of the nodes that control edges put before a node.
std::vector<std::string> before(subgraph const& sub, std::string_view name) {
  std::vector<std::string> names;
  for (auto const& n : sub.nodes)
    if (n.name == name)
      for (auto c : n.controls) names.push_back(sub[c].name);
  return names;
}

using names = std::vector<std::string>;

TEST(order_uses, puts_what_reads_a_variable_in_place_before_its_update) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const v = variable(constant(g, 1.f), "v");
  auto const update = assign_add(v, x);
  auto const seen = cond(x > 0.f, [&] { return v + x; }, [&] { return v; });
  auto sub = part_of(g, {}, {update, seen}, {x});
  EXPECT_TRUE(order_uses(sub, nullptr));
  verify(sub);
  EXPECT_EQ(before(sub, "assign_add"), names{"cond"});
  EXPECT_EQ(before(sub, "cond"), names{});
}

TEST(order_uses, keeps_an_order_that_rests_on_values) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const v = variable(constant(g, 1.f), "v");
  auto const first = assign_add(v, x);
  auto const seen = cond(first > 0.f, [&] { return v + x; }, [&] { return v; });
  auto const second = assign(v, seen * 0.f);
  auto sub = part_of(g, {}, {second}, {x});
  EXPECT_TRUE(order_uses(sub, nullptr));
  verify(sub);
  EXPECT_EQ(before(sub, "cond"), names{"assign_add"});
  EXPECT_EQ(before(sub, "assign"), (names{"assign_add", "cond"}));
  EXPECT_FALSE(order_uses(sub, nullptr));  // all edges are there
}

TEST(order_uses, leaves_snapshots_single_updates_and_races_alone) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const v = variable(constant(g, 1.f), "v"), w = variable(constant(g, 1.f), "w");
  auto const update = assign_add(v, v * x);
  auto const [a, b] = g.hogwild([&] { return std::pair{assign_add(w, x), assign_add(w, x * x)}; });
  auto sub = part_of(g, {}, {update, a, b}, {x});
  EXPECT_FALSE(order_uses(sub, nullptr));
}

TEST(order_uses, puts_what_reads_a_variable_before_updates_that_race_or_behind_them) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const v = variable(constant(g, 1.f), "v");
  auto const [a, b] = g.hogwild([&] { return std::pair{assign_add(v, x), assign_sub(v, x * x)}; });
  auto const early = cond(x > 0.f, [&] { return v + x; }, [&] { return v; });
  auto const late = g.after({a, b}, [&] { return read(v); });
  auto sub = part_of(g, {}, {early, late}, {x});
  EXPECT_TRUE(order_uses(sub, nullptr));
  verify(sub);
  EXPECT_EQ(before(sub, "cond"), names{});
  EXPECT_EQ(before(sub, "assign_add"), names{"cond"});
  EXPECT_EQ(before(sub, "assign_sub"), names{"cond"});
  EXPECT_EQ(before(sub, "read"), (names{"assign_add", "assign_sub"}));
}

TEST(order_uses, refuses_updates_without_an_order) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const v = variable(constant(g, 1.f), "v");
  auto sub = part_of(g, {}, {assign_add(v, x), assign_add(v, x * x)}, {x});
  EXPECT_THROW(order_uses(sub, nullptr), error);
}

// What orders the two updates is read for its extents alone, which passes know.
TEST(order_uses, is_as_the_graph_was_written_when_passes_drop_the_values_between) {
  graph g;
  auto const x = placeholder<float, 2>(g, "x");
  auto const v = variable(constant<float, 2>(g, {1, 1}), "v");
  auto const first = assign_add(v, x);
  auto const three = broadcast_like(constant(g, 3.f), first);
  auto const second = assign(v, as<of<float, 2>>(three));
  for (auto const& passes : {pass_options::none(), pass_options{.verify = true}}) {
    session s{g, {.passes = passes}};
    s.run(initializer(g));
    s.run({{x, vector<float>({5, 5})}}, operation(second));
    EXPECT_EQ(s.run(v).values()[1], 3.f);
  }
}

}  // namespace
