#include "rill/run/plan/make_plan.hpp"

#include <gtest/gtest.h>

#include "pass/subgraphs.hpp"
#include "rill/rill.hpp"

namespace rill::planning {
namespace {

using instruction_id = plan::instruction_id;

// A subgraph, and its stages as far as a test goes.
struct staged {
  graph g;
  container state;
  host_memory memory;
  plan_request with{.state = state, .memory = memory};
  std::shared_ptr<compiled_functions> functions = no_functions();
  subgraph sub;
  step_order sequence;
  slot_layout layout;
  kernel_list kernels;
  result_list results;

  void up_to_kernels(std::vector<value> const& fed, std::vector<value> const& fetched) {
    sub = part_of(g, fetched, {}, fed);
    sequence = order(sub);
    layout = lay_out_slots(sub, plan_scope::whole);
    kernels = select_kernels(sub, sequence.nodes, nodes_to_compute(sub, sequence.nodes), layout, with, functions.get());
  }
  void up_to_results(std::vector<value> const& fed, std::vector<value> const& fetched) {
    up_to_kernels(fed, fetched);
    find_lifetimes(sub, kernels, layout);
    results = place_results(sub, kernels, layout);
  }
  plan::slot const& slot_of_output(std::size_t i) const { return layout.all[layout.of(sub.outputs[i])]; }
  std::vector<std::string> computed() const {
    std::vector<std::string> names;
    for (auto const& made : kernels.instructions) names.push_back(sub[made.node].name);
    return names;
  }
};

TEST(plan_stages, an_output_that_aliases_an_input_shares_its_slot) {
  staged t;
  value const x = placeholder(t.g, of<float, 6>, "x"), y = reshape(x, extents{2, 3}), z = neg(y);
  t.up_to_kernels({x}, {y, z});
  EXPECT_EQ(t.layout.of(t.sub.outputs[0]), t.layout.of_node[t.sub.inputs[0]][0]);
  EXPECT_EQ(t.layout.all.size(), 2);
  EXPECT_TRUE(std::holds_alternative<plan::feed_id>(t.slot_of_output(0).where));
  EXPECT_EQ(t.computed(), (std::vector<std::string>{"neg"}));
}

TEST(plan_stages, what_is_read_for_its_extents_alone_is_not_computed) {
  staged t;
  value const x = placeholder(t.g, of<float, 3>, "x"), large = exp(x),
              y = broadcast_like(value(constant(t.g, 1.f)), large);
  t.up_to_kernels({x}, {y});
  for (auto const& name : t.computed()) EXPECT_NE(name, "exp");
}

TEST(plan_stages, a_constant_gets_its_place_and_no_kernel) {
  staged t;
  value const x = placeholder(t.g, of<float, 3>, "x"), y = add(x, constant(t.g, 2.f));
  t.up_to_kernels({x}, {y});
  EXPECT_EQ(t.kernels.constants.size(), 1);
  EXPECT_EQ(t.computed(), (std::vector<std::string>{"add"}));
}

TEST(plan_stages, a_value_lives_from_its_kernel_to_its_last_reader_and_a_result_to_the_end) {
  staged t;
  value const x = placeholder(t.g, of<float, 3>, "x"), a = neg(x), b = exp(a), c = mul(a, b);
  t.up_to_results({x}, {b, c});
  auto const& first = t.layout.all[t.layout.of_node[t.kernels.instructions[instruction_id{0}].node][0]];
  EXPECT_EQ(first.first, instruction_id{0});
  EXPECT_EQ(first.last, instruction_id{2});
  EXPECT_EQ(t.slot_of_output(0).last, instruction_id{3});
  EXPECT_EQ(t.slot_of_output(1).last, instruction_id{3});
  EXPECT_EQ(t.results.outputs.size(), 2);
  EXPECT_TRUE(t.results.copies.empty());
}

TEST(plan_stages, a_result_that_is_fetched_twice_or_was_fed_is_copied_for_a_body) {
  staged t;
  value const x = placeholder(t.g, of<float, 3>, "x"), y = neg(x);
  t.up_to_results({x}, {y, y, x});
  ASSERT_EQ(t.results.copies.size(), 2);
  EXPECT_EQ(as_integer(t.results.copies[0].to), 1);
  EXPECT_EQ(as_integer(t.results.copies[0].from), 0);
  EXPECT_EQ(as_integer(t.results.copies[1].to), 2);
  EXPECT_EQ(t.results.copies[1].from, no_index<plan::fetch_id>);
  EXPECT_EQ(t.results.fetches.all()[2].over, 0);
}

TEST(plan_stages, sequential_execution_has_no_schedule_and_parallel_execution_counts_who_waits) {
  staged t;
  value const x = placeholder(t.g, of<float, 3>, "x"), a = neg(x), b = exp(x), c = mul(a, b);
  t.up_to_results({x}, {c});
  EXPECT_TRUE(choose_schedule(t.sub, t.sequence, t.kernels, t.layout, t.results, t.with).schedule.empty());
  plan_request const parallel{.state = t.state, .memory = t.memory, .threads = 2, .execution = execution::parallel};
  auto const chosen = choose_schedule(t.sub, t.sequence, t.kernels, t.layout, t.results, parallel);
  EXPECT_EQ(chosen.schedule.waits.all(), (std::vector<std::uint32_t>{0, 0, 2}));
  EXPECT_TRUE(chosen.order->before(instruction_id{0}, instruction_id{2}));
  EXPECT_FALSE(chosen.order->before(instruction_id{0}, instruction_id{1}));
}

TEST(plan_stages, an_output_takes_the_block_of_an_input_that_ends_there) {
  staged t;
  value const x = placeholder(t.g, of<float, 100>, "x"), y = exp(neg(square(x))), z = sum(y);
  t.up_to_results({x}, {z});
  auto const layout = assign_memory(t.sub, t.kernels, t.layout, nullptr, nullptr);
  auto const first = t.layout.of_node[t.kernels.instructions[instruction_id{0}].node][0];
  auto const second = t.layout.of_node[t.kernels.instructions[instruction_id{1}].node][0];
  EXPECT_EQ(std::get<plan::block_id>(t.layout.all[first].where), std::get<plan::block_id>(t.layout.all[second].where));
  EXPECT_GE(layout.arena, 400u);
}

TEST(plan_stages, values_of_an_iteration_in_tagged_execution_share_no_memory) {
  staged t;
  value const x = placeholder(t.g, of<float, 100>, "x"), y = exp(neg(x)), z = sum(y);
  t.up_to_results({x}, {z});
  auto const apart = assign_memory_apart(t.kernels, t.layout);
  for (auto a : apart.blocks.indices())
    for (auto b : apart.blocks.indices()) EXPECT_EQ(a == b, apart.blocks[a].offset == apart.blocks[b].offset);
}

TEST(plan_stages, pointers_come_instruction_by_instruction_inputs_outputs_scratch) {
  staged t;
  value const x = placeholder(t.g, of<float, 3>, "x"), y = exp(neg(x));
  auto const p = make_plan(part_of(t.g, {y}, {}, {x}), t.with);
  ASSERT_EQ(p.lines.size(), 2);
  EXPECT_EQ(p.lines[instruction_id{0}].pointers, plan::pointer_id{0});
  EXPECT_EQ(p.lines[instruction_id{1}].pointers, plan::pointer_id{3});
  EXPECT_EQ(p.pointed.size(), 6u);
  for (auto const& line : p.lines) EXPECT_TRUE(line.plain.run) << "only the kernel is to be called";
  EXPECT_EQ(p.all_slots[p.fed_slots[plan::feed_id{0}]].positions, std::vector{plan::pointer_id{0}});
}

TEST(plan_stages, a_plan_remembers_the_extents_of_variables_that_it_was_made_for) {
  staged t;
  value const v = variable(t.g, type(dtype::float32, {unknown}), "v");
  t.state.variable("v", type(dtype::float32, {unknown}))->assign(vector<float>({1, 2}));
  auto sub = prune(t.g, {}, {neg(v).endpoint()}, {});
  bind_extents(sub, {}, t.state);
  auto const p = make_plan(sub, t.with);
  EXPECT_TRUE(p.holds());
  t.state.variable("v", type(dtype::float32, {unknown}))->assign(vector<float>({1, 2, 3}));
  EXPECT_FALSE(p.holds());
}

}  // namespace
}  // namespace rill::planning
