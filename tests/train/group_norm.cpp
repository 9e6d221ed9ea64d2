#include "rill/train/group_norm.hpp"

#include <gtest/gtest.h>

#include "../ops/executions.hpp"
#include "../ops/run.hpp"

namespace rill {
namespace {

TEST(group_norm_layer, scales_and_shifts_the_channels) {
  graph g;
  group_norm_layer norm(g, of<double, 4>, 2, "norm");
  auto const x = placeholder<double, "n", 3, 2, 4>(g, "x");
  auto const y = norm(x);
  static_assert(std::same_as<decltype(y), expr<of<double, "n", 3, 2, 4>> const>);
  auto const plain = group_norm(x, 2);
  ASSERT_EQ(norm.variables().size(), 2u);
  EXPECT_EQ(norm.variables()[0].name(), "norm/scale");
  EXPECT_EQ(norm.variables()[1].name(), "norm/shift");
  test::each_execution s(g);
  s.run(initializer(g));
  auto const in = test::scattered(dtype::float64, {2, 3, 2, 4});
  auto const [a, b] = s.run({{x, in}}, y, plain);
  EXPECT_TRUE(same_bits(a, b));
  s.run(assign(norm.variables()[0], constant(g, vector<double>({1, 2, 3, 4}))));
  s.run(assign(norm.variables()[1], constant(g, vector<double>({0, 1, 0, 1}))));
  auto const [c, d] = s.run({{x, in}}, y, plain);
  for (std::size_t i = 0; i < 48; ++i) {
    auto const channel = i % 4;
    EXPECT_EQ(test::to_doubles(c)[i],
              test::to_doubles(d)[i] * static_cast<double>(channel + 1) + static_cast<double>(channel % 2));
  }
}

TEST(group_norm_layer, refuses_what_does_not_fit) {
  graph g;
  auto const refuses = [](char const* words, auto f) { test::expect_error(code::invalid_argument, words, f); };
  refuses("rows of floats", [&] { group_norm_layer(g, of<int, 4>, 2, "a"); });
  refuses("epsilon from 0 on", [&] { group_norm_layer(g, 4, 2, "b", -1); });
  group_norm_layer const norm(g, 6, 4, "norm");
  refuses("4 groups divide", [&] { norm(placeholder(g, of<float, 2, 6>)); });
  refuses("group_norm: expected [batch, ..., features] with features of a float32[6], got float32[2, 5]",
          [&] { norm(placeholder(g, of<float, 2, 5>)); });
}

}  // namespace
}  // namespace rill
