#include "rill/run/tasks/partition.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pass/subgraphs.hpp"
#include "rill/rill.hpp"

namespace {

using namespace rill;

// Tasks by the job that nodes ask for.
task_places by_job(subgraph const& sub) {
  task_places places;
  for (auto const& n : sub.nodes)
    if (n.op == &fed_op || is_constant(n)) places.of.push_back(task_places::everywhere);
    else places.of.push_back(n.device == "/job:b" ? 1 : n.device == "/job:c" ? 2 : 0);
  return places;
}
node const& find(task_share const& s, std::string_view name) {
  auto const at =
      std::find_if(s.nodes.nodes.begin(), s.nodes.nodes.end(), [&](auto const& n) { return n.name == name; });
  if (at == s.nodes.nodes.end()) throw error(code::not_found, "the share has no such node", std::string(name));
  return *at;
}
std::size_t count_of(task_share const& s, op_def const& op) {
  return static_cast<std::size_t>(
      std::count_if(s.nodes.nodes.begin(), s.nodes.nodes.end(), [&](auto const& n) { return n.op == &op; }));
}

TEST(partition, sends_a_value_once_to_each_task_that_reads_it) {
  graph g;
  auto const x = placeholder<float, 8>(g, "x");
  auto const a = exp(x);
  auto const b = g.on("/job:b", [&] { return a * 2.f + tanh(a) * a; });
  auto const c = g.on("/job:c", [&] { return a - 1.f; });
  auto const sub = part_of(g, {b, c}, {}, {x});
  auto const shares = partition(sub, by_job(sub));
  ASSERT_EQ(shares.size(), 3u);
  EXPECT_EQ(count_of(shares[0], send_op), 2u);
  EXPECT_EQ(count_of(shares[1], receive_op), 1u);
  EXPECT_EQ(count_of(shares[2], receive_op), 1u);
  for (auto const& s : shares) verify(s.nodes);
  EXPECT_EQ(shares[0].feeds, (std::vector<std::uint32_t>{0}));
  EXPECT_TRUE(shares[1].feeds.empty());
  EXPECT_EQ(shares[1].results, (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(shares[2].results, (std::vector<std::uint32_t>{1}));
}

TEST(partition, copies_feeds_and_constants_to_where_they_are_read) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const k = constant(g, 3.f);
  auto const a = x * k;
  auto const b = g.on("/job:b", [&] { return x + k; });
  auto const sub = part_of(g, {a, b}, {}, {x});
  auto const shares = partition(sub, by_job(sub));
  ASSERT_EQ(shares.size(), 2u);
  for (auto const& s : shares) {
    EXPECT_EQ(count_of(s, send_op) + count_of(s, receive_op), 0u);
    EXPECT_EQ(s.feeds, (std::vector<std::uint32_t>{0}));
  }
}

TEST(partition, counts_the_edges_on_the_way_to_each_node) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const a = exp(x);
  auto const b = g.on("/job:b", [&] { return tanh(a); });
  auto const c = g.on("/job:c", [&] { return sqrt(b); });
  auto const y = a * c;
  auto const sub = part_of(g, {y}, {}, {x});
  auto const shares = partition(sub, by_job(sub));
  ASSERT_EQ(shares.size(), 3u);
  EXPECT_EQ(find(shares[0], "exp").hops, 0u);
  EXPECT_EQ(find(shares[0], "send exp").hops, 0u);
  EXPECT_EQ(find(shares[1], "receive exp").hops, 1u);
  EXPECT_EQ(find(shares[1], "tanh").hops, 1u);
  EXPECT_EQ(find(shares[2], "sqrt").hops, 2u);
  EXPECT_EQ(find(shares[0], "mul").hops, 3u);
}

TEST(partition, a_control_edge_sends_no_value) {
  graph g;
  auto const v = variable(constant(g, 1.f), "v");
  auto const up = assign_add(v, constant(g, 2.f));
  auto const b = g.after({up}, [&] { return g.on("/job:b", [&] { return uniform<float>(g); }); });
  auto const sub = part_of(g, {b}, {}, {});
  auto const shares = partition(sub, by_job(sub));
  ASSERT_EQ(shares.size(), 2u);
  auto const& sent = find(shares[0], "send " + up.origin().name);
  EXPECT_TRUE(sent.inputs.empty());
  EXPECT_EQ(sent.controls.size(), 1u);
  EXPECT_EQ(find(shares[1], "receive " + up.origin().name).outputs[0], type(dtype::boolean, shape{}));
}

TEST(partition, all_tasks_count_alike_how_often_extents_are_settled) {
  graph g;
  auto const x = placeholder<float, 8>(g, "x");
  auto const a = where(x > 0.f);
  auto const b = g.on("/job:b", [&] { return sum(a); });
  auto const sub = part_of(g, {b}, {}, {x});
  auto const shares = partition(sub, by_job(sub));
  ASSERT_EQ(shares.size(), 2u);
  EXPECT_EQ(find(shares[0], "where").stage, 0);
  EXPECT_EQ(find(shares[0], "send where").stage, 1);
  EXPECT_EQ(find(shares[1], "receive where").stage, 1);
  EXPECT_EQ(find(shares[1], "sum").stage, 2);
  auto const later = later_stages(shares[0].nodes);
  for (std::size_t i = 0; i < later.size(); ++i)
    EXPECT_EQ(later[i], shares[0].nodes[static_cast<std::uint32_t>(i)].op == &send_op);
  EXPECT_TRUE(later_stages(sub).empty());
}

TEST(partition, is_the_same_each_time) {
  graph g;
  auto const x = placeholder<float, 8>(g, "x");
  expr<of<float, 8>> y = x;
  for (int i = 0; i < 200; ++i)
    y = g.on(i % 3 == 0 ? "/job:b" : i % 3 == 1 ? "/job:c" : "/job:a", [&] { return tanh(y) + x; });
  auto const sub = part_of(g, {y}, {}, {x});
  auto const one = partition(sub, by_job(sub)), two = partition(sub, by_job(sub));
  ASSERT_EQ(one.size(), two.size());
  for (std::size_t s = 0; s < one.size(); ++s) {
    verify(one[s].nodes);
    ASSERT_EQ(one[s].nodes.size(), two[s].nodes.size());
    for (std::uint32_t i = 0; i < one[s].nodes.size(); ++i) {
      EXPECT_EQ(one[s].nodes[i].name, two[s].nodes[i].name);
      EXPECT_EQ(one[s].nodes[i].inputs, two[s].nodes[i].inputs);
      EXPECT_EQ(one[s].nodes[i].controls, two[s].nodes[i].controls);
    }
  }
}

}  // namespace
