#include "rill/pass/order_sections.hpp"

#include <gtest/gtest.h>

#include "rill/rill.hpp"
#include "subgraphs.hpp"

namespace rill {
namespace {

/// The names of the nodes that control edges put before a node.
std::vector<std::string> before(subgraph const& sub, std::string_view name) {
  std::vector<std::string> names;
  for (auto const& n : sub.nodes)
    if (n.name == name)
      for (auto c : n.controls) names.push_back(sub[c].name);
  return names;
}
bool may_race(subgraph const& sub, std::string_view name) {
  return std::any_of(sub.nodes.begin(), sub.nodes.end(), [&](node const& n) { return n.name == name && n.may_race; });
}

using names = std::vector<std::string>;

TEST(order_sections, puts_one_behind_the_other_as_they_were_recorded) {
  graph g;
  auto const v = variable(constant(g, 1.f), "v");
  mutex const m(g, "m");
  auto const add = [&](float by) { return operation(m.locked([&] { return assign(v, read(v) + by); })); };
  auto sub = part_of(g, {}, {add(1.f), add(2.f), add(3.f)}, {});
  EXPECT_TRUE(order_sections(sub, nullptr));
  verify(sub);
  EXPECT_EQ(before(sub, "mutex_acquire"), names{});
  EXPECT_EQ(before(sub, "mutex_acquire_1"), names{"mutex_release"});
  EXPECT_EQ(before(sub, "mutex_acquire_2"), names{"mutex_release_1"});
  EXPECT_FALSE(order_sections(sub, nullptr)) << "all edges are there";
}

TEST(order_sections, puts_one_that_waits_behind_one_that_does_not) {
  graph g;
  mutex const m(g, "m");
  auto const q = fifo_queue<of<float>>(g, {}, "q");
  auto const late = g.after({operation(q.dequeue())}, [&] { return m.locked([&] { return constant(g, 1.f); }); });
  auto const early = m.locked([&] { return constant(g, 2.f); });
  auto sub = part_of(g, {late, early}, {}, {});
  EXPECT_TRUE(order_sections(sub, nullptr));
  EXPECT_EQ(before(sub, "mutex_acquire_1"), names{});
  auto const first = before(sub, "mutex_acquire");
  EXPECT_NE(std::find(first.begin(), first.end(), "mutex_release_1"), first.end());
}

TEST(order_sections, puts_one_that_serves_the_other_first) {
  graph g;
  mutex const m(g, "m");
  auto const q = fifo_queue<of<float>>(g, {}, "q"), r = fifo_queue<of<float>>(g, {}, "r");
  auto const got = g.after({operation(q.dequeue())}, [&] { return m.locked([&] { return constant(g, 1.f); }); });
  auto const put =
      g.after({operation(r.dequeue())}, [&] { return m.locked([&] { return q.enqueue(constant(g, 1.f)); }); });
  auto sub = part_of(g, {got}, {put}, {});
  EXPECT_TRUE(order_sections(sub, nullptr));
  auto const first = before(sub, "mutex_acquire");
  EXPECT_NE(std::find(first.begin(), first.end(), "mutex_release_1"), first.end());
  EXPECT_FALSE(may_race(sub, "mutex_acquire"));
}

TEST(order_sections, leaves_those_alone_of_which_each_may_wait_for_the_other_by_way_of_another_step) {
  graph g;
  mutex const m(g, "m");
  auto const in = fifo_queue<of<float>>(g, {}, "in"), out = fifo_queue<of<float>>(g, {}, "out");
  std::vector<operation> both;
  for (int i = 0; i < 2; ++i)
    both.push_back(
        g.after({operation(in.dequeue())}, [&] { return m.locked([&] { return out.enqueue(constant(g, 1.f)); }); }));
  auto sub = part_of(g, {}, both, {});
  EXPECT_FALSE(order_sections(sub, nullptr));
  EXPECT_TRUE(may_race(sub, "mutex_acquire") && may_race(sub, "mutex_acquire_1"));
}

TEST(order_sections, leaves_sections_within_each_other_and_those_of_other_mutexes_alone) {
  graph g;
  mutex const m(g, "m"), k(g, "k");
  auto const within = m.locked([&] { return m.locked([&] { return constant(g, 1.f); }); });
  auto const other = k.locked([&] { return constant(g, 2.f); });
  auto sub = part_of(g, {within, other}, {}, {});
  EXPECT_FALSE(order_sections(sub, nullptr));
}

}  // namespace
}  // namespace rill
