// Walks the list of operations.
#include "rill/ops/list/operations.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "../examples.hpp"
#include "rill/ops/list/registry.hpp"
#include "rill/place/groups.hpp"
#include "walk.hpp"

namespace rill {
namespace {

TEST(operations, every_one_has_an_example_or_a_test_of_its_own) {
  std::set<std::string_view> with{"constant",
                                  "placeholder",
                                  "placeholder_with_default",
                                  "as",
                                  "variable",
                                  "read",
                                  "is_initialized",
                                  "assign",
                                  "initialize",
                                  "assign_add",
                                  "assign_sub",
                                  "no_op",
                                  "stop_gradient",
                                  "truncated",
                                  "custom_gradient",
                                  "cond",
                                  "reading_cond",
                                  "updating_cond",
                                  "loop",
                                  "reading_loop",
                                  "updating_loop",
                                  "switch",
                                  "merge",
                                  "enter",
                                  "exit",
                                  "next_iteration",
                                  "loop_cond",
                                  "iterations",
                                  "goes_on",
                                  "row",
                                  "collect",
                                  "drawn_by_row",
                                  "array_new",
                                  "array_full",
                                  "array_write",
                                  "array_read",
                                  "array_stack",
                                  "call",
                                  "reading_call",
                                  "updating_call",
                                  "enqueue",
                                  "enqueue_many",
                                  "dequeue",
                                  "dequeue_many",
                                  "queue_close",
                                  "queue_size",
                                  "queue_is_closed",
                                  "accumulator_apply",
                                  "accumulator_average",
                                  "accumulator_count",
                                  "accumulator_set_step",
                                  "worker_number",
                                  "on_worker",
                                  "begin_round",
                                  "end_round",
                                  "await_round",
                                  "after_round",
                                  "add_to_round",
                                  "average_of_round",
                                  "mutex_acquire",
                                  "mutex_release",
                                  "barrier_arrive",
                                  "keyed_insert",
                                  "keyed_take",
                                  "keyed_close",
                                  "keyed_size",
                                  "fused",
                                  "fused_update",
                                  "gather_variable",
                                  "scatter_add",
                                  "scatter_sub",
                                  "scatter_update",
                                  "unique",
                                  "uniform",
                                  "normal",
                                  "truncated_normal",
                                  "categorical",
                                  "permutation",
                                  "gamma",
                                  "poisson",
                                  "check",
                                  "where"};
  for (auto const& e : test::examples()) with.insert(e.operation);
  std::set<std::string_view> names;
  operations::for_each([&]<class Op>() {
    EXPECT_TRUE(with.contains(Op::name)) << Op::name;
    EXPECT_TRUE(names.insert(Op::name).second) << Op::name << " is listed twice";
    EXPECT_FALSE(Op::doc.empty()) << Op::name;
  });
  for (auto const& e : test::examples())
    EXPECT_NE(e.composed, names.contains(e.operation)) << e.operation << " is not in the list, or is";
}

test::walk const& listed() {
  static auto const all = test::walk_of<operations>(test::examples());
  return all;
}

TEST(operations, types_are_inferred_as_they_turn_out_with_extents_of_0_and_1_too) {
  test::expect_inferred_types(listed());
}

TEST(operations, every_element_type_that_is_named_works_and_others_are_refused) {
  test::expect_element_types(listed());
}

TEST(operations, any_number_of_threads_computes_the_same_bits) { test::expect_same_bits_of_any_threads(listed()); }

TEST(operations, derivatives_are_those_of_finite_differences_and_so_are_second_ones) {
  test::expect_derivatives_twice(listed());
}

TEST(operations, derivatives_with_respect_to_complex_numbers_point_where_the_target_grows) {
  test::expect_complex_derivatives(listed());
}

TEST(operations, derivatives_exist_for_extents_that_only_the_run_knows_and_for_0) {
  test::expect_derivatives_of_open_extents(listed());
}

TEST(operations, say_while_a_program_compiles_whether_they_take_their_operands) {
  test::expect_inference_while_compiling<operations>();
}

TEST(operations, say_that_they_draw_if_they_have_a_random_key) {
  std::size_t drawing = 0;
  for (auto const* op : all_operations()) {
    bool const has_key = std::ranges::find(op->attributes, "key") != op->attributes.end();
    EXPECT_EQ(has_key, op->draws_random == "key") << op->name;
    drawing += has_key;
  }
  EXPECT_GE(drawing, 7u);
}

TEST(operations, that_do_not_draw_have_the_same_bits_in_each_step) { test::expect_same_bits_in_each_step(listed()); }

TEST(operations, that_draw_are_not_the_hosts_alone_and_few_others_are) {
  std::set<std::string_view> pinned;
  for (auto const* op : all_operations()) {
    node n;
    n.op = op;
    if (is_primitive(n) || !op->rendezvous.empty() || !op->counts_references.empty()) continue;
    if (detail::touches_outside_state(n) && op->by_reference == 0) pinned.insert(op->name);
  }
  EXPECT_EQ(pinned, (std::set<std::string_view>{"check", "print", "worker_number"}));
}

}  // namespace
}  // namespace rill
