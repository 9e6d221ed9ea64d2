#include "rill/graph/rendezvous.hpp"

#include <gtest/gtest.h>

#include "base/sentence.hpp"
#include "rill/graph/prune.hpp"
#include "rill/ops/list/operations.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

using pairs = std::vector<std::pair<std::string, std::string>>;

subgraph part_of_targets(graph& g, std::vector<operation> const& targets) {
  std::vector<std::uint32_t> nodes;
  for (auto const& t : targets) nodes.push_back(t.node);
  return prune(g, {}, {}, nodes);
}

/// Who may wait for whom without an edge, by name.
pairs waits_in(subgraph const& sub, meeting_scope scope) {
  pairs found;
  auto const hidden = find_hidden_waits(sub, meetings(sub), edges_of(sub), scope);
  for (std::uint32_t i = 0; i < sub.size() && !hidden.empty(); ++i)
    for (auto todo = hidden.after[i]; !todo.empty();) {
      auto const to = todo.back();
      todo.pop_back();
      if (to < sub.size()) found.emplace_back(sub[i].name, sub[to].name);
      else todo.insert(todo.end(), hidden.after[to].begin(), hidden.after[to].end());
    }
  std::sort(found.begin(), found.end());
  return found;
}

TEST(meetings, serve_those_who_wait_for_what_they_do) {
  using enum rendezvous_kind;
  auto const by = [](rendezvous_kind giver, rendezvous_kind waiter) {
    return serves({0, giver, true}, {0, waiter, true});
  };
  EXPECT_TRUE(by(gives, takes) && by(gives, frees) && by(frees, gives) && by(meets, meets) && by(unlocks, locks));
  EXPECT_FALSE(by(gives, gives) || by(takes, takes) || by(takes, gives) || by(frees, frees) || by(locks, locks) ||
               by(locks, unlocks));
  EXPECT_FALSE(serves({0, gives, true}, {1, takes, true})) << "at another place";
  EXPECT_FALSE(serves({0, unlocks, false}, {0, locks, false})) << "who does not wait";
}

TEST(meetings, are_known_of_every_operation_that_waits) {
  operations::for_each([]<class Op>() {
    auto const& op = definition<Op>();
    if (op.rendezvous.empty() || op.effect != effect::writes) return;
    bool const waiter = op.rendezvous_role == rendezvous_kind::takes || op.rendezvous_role == rendezvous_kind::frees ||
                        op.rendezvous_role == rendezvous_kind::locks;
    EXPECT_TRUE(!waiter || op.waits) << op.name;
  });
}

TEST(hidden_waits, lead_from_what_gives_to_what_waits_at_the_same_queue) {
  graph g;
  auto const q = fifo_queue<of<float>>(g, {}, "q"), other = fifo_queue<of<float>>(g, {}, "other");
  auto const put = q.enqueue(constant(g, 1.f));
  auto const got = operation(q.dequeue()), elsewhere = operation(other.dequeue());
  auto const sub = part_of_targets(g, {put, got, elsewhere});
  EXPECT_EQ(waits_in(sub, meeting_scope::step), (pairs{{"q/dequeue", "q/enqueue"}, {"q/enqueue", "q/dequeue"}}));
  EXPECT_EQ(waits_in(sub, meeting_scope::elsewhere).size(), 6) << "anybody may hand on what is given";
}

TEST(hidden_waits, lead_to_nobody_whom_what_gives_comes_after) {
  graph g;
  auto const q = fifo_queue<of<float>>(g, {}, "q");
  auto const token = q.dequeue();
  auto const back = q.enqueue(token * 2.f);
  auto const sub = part_of_targets(g, {back});
  EXPECT_EQ(waits_in(sub, meeting_scope::step), (pairs{{"q/dequeue", "q/enqueue"}})) << "which makes room for it";
}

TEST(hidden_waits, are_those_of_bodies_and_functions_too) {
  graph g;
  auto const q = fifo_queue<of<float>>(g, {}, "q");
  auto const f = function<"f", of<float>>(g, [&](auto x) { return x + q.dequeue(); });
  auto const y = f(constant(g, 1.f));
  auto const n = while_loop([](auto i) { return i < 3; },
                            [&](auto i) {
                              q.enqueue(constant(*value(i).graph, 1.f));
                              return i + 1;
                            },
                            constant(g, 0));
  auto const sub = part_of_targets(g, {operation(y), operation(n)});
  EXPECT_EQ(waits_in(sub, meeting_scope::step), (pairs{{"f", "loop"}, {"loop", "f"}}));
}

TEST(hidden_waits, of_more_than_64_waiters_are_all_found) {
  graph g;
  auto const q = fifo_queue<of<float>>(g, {}, "q");
  std::vector<operation> all{q.enqueue(constant(g, 1.f))};
  for (int i = 0; i < 150; ++i) all.push_back(operation(q.dequeue()));
  all.push_back(g.after({all.back()}, [&] { return q.enqueue(constant(g, 2.f)); }));
  EXPECT_EQ(waits_in(part_of_targets(g, all), meeting_scope::step).size(), 150 + 149 + 150 + 150)
      << "each serves each, but the last dequeue the enqueue that comes after it alone";
}

// By way of hubs, or it would be a hundred million edges.
TEST(hidden_waits, of_many_nodes_are_few_edges) {
  graph g;
  auto const q = fifo_queue<of<float>>(g, {}, "q");
  std::vector<operation> all;
  for (int i = 0; i < 200; ++i) all.push_back(operation(q.dequeue()));
  for (int i = 0; i < 200; ++i) all.push_back(q.enqueue(constant(g, 1.f)));
  auto const sub = part_of_targets(g, all);
  auto const hidden = find_hidden_waits(sub, meetings(sub), edges_of(sub), meeting_scope::elsewhere);
  std::size_t edges = 0;
  for (auto const& list : hidden.after) edges += list.size();
  EXPECT_LT(edges, 8'000u);
  EXPECT_EQ(waits_in(sub, meeting_scope::elsewhere).size(), 400u * 399u);
}

TEST(cycle_numbers, are_equal_for_nodes_that_wait_for_each_other) {
  node_edges const edges{{1}, {2}, {3}, {}, {0}}, more{{}, {}, {0}, {}, {}};
  auto const of = cycle_numbers({&edges, &more});
  EXPECT_EQ(of[0], of[1]);
  EXPECT_EQ(of[1], of[2]);
  EXPECT_NE(of[2], of[3]);
  EXPECT_NE(of[0], of[4]);
}

TEST(sequence, puts_what_is_served_behind_what_serves_it_where_it_can) {
  std::vector<std::uint32_t> const keys{0, 1, 2, 3};
  EXPECT_EQ(sequence({{}, {}, {}, {}}, {}, keys), (std::vector<std::uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(sequence({{1}, {}, {3}, {}}, {{}, {}, {}, {0}}, keys), (std::vector<std::uint32_t>{2, 3, 0, 1}));
  EXPECT_EQ(sequence({{1}, {}, {3}, {}}, {{}, {2}, {}, {0}}, keys), (std::vector<std::uint32_t>{0, 1, 2, 3}))
      << "each serves the other";
  EXPECT_EQ(sequence({{}, {}, {}, {}}, {{}, {}, {4}, {4}, {0, 1}}, keys), (std::vector<std::uint32_t>{2, 3, 0, 1}))
      << "by way of a hub";
  EXPECT_EQ(sequence({{1}, {0}, {}, {}}, {}, keys).size(), 2) << "a cycle has no order";
}

TEST(sequence, ends_with_the_step_that_it_is_for) {
  node_edges const edges(2 * checked_each);
  std::vector<std::uint32_t> const keys(edges.size());
  step_context step;
  EXPECT_EQ(sequence(edges, {}, keys, &step).size(), edges.size());
  step.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  EXPECT_EQ(refusal([&] { sequence(edges, {}, keys, &step); }), code::deadline_exceeded);
}

}  // namespace
}  // namespace rill
