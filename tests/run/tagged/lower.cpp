#include "rill/run/tagged/lower.hpp"

#include <gtest/gtest.h>

#include "pass/subgraphs.hpp"
#include "rill/rill.hpp"
#include "rill/run/plan/primitive_region.hpp"

namespace rill {
namespace {

// The loop or branch of a subgraph.
node const& structure(subgraph const& sub) {
  return *std::find_if(sub.nodes.begin(), sub.nodes.end(), [](node const& n) { return has_bodies(n); });
}
lowered lower(subgraph const& sub) {
  std::vector<type> inputs;
  for (auto e : structure(sub).inputs) inputs.push_back(sub.type_of(e));
  container state;
  return lower(structure(sub), inputs, state, {});
}

template <class Op> std::size_t count(lowered const& l) { return count(l.subgraph, Op::name); }
// How many values enter for all iterations.
std::ptrdiff_t invariants(lowered const& l) {
  return std::count_if(l.subgraph.nodes.begin(), l.subgraph.nodes.end(), [](node const& n) {
    return n.op->name == ops::enter_op::name && decode<ops::enter_op::attributes>(n.attributes).constant;
  });
}

TEST(lower, makes_a_frame_of_a_loop) {
  graph g;
  auto const x = placeholder<float>(g, "x"), w = placeholder<float>(g, "w");
  auto const [i, y] =
      while_loop([](auto k, auto) { return k < 10; }, [&](auto k, auto v) { return std::tuple{k + 1, v * w}; },
                 constant(g, 0), x, parallel_iterations(7));
  auto const sub = part_of(g, {y}, {}, {x, w});
  EXPECT_FALSE(has_primitives(sub));
  auto const l = lower(sub);
  EXPECT_TRUE(has_primitives(l.subgraph));
  EXPECT_EQ(l.subgraph.inputs.size(), structure(sub).inputs.size());
  EXPECT_EQ(l.subgraph.outputs.size(), structure(sub).outputs.size());
  EXPECT_EQ(count<ops::enter_op>(l), 3u) << "two variables and w";
  EXPECT_EQ(invariants(l), 1);
  EXPECT_EQ(count<ops::merge_op>(l), 2u);
  EXPECT_EQ(count<ops::switch_op>(l), 3u) << "of two variables, and of what has no input that may be dead";
  EXPECT_EQ(count<ops::next_iteration_op>(l), 2u);
  EXPECT_EQ(count<ops::exit_op>(l), 2u);
  EXPECT_EQ(count<ops::loop_cond_op>(l), 1u);
  EXPECT_EQ(count<ops::iterations_op>(l), 1u);
  for (auto const& n : l.subgraph.nodes)
    if (n.op->name == ops::enter_op::name) {
      EXPECT_EQ(decode<ops::enter_op::attributes>(n.attributes).parallel_iterations, 7);
    }
}

TEST(lower, hands_on_no_variable_that_the_body_returns_as_it_came) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const [i, same] = while_loop([](auto k, auto) { return k < 10; },
                                    [&](auto k, auto v) { return std::tuple{k + 1, v}; }, constant(g, 0), x);
  auto const l = lower(part_of(g, {same}, {}, {x}));
  EXPECT_EQ(count<ops::merge_op>(l), 1u);
  EXPECT_EQ(count<ops::next_iteration_op>(l), 1u);
  EXPECT_EQ(l.subgraph.outputs[1], (endpoint{l.subgraph.inputs[1], 0})) << "it is what went in";
}

TEST(lower, sends_each_value_from_outside_through_one_switch_and_each_result_through_a_merge) {
  graph g;
  auto const x = placeholder<float>(g, "x"), y = placeholder<float>(g, "y");
  auto const z = cond(x < y, [&] { return x * y; }, [&] { return x; });
  auto const l = lower(part_of(g, {z}, {}, {x, y}));
  EXPECT_EQ(count<ops::switch_op>(l), 3u) << "the predicate, x and y";
  EXPECT_EQ(count<ops::merge_op>(l), 1u);
  EXPECT_EQ(count<ops::enter_op>(l), 0u);
  ASSERT_EQ(l.places.size(), 2u);
  EXPECT_EQ(l.places[0].text, "in the branch for false");
  EXPECT_EQ(l.places[1].text, "in the branch for true");
}

TEST(lower, remembers_where_each_node_stood) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const body = [&](auto v) { return cond(v < 5.f, [&] { return exp(v); }, [&] { return v * 2.f; }); };
  auto const y = while_loop([](auto v) { return v < 10.f; }, body, x);
  auto const sub = part_of(g, {y}, {}, {x});
  auto const l = lower(sub);
  ASSERT_EQ(l.within.size(), l.subgraph.size());
  ASSERT_EQ(l.places.size(), 4u);
  EXPECT_EQ(l.places[0].outer, lowered::none);
  EXPECT_EQ(l.places[0].name, structure(sub).name);
  EXPECT_EQ(l.places[0].body, lowered::body::iteration);
  EXPECT_EQ(l.places[1].body, lowered::body::condition);
  for (std::size_t i : {2u, 3u}) EXPECT_EQ(l.places[i].outer, 0u) << "the branch stands in the loop";
  auto const at =
      std::find_if(l.subgraph.nodes.begin(), l.subgraph.nodes.end(), [](node const& n) { return n.op->name == "exp"; });
  ASSERT_NE(at, l.subgraph.nodes.end());
  EXPECT_EQ(l.within[static_cast<std::size_t>(at - l.subgraph.nodes.begin())], 3u);
  EXPECT_EQ(l.places[3].text, "in the branch for true");
}

TEST(lower, passes_a_token_from_iteration_to_iteration_where_there_are_effects) {
  graph g;
  auto const v = variable<float>(g, "v");
  auto const n = while_loop([](auto k) { return k < 3; },
                            [&](auto k) {
                              assign_add(v, constant(g, 1.f));
                              return k + 1;
                            },
                            constant(g, 0));
  auto const sub = part_of(g, {n});
  auto const l = lower(sub);
  EXPECT_EQ(l.subgraph.inputs.size(), structure(sub).inputs.size() - 1) << "the variable is taken by reference";
  EXPECT_EQ(count<ops::next_iteration_op>(l), 2u) << "the loop variable, and the token";
  EXPECT_EQ(count<ops::drawn_by_row_op>(l), 1u);
}

TEST(lower, takes_rows_and_collects_them) {
  graph g;
  auto const x = placeholder<float, 5, 2>(g, "x");
  auto const y = map([](auto row) { return row * 2.f; }, x);
  auto const l = lower(part_of(g, {y}, {}, {x}));
  EXPECT_EQ(count<ops::row_op>(l), 1u);
  EXPECT_EQ(count<ops::collect_op>(l), 1u);
  EXPECT_EQ(count<ops::goes_on_op>(l), 1u);
  EXPECT_EQ(l.subgraph.type_of(l.subgraph.outputs.back()), (of<float, 5, 2>));
}

TEST(may_wait, looks_into_bodies_of_bodies) {
  graph g;
  auto const p = placeholder<bool>(g, "p");
  auto const q = fifo_queue<of<std::int32_t>>(g, {.capacity = 1}, "q");
  auto const quiet = while_loop([](auto k) { return k < 3; }, [](auto k) { return k + 1; }, constant(g, 0));
  auto const waiting = while_loop(
      [](auto k) { return k < 3; },
      [&](auto k) { return cond(p, [&] { return k + q.dequeue(); }, [&] { return k + 1; }); }, constant(g, 0));
  EXPECT_FALSE(may_wait(quiet.origin()));
  EXPECT_TRUE(may_wait(waiting.origin()));
}

}  // namespace
}  // namespace rill
