#include "rill/pass/identities.hpp"

#include <gtest/gtest.h>

#include "rill/ops/list/operations.hpp"
#include "rill/pass/bind.hpp"
#include "subgraphs.hpp"

namespace {

using namespace rill;

TEST(identities, removes_arithmetic_that_changes_nothing) {
  graph g;
  auto const x = placeholder<float, 2>(g, "x");
  auto sub = part_of(g, {1.f * ((x - 0.f) * 1.f) / 1.f, stop_gradient(identity(x))}, {}, {x});
  EXPECT_TRUE(remove_identities(sub, nullptr));
  verify(sub);
  EXPECT_EQ(sub.size(), 1u);
  EXPECT_EQ(sub.outputs[0], sub.outputs[1]);
}

TEST(identities, removes_what_only_says_more_of_a_value_when_that_is_checked) {
  graph g;
  value const x = placeholder(g, of<float, unknown>, "x");
  auto sub = part_of(g, {neg(as(placeholder_with_default(neg(x)), of<float, "n">))}, {}, {x});
  container state;
  bind_extents(sub, {of<float, 2>}, state);
  EXPECT_TRUE(remove_identities(sub, nullptr));
  verify(sub);
  EXPECT_EQ(sub.size(), 3u);
  EXPECT_EQ(count(sub, "neg"), 2u);
}

TEST(identities, keeps_x_plus_zero_of_floats_because_of_the_sign_of_zero) {
  graph g;
  auto const x = placeholder<float, 2>(g, "x");
  auto const i = placeholder<std::int32_t, 2>(g, "i");
  auto sub = part_of(g, {x + 0.f, i + 0}, {}, {x, i});
  remove_identities(sub, nullptr);
  EXPECT_EQ(count(sub, "add"), 1u);
}

TEST(identities, keeps_a_product_that_broadcasts) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto sub = part_of(g, {x * constant<float, 3>(g, {1, 1, 1})}, {}, {x});
  EXPECT_FALSE(remove_identities(sub, nullptr));
}

TEST(identities, keeps_nodes_that_wait_and_moves_the_edges_of_those_that_others_wait_for) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const wait = no_op(g);
  auto const kept = g.after({wait}, [&] { return x * 1.f; });
  auto const gone = x * 1.f;
  auto const after = g.after({gone}, [&] { return no_op(g); });
  auto sub = part_of(g, {kept}, {after}, {x});
  remove_identities(sub, nullptr);
  verify(sub);
  EXPECT_EQ(count(sub, "mul"), 1u);
}

TEST(identities, let_elementwise_operations_read_what_was_broadcast_for_them) {
  graph g;
  auto const x = placeholder<float, 2, 3>(g, "x");
  auto const row = placeholder<float, 3>(g, "row");
  auto sub = part_of(g, {value(x) * broadcast_like(row, x)}, {}, {x, row});
  EXPECT_TRUE(remove_identities(sub, nullptr));
  EXPECT_EQ(count(sub, "broadcast_like"), 0u);
}

TEST(identities, keep_products_of_complex_numbers_whose_parts_meet_and_the_sign_of_zero) {
  graph g;
  auto const z = placeholder<std::complex<double>, 2>(g, "z");
  auto const one = constant(g, std::complex<double>(1));
  auto const x = placeholder<float, 2>(g, "x");
  auto sub = part_of(g, {z * one, one * z, z / one, x - -0.f}, {}, {z, x});
  EXPECT_FALSE(remove_identities(sub, nullptr));
}

TEST(identities, keep_what_asks_for_another_place_than_its_operand) {
  graph g;
  auto const x = placeholder<float, 2>(g, "x");
  auto const y = g.on("gpu:0", [&] { return exp(x); });
  auto const there = g.on("gpu:0", [&] { return identity(y); });
  auto const elsewhere = g.on("gpu:1", [&] { return identity(y); });
  auto const beside = g.near(elsewhere, [&] { return identity(y); });
  auto sub = part_of(g, {there, elsewhere, beside, identity(y)}, {}, {x});
  EXPECT_TRUE(remove_identities(sub, nullptr));
  EXPECT_EQ(count(sub, "identity"), 2u);
  EXPECT_EQ(sub.outputs[0], sub.outputs[3]);
  EXPECT_EQ(sub[sub.outputs[1].node].device, "/device:gpu:1");
}

TEST(identities, reads_through_no_broadcast_that_asks_for_another_place) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const like = placeholder<float, 3>(g, "like");
  auto const wide = g.on("gpu:1", [&] { return broadcast_like(x, like); });
  auto const here = g.on("gpu:0", [&] { return wide + like; }), there = g.on("gpu:1", [&] { return wide + like; });
  auto sub = part_of(g, {here, there}, {}, {x, like});
  EXPECT_TRUE(remove_identities(sub, nullptr));
  EXPECT_EQ(sub[sub[sub.outputs[0].node].inputs[0].node].op->name, "broadcast_like");
  EXPECT_EQ(sub[sub.outputs[1].node].inputs[0], (endpoint{sub.inputs[0], 0}));
}

}  // namespace
