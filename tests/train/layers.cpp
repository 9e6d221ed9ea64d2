// Layers: dense, flatten, conv2d.
#include <gtest/gtest.h>

#include "io/scratch.hpp"
#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/run/session.hpp"
#include "rill/train/conv2d.hpp"
#include "rill/train/dense.hpp"

namespace rill {
namespace {

TEST(dense, is_a_product_and_a_bias) {
  graph g;
  auto x = placeholder<float, "batch", 2>(g, "x");
  auto y = dense<3>(x, "hidden", constant(2));
  static_assert(decltype(y)::static_type == of<float, "batch", 3>);
  auto const b = g.find("hidden/bias");
  EXPECT_EQ(g.find("hidden/weights").type(), (of<float, 2, 3>));
  session s{g, {.threads = 1}};
  s.run(initializer(g));
  s.run(assign(variable_value{b}, constant<float, 3>(g, {1, 2, 3})));
  auto const v = s.run({{x, matrix<float>({{1, 2}})}}, y);
  EXPECT_EQ(std::vector(v.values().begin(), v.values().end()), (std::vector<float>{7, 8, 9}));
}

TEST(dense, takes_values_of_which_only_the_run_knows_the_type) {
  graph g;
  auto const x = placeholder(g, of<double, unknown, 4>);
  EXPECT_EQ(dense(x, 5, "a", he()).type(), (of<double, unknown, 5>));
  EXPECT_EQ(refusal([&] { dense(placeholder(g, of<double, 4, unknown>), 5, "b"); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { dense(placeholder(g, of<double, 2, 2, 2>), 5, "c"); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { dense(placeholder(g, type::of_unknown_rank(dtype::float32)), 5, "d"); }),
            code::invalid_argument);
}

TEST(flatten, keeps_the_rows) {
  graph g;
  auto x = placeholder<float, "batch", 4, 3, 2>(g, "x");
  static_assert(decltype(flatten(x))::static_type == of<float, "batch", 24>);
  EXPECT_EQ(flatten(value(x)).type(), (of<float, "batch", 24>));
  EXPECT_EQ(flatten(value(constant<float, 3>(g, {1, 2, 3}))).type(), (of<float, 3, 1>));
  EXPECT_EQ(refusal([&] { flatten(value(constant(g, 1.f))); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { flatten(placeholder(g, of<float, 3, unknown>)); }), code::invalid_argument);
}

TEST(conv2d_layer, makes_filters_and_a_bias) {
  graph g;
  auto x = placeholder<float, "batch", 8, 8, 3>(g, "x");
  auto y = conv2d<16, 5>(x, "edges");
  static_assert(decltype(y)::static_type == of<float, "batch", 8, 8, 16>);
  auto z = conv2d<4, 3, convolution{.stride = {2, 2}, .pad = padding::valid}>(y, "corners", constant(1));
  static_assert(decltype(z)::static_type == of<float, "batch", 3, 3, 4>);
  EXPECT_EQ(g.find("edges/filters").type(), (of<float, 5, 5, 3, 16>));
  EXPECT_EQ(g.find("edges/bias").type(), (of<float, 16>));
  EXPECT_EQ(conv2d(value(y), 4, 3, "erased").type(), (of<float, "batch", 8, 8, 4>));
  session s{g, {.threads = 1}};
  s.run(initializer(g));
  tensor ones(dtype::float32, {1, 8, 8, 16});
  std::fill_n(ones.mutable_data<float>(), ones.elements(), 1.f);
  EXPECT_EQ(s.run({{value(y), ones}}, z).values()[0], 144);
  EXPECT_EQ(refusal([&] { conv2d(placeholder(g, of<float, 1, 8, 8>), 4, 3, "bad"); }), code::invalid_argument);
}

}  // namespace
}  // namespace rill
