#include "rill/train/rms_norm.hpp"

#include <gtest/gtest.h>

#include "../ops/executions.hpp"
#include "../ops/run.hpp"

namespace rill {
namespace {

TEST(rms_norm_layer, scales_the_features) {
  graph g;
  rms_norm_layer norm(g, of<double, 2>, "norm", 0);
  auto const x = placeholder<double, "batch", "time", 2>(g, "x");
  auto const y = norm(x);
  static_assert(std::same_as<decltype(y), expr<of<double, "batch", "time", 2>> const>);
  ASSERT_EQ(norm.variables().size(), 1u);
  EXPECT_EQ(norm.variables()[0].name(), "norm/scale");
  test::each_execution s(g);
  s.run(initializer(g));
  s.run(assign(norm.variables()[0], constant(g, vector<double>({1, 2}))));
  auto const found = s.run({{x, test::from_doubles(dtype::float64, {1, 2, 2}, {3, 3, 1, -1})}}, y);
  EXPECT_EQ(test::to_doubles(found), (std::vector<double>{1, 2, 1, -2}));
}

TEST(rms_norm_layer, refuses_what_does_not_fit) {
  graph g;
  auto const refuses = [](char const* words, auto f) { test::expect_error(code::invalid_argument, words, f); };
  refuses("rows of floats", [&] { rms_norm_layer(g, of<int, 4>, "a"); });
  refuses("epsilon from 0 on", [&] { rms_norm_layer(g, 4, "b", -1); });
  rms_norm_layer const norm(g, 6, "norm");
  refuses("rms_norm: expected [batch, ..., features]", [&] { norm(placeholder(g, of<float, 2, 5>)); });
  refuses("rms_norm: expected [batch, ..., features]", [&] { norm(placeholder(g, of<double, 2, 6>)); });
}

}  // namespace
}  // namespace rill
