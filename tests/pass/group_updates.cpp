#include "rill/pass/group_updates.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "rill/ops/state/grouped_update.hpp"
#include "rill/pass/fuse_updates.hpp"
#include "rill/pass/passes.hpp"
#include "rill/rill.hpp"
#include "subgraphs.hpp"

namespace rill {
namespace {

// Updates of variables by x, and what is to run.
struct updates {
  graph g;
  value x = placeholder<float>(g, "x");
  std::vector<operation> all;

  value add(shape const& extents, std::function<value(value const&)> const& delta,
            std::vector<operation> const& behind) {
    auto const v = variable(g, type(dtype::float32, extents), "v" + std::to_string(all.size()));
    value const by = delta(v);
    value const made = g.after(behind, [&] { return value(assign_sub(v, by)); });
    all.push_back(operation(made));
    return made;
  }
  value halve(shape const& extents = {3}, std::vector<operation> const& behind = {}) {
    return add(extents, [&](value const& v) { return v * x; }, behind);
  }
  value move(shape const& extents = {3}, std::vector<operation> const& behind = {}) {
    return add(extents, [&](value const& v) { return v + x; }, behind);
  }
  subgraph fused() {
    auto sub = part_of(g, {}, all, {x});
    order_uses(sub, nullptr);
    fuse_updates(sub, nullptr);
    return sub;
  }
  // The number of updates in each group, ascending, and of those alone a 1.
  std::vector<std::int64_t> grouped(join_predicate const& can_run = {}) {
    auto sub = fused();
    EXPECT_EQ(count(sub, "fused_update"), all.size());
    bool const changed = group_updates(sub, nullptr, can_run);
    verify(sub);
    std::vector<std::int64_t> sizes(count(sub, "fused_update"), 1);
    for (auto const& n : sub.nodes)
      if (n.op->name == "grouped_update")
        sizes.push_back(decode<ops::grouped_update_op::attributes>(n.attributes).references);
    EXPECT_EQ(changed, count(sub, "grouped_update") > 0);
    std::sort(sizes.begin(), sizes.end());
    return sizes;
  }
};
using sizes = std::vector<std::int64_t>;

TEST(group_updates, joins_those_by_equal_programs) {
  updates u;
  for (shape const& extents : {shape{3}, shape{}, shape{2, 500}, shape{0}}) u.halve(extents);
  u.move(), u.move();
  EXPECT_EQ(u.grouped(), (sizes{2, 4}));
}

TEST(group_updates, puts_all_variables_first_and_says_what_it_did) {
  updates u;
  u.halve(), u.halve({5});
  auto sub = u.fused();
  pass_report report;
  EXPECT_TRUE(group_updates(sub, &report));
  verify(sub);
  auto const at =
      std::find_if(sub.nodes.begin(), sub.nodes.end(), [](node const& n) { return n.op->name == "grouped_update"; });
  std::vector<std::string> inputs;
  for (auto e : at->inputs) inputs.push_back(sub[e.node].name);
  EXPECT_EQ(inputs, (std::vector<std::string>{"v0", "v1", "x", "x"}));
  EXPECT_TRUE(updates_reference(*at, 1) && !takes_reference(*at, 2));
  EXPECT_EQ(sub.targets, std::vector(2, static_cast<std::uint32_t>(at - sub.nodes.begin())));
  EXPECT_NE(report.text().find("group updates: in one kernel: assign_sub"), std::string::npos) << report.text();
}

TEST(group_updates, leaves_large_variables_alone) {
  updates u;
  u.halve({1 << 18}), u.halve({512, 512}), u.halve({(1 << 18) + 1});
  EXPECT_EQ(u.grouped(), (sizes{1, 2}));
}

TEST(group_updates, leaves_an_update_alone_that_waits_for_another) {
  updates u;
  auto const first = u.halve();
  u.halve({3}, {operation(first)});
  EXPECT_EQ(u.grouped(), (sizes{1, 1}));
  u.halve();
  EXPECT_EQ(u.grouped(), (sizes{1, 2}));
}

// Each group alone would do: then one of each waits for one of the other.
TEST(group_updates, makes_no_groups_that_wait_for_each_other) {
  updates u;
  auto const one = u.halve(), other = u.move();
  u.move({3}, {operation(one)});
  u.halve({3}, {operation(other)});
  EXPECT_EQ(u.grouped(), (sizes{1, 1, 1, 1}));
  u.halve(), u.move();
  EXPECT_EQ(u.grouped(), (sizes{1, 1, 2, 2}));
}

// What one dequeues may be what another step makes of the other's element.
TEST(group_updates, leaves_updates_alone_that_may_wait_for_each_other_by_way_of_another_step) {
  updates u;
  auto const in = fifo_queue<of<float>>(u.g, {}, "in"), out = fifo_queue<of<float>>(u.g, {}, "out");
  std::vector<operation> given;
  for (int i = 0; i < 2; ++i) {
    auto const update = u.halve({3}, {operation(in.dequeue())});
    given.push_back(u.g.after({operation(update)}, [&] { return out.enqueue(constant(u.g, 1.f)); }));
  }
  EXPECT_EQ(u.grouped(), (sizes{2}));  // nothing is given
  u.all.insert(u.all.end(), given.begin(), given.end());
  auto sub = u.fused();
  EXPECT_FALSE(group_updates(sub, nullptr));
  EXPECT_EQ(count(sub, "fused_update"), 2u);
}

TEST(group_updates, keeps_what_waits_for_one_behind_all) {
  updates u;
  auto const first = u.halve();
  u.halve();
  value const seen = u.g.after({operation(first)}, [&] { return constant(u.g, 1.f) + u.x; });
  auto sub = part_of(u.g, {seen}, u.all, {u.x});
  EXPECT_TRUE(fuse_updates(sub, nullptr) && group_updates(sub, nullptr));
  verify(sub);
  auto const& waits = sub[sub.outputs[0].node].controls;
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(sub[waits[0]].op->name, "grouped_update");
}

TEST(group_updates, joins_those_of_one_place_alone) {
  updates u;
  for (auto const* where : {"gpu:0", "gpu:1", "gpu:0", "cpu:0"}) u.g.on(where, [&] { u.halve(); });
  EXPECT_EQ(u.grouped(), (sizes{1, 1, 2}));
  EXPECT_EQ(u.grouped([](node const& placed, op_def const& op) {
    EXPECT_EQ(op.name, "grouped_update");
    return placed.device != "/device:gpu:0";
  }),
            (sizes{1, 1, 1, 1}));
}

TEST(group_updates, is_not_for_the_host) {
  updates u;
  u.halve(), u.halve();
  EXPECT_EQ(definition<ops::grouped_update_op>().cpu, nullptr);
  auto sub = part_of(u.g, {}, u.all, {u.x});
  container state;
  rewrite(sub, {.verify = true}, state, nullptr);
  EXPECT_EQ(count(sub, "fused_update"), 2u);
}

}  // namespace
}  // namespace rill
