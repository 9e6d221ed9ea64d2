#include "rill/pass/fuse.hpp"

#include <gtest/gtest.h>

#include <random>

#include "rill/grad/gradients.hpp"
#include "rill/ops/list/operations.hpp"
#include "rill/run/session.hpp"
#include "subgraphs.hpp"

namespace {

using namespace rill;

TEST(fuse_pass, makes_one_program_of_a_tree) {
  graph g;
  auto const x = placeholder<float, 8>(g, "x"), y = placeholder<float, 8>(g, "y");
  auto sub = part_of(g, {tanh(x * y + 1.f) * exp(x) - y}, {}, {x, y});
  EXPECT_TRUE(fuse_elementwise(sub, nullptr));
  verify(sub);
  EXPECT_EQ(sub.size(), 3u);
  auto const& p = *std::get<std::shared_ptr<program const>>(sub[2].attributes[0].second);
  EXPECT_EQ(p.inputs.size(), 2u);
  EXPECT_EQ(p.immediates.size(), 1u);
  EXPECT_EQ(p.instructions.size(), 6u);
}

TEST(fuse_pass, gives_out_a_value_that_others_need_too) {
  graph g;
  auto const x = placeholder<float, 8>(g, "x");
  auto const middle = exp(x);
  auto sub = part_of(g, {middle * 2.f, middle}, {}, {x});
  EXPECT_TRUE(fuse_elementwise(sub, nullptr));
  EXPECT_EQ(count(sub, "fused"), 1u);
  EXPECT_EQ(sub[sub.outputs[0].node].outputs.size(), 2u);
}

TEST(fuse_pass, never_makes_a_group_wait_for_itself) {
  graph g;
  auto const x = placeholder<float, 4, 4>(g, "x");
  auto const a = exp(x);
  auto sub = part_of(g, {a + matmul(a, a)}, {}, {x});
  fuse_elementwise(sub, nullptr);
  verify(sub);
  EXPECT_EQ(count(sub, "fused"), 0u);  // exp feeds the product that the sum waits for
}

// The branch waits for `e` and must run before the update, for which `e * updated` waits.
TEST(fuse_pass, lets_what_reads_a_variable_come_before_its_update) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const which = placeholder<bool>(g, "which");
  auto const v = variable(constant(g, 1.f), "v");
  auto const e = square(x);
  auto const updated = assign_add(v, x);
  auto const product = e * updated;
  auto const seen = cond(which, [&] { return v + e; }, [&] { return v; });
  for (auto const& passes : {pass_options::none(), pass_options{.verify = true}}) {
    session s{g, {.passes = passes}};
    s.run(initializer(g));
    for (float before : {1.f, 3.f}) {
      auto const [a, b] = s.run({{x, tensor(2.f)}, {which, tensor(true)}}, product, seen);
      EXPECT_EQ(float(a), 4 * (before + 2));
      EXPECT_EQ(float(b), before + 4);
    }
  }
}

TEST(fuse_pass, leaves_other_extents_control_edges_and_strings_alone) {
  graph g;
  auto const x = placeholder<float, 2, 3>(g, "x");
  auto const row = placeholder<float, 3>(g, "row");
  auto const waits = g.after({no_op(g)}, [&] { return exp(x); });
  auto sub = part_of(g, {x + exp(row), neg(waits)}, {}, {x, row});
  fuse_elementwise(sub, nullptr);
  verify(sub);
  EXPECT_EQ(count(sub, "exp"), 2u);
}

// Random trees and graphs of elementwise operations, with matrix products between them: the same bits with and without.
TEST(fuse_pass, does_not_change_a_bit_of_random_graphs) {
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    graph g;
    std::vector<value> values{placeholder<float, 5, 5>(g, "x"), placeholder<float, 5>(g, "row"),
                              placeholder<float>(g, "scalar")};
    std::vector<value> square_ones{values[0]};
    for (int i = 0; i < 30; ++i) {
      auto const any = [&] { return values[random() % values.size()]; };
      auto const a = any(), b = any();
      value made;
      switch (random() % 7) {
        case 0:
          made = a + b;
          break;
        case 1:
          made = a * b;
          break;
        case 2:
          made = tanh(a) - b;
          break;
        case 3:
          made = sigmoid(a);
          break;
        case 4:
          made = select(a < b, a, b);
          break;
        case 5:
          made = maximum(a, b);
          break;
        default:
          made = tanh(matmul(square_ones[random() % square_ones.size()], square_ones[random() % square_ones.size()]));
      }
      values.push_back(made);
      if (made.type() == of<float, 5, 5>) square_ones.push_back(made);
    }
    auto const loss = sum(square_ones.back());
    auto fetches = gradients(loss, {values[0], values[1], values[2]}, true);
    fetches.push_back(values[values.size() - 2]);
    std::vector<std::string> names;
    for (auto const& f : fetches) names.push_back(f.name());
    std::vector<float> numbers(25);
    for (auto& n : numbers) n = static_cast<float>(random() % 1000) / 500.f - 1;
    std::vector<feed> const feeds{{values[0], tensor::copy(std::span<float const>(numbers), shape{5, 5})},
                                  {values[1], tensor::copy(std::span<float const>(numbers).first(5), shape{5})},
                                  {values[2], tensor(0.3f)}};
    session plain{g, {.threads = 1, .passes = pass_options::none()}};
    session rewritten{g, {.threads = 2, .passes = {.verify = true}}};
    auto const expected = plain.run(std::span(feeds), names), got = rewritten.run(std::span(feeds), names);
    for (std::size_t i = 0; i < names.size(); ++i)
      EXPECT_TRUE(same_bits(expected[i], got[i])) << "round " << round << ", " << names[i];
  }
}

// Joined, 20 programs of 2,000 lines have more registers than can be numbered.
TEST(fuse_pass, leaves_programs_apart_that_would_be_too_long) {
  graph g;
  auto const x = placeholder<float, 4>(g, "x");
  expr<of<float, 4>> y = x;
  for (int k = 0; k < 20; ++k)
    y = fuse<"subgraph">(
        [](auto a) {
          for (int i = 0; i < 2000; ++i) a = i % 2 ? a + 1.f : a * 0.5f;
          return a;
        },
        y);
  auto sub = part_of(g, {y}, {}, {x});
  fuse_elementwise(sub, nullptr);
  verify(sub);
  EXPECT_EQ(count(sub, "subgraph") + count(sub, "fused"), 10u);  // by twos
  session a{g}, b{g, {.passes = pass_options::none()}};
  auto const in = tensor(vector<float>({-1, 0, 1, 2}));
  EXPECT_TRUE(same_bits(a.run({{x, in}}, y), b.run({{x, in}}, y)));
}

TEST(fuse, joins_no_nodes_of_different_places) {
  graph g;
  auto const x = placeholder<float, 3>(g, "x");
  auto const on = [&](char const* device, auto const& v) { return g.on(device, [&] { return exp(neg(v)); }); };
  auto sub = part_of(g, {on("cpu:0", on("gpu:0", on("gpu:0", x)))}, {}, {x});
  EXPECT_TRUE(fuse_elementwise(sub, nullptr));
  verify(sub);
  ASSERT_EQ(count(sub, "fused"), 2u);
  EXPECT_EQ(sub.size(), 3u);
  EXPECT_EQ(sub[sub.outputs[0].node].device, "/device:cpu:0");
  EXPECT_EQ(sub[sub[sub.outputs[0].node].inputs[0].node].device, "/device:gpu:0");
}

}  // namespace
