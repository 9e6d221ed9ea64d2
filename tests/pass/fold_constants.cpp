#include "rill/pass/fold_constants.hpp"

#include <gtest/gtest.h>

#include "rill/ops/list/operations.hpp"
#include "rill/run/session.hpp"
#include "subgraphs.hpp"

namespace {

using namespace rill;

TEST(fold_constants, computes_what_depends_on_constants_alone) {
  graph g;
  auto const x = placeholder<float, 2>(g, "x");
  auto const k = exp(constant<float, 2>(g, {0, 1})) * 2.f;
  auto sub = part_of(g, {x + k}, {}, {x});
  container state;
  EXPECT_TRUE(fold_constants(sub, state, nullptr));
  verify(sub);
  EXPECT_EQ(count(sub, "exp") + count(sub, "mul"), 0u);
  EXPECT_EQ(count(sub, "add"), 1u);
}

TEST(fold_constants, does_not_fold_a_constant_that_is_fed) {
  graph g;
  auto const c = constant(g, 2.f);
  auto const y = square(c);
  session s{g};
  EXPECT_EQ(s.run({{c, tensor(5.f)}}, static_cast<value>(y)).item<float>(), 25.f);
  EXPECT_EQ(s.run(static_cast<value>(y)).item<float>(), 4.f);
}

TEST(fold_constants, leaves_state_random_numbers_and_control_edges_alone) {
  graph g;
  auto const c = constant(g, 2.f);
  auto const ordered = g.after({no_op(g)}, [&] { return square(c); });
  auto sub = part_of(g, {ordered, uniform<float, 3>(g)});
  container state;
  fold_constants(sub, state, nullptr);
  EXPECT_EQ(count(sub, "square"), 1u);
  EXPECT_EQ(count(sub, "uniform"), 1u);
}

TEST(fold_constants, knows_the_extents_of_what_is_not_constant) {
  graph g;
  auto const x = placeholder<float, 4>(g, "x");
  auto sub = part_of(g, {broadcast_like(constant(g, 3.f), x)}, {}, {x});
  container state;
  EXPECT_TRUE(fold_constants(sub, state, nullptr));
  EXPECT_EQ(count(sub, "broadcast_like"), 0u);
}

TEST(fold_constants, leaves_a_failing_node_to_fail_in_the_step) {
  graph g;
  auto const bad = gather(constant<float, 2>(g, {1, 2}), constant<std::int32_t, 1>(g, {7}));
  auto sub = part_of(g, {bad});
  container state;
  EXPECT_NO_THROW(fold_constants(sub, state, nullptr));
  session s{g};
  EXPECT_THROW(s.run(bad), error);
}

TEST(fold_constants, leaves_a_value_where_its_node_was_asked_to_run) {
  graph g;
  auto const y = g.on("gpu:0", [&] { return exp(constant(g, 1.f)); });
  auto sub = part_of(g, {y});
  container state;
  EXPECT_TRUE(fold_constants(sub, state, nullptr));
  ASSERT_EQ(sub.size(), 1u);
  EXPECT_EQ(sub[0].op->name, "constant");
  EXPECT_EQ(sub[0].device, "/device:gpu:0");
}

}  // namespace
