// Layers: dense, flatten, conv2d.
#include <gtest/gtest.h>

#include "io/scratch.hpp"
#include "ops/run.hpp"
#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/ops/control/while_loop.hpp"
#include "rill/run/session.hpp"
#include "rill/train/adam.hpp"
#include "rill/train/conv2d.hpp"
#include "rill/train/dense.hpp"
#include "rill/train/optimizer.hpp"

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

TEST(dense, with_a_taken_name_is_an_error_that_says_how_to_share) {
  graph g;
  auto x = placeholder<float, "batch", 2>(g, "x");
  dense<3>(x, "hidden");
  auto const before = g.size();
  for (auto again : {+[](value y) { dense(y, 3, "hidden"); }, +[](value y) { dense(y, 4, "hidden"); }}) {
    test::expect_error(code::invalid_argument, "keep its layer (", [&] { again(x); });
    EXPECT_EQ(error_of([&] { again(x); }).node(), "hidden/weights");
  }
  // A second scope of the same name repeats the same lines, which is an error too.
  auto const network = [&] { return g.scope("disc", [&] { return dense<1>(x, "h1"); }); };
  network();
  EXPECT_EQ(error_of(network).node(), "disc/h1/weights");
  EXPECT_FALSE(g.contains("hidden_1/weights"));
  EXPECT_FALSE(g.contains("disc_1/h1/weights"));
  EXPECT_GT(g.size(), before);
}

TEST(dense_layer, shares_its_weights_among_its_calls) {
  graph g;
  auto x = placeholder<float, "batch", 3>(g, "x");
  auto y = placeholder<float, "batch", 5, 3>(g, "y");
  auto hidden = dense_layer<2>(g, 3, "hidden");
  auto a = hidden(x), b = hidden(x);
  auto c = hidden(y);
  static_assert(decltype(a)::static_type == of<float, "batch", 2>);
  static_assert(decltype(c)::static_type == of<float, "batch", 5, 2>);
  EXPECT_EQ(hidden(value(y)).type(), (of<float, "batch", 5, 2>));
  EXPECT_EQ(trainable_variables(g).size(), 2u);
  EXPECT_EQ(hidden.weights().type(), (of<float, 3, 2>));
  EXPECT_EQ(a.name(), "hidden/bias_add");
  session s{g, {.threads = 1}};
  s.run(initializer(g));
  tensor in(dtype::float32, {2, 3});
  for (std::size_t i = 0; i < 6; ++i) in.mutable_data<float>()[i] = static_cast<float>(i);
  auto const [one, other] = s.run({{x, in}}, a, b);
  EXPECT_TRUE(same_bits(one, other));
  // Each row of [batch, time, features] gives the same result alone.
  tensor in3(dtype::float32, {2, 5, 3});
  for (std::size_t i = 0; i < 30; ++i) in3.mutable_data<float>()[i] = static_cast<float>(i % 6);
  tensor const rows = s.run({{y, in3}}, c);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(rows.span<float>()[i], tensor(one).span<float>()[i % 4]) << i;
}

TEST(dense_layer, trains_by_the_derivatives_of_all_its_calls) {
  graph g;
  auto layer = dense_layer<1, double>(g, 2, "layer", constant(1));
  auto x = constant<double, 1, 2>(g, {1, 2}), y = constant<double, 1, 2>(g, {3, 4});
  auto const both = variable_gradients(sum(layer(x)) + sum(layer(y)));
  ASSERT_EQ(both.size(), 2u);
  session s{g, {.threads = 1}};
  s.run(initializer(g));
  auto const dw = s.run(both[0].gradient.dense), db = s.run(both[1].gradient.dense);
  EXPECT_EQ(dw.at<double>(0, 0), 4);
  EXPECT_EQ(dw.at<double>(1, 0), 6);
  EXPECT_EQ(db.at<double>(0), 2);
}

// Two networks with two optimizers, as in a GAN: the discriminator runs twice with the same weights.
TEST(dense_layer, lets_two_optimizers_train_two_networks) {
  graph g(3);
  auto real = constant<float, 4, 2>(g, {1, 1, 1, 2, 2, 1, 2, 2}), noise = normal<float, 4, 2>(g);
  auto make = dense_layer<2>(g, 2, "make");
  auto look = dense_layer<1>(g, 2, "look");
  auto fake = look(make(noise));
  auto judge = adam{}.minimize(mean(square(look(real) - 1)) + mean(square(fake)), look.variables());
  auto improve = adam{}.minimize(mean(square(fake - 1)), make.variables());
  EXPECT_EQ(trainable_variables(g).size(), 4u);
  session s{g, {.threads = 1}};
  s.run(initializer(g));
  auto const weights = [&](auto const& layer) { return tensor(s.run(value(layer.weights()))).clone(); };
  auto const made = weights(make), looked = weights(look);
  s.run(judge);
  EXPECT_TRUE(same_bits(made, weights(make)));
  EXPECT_FALSE(same_bits(looked, weights(look)));
  auto const judged = weights(look);
  s.run(improve);
  EXPECT_FALSE(same_bits(made, weights(make)));
  EXPECT_TRUE(same_bits(judged, weights(look)));
}

TEST(dense_layer, is_called_in_bodies) {
  graph g;
  auto layer = dense_layer<2>(g, 2, "layer");
  auto x = placeholder<float, "time", "batch", 2>(g, "x");
  auto const mapped = map([&](auto row) { return layer(row); }, x);
  auto const whole = layer(x);
  session s{g, {.threads = 1}};
  s.run(initializer(g));
  tensor in(dtype::float32, {3, 2, 2});
  for (std::size_t i = 0; i < 12; ++i) in.mutable_data<float>()[i] = static_cast<float>(i);
  auto const [a, b] = s.run({{x, in}}, mapped, whole);
  EXPECT_TRUE(same_bits(a, b));
  test::expect_error(code::failed_precondition, "make it outside, with its layer",
                     [&] { map([&](auto row) { return dense<2>(row, "inside"); }, x); });
}

TEST(dense_layer, takes_numbers_known_only_when_the_program_runs) {
  graph g;
  auto layer = dense_layer(g, of<double, 3>, 4, "layer", he());
  value const x = placeholder(g, of<double, "batch", 3>, "x");
  EXPECT_EQ(layer(x).type(), (of<double, "batch", 4>));
  EXPECT_EQ(layer(expr<of<double, "batch", 3>>{x}).type(), (of<double, "batch", 4>));
  EXPECT_EQ(refusal([&] { layer(placeholder(g, of<double, "batch", 2>)); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { dense_layer(g, of<double, 3, 3>, 4, "a"); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { dense_layer(g, of<double, unknown>, 4, "b"); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { dense_layer(g, of<double, 3>, 0, "c"); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { dense_layer<4>(g, -3, "d"); }), code::invalid_argument);
}

TEST(dense, takes_values_of_types_known_only_when_the_program_runs) {
  graph g;
  auto const x = placeholder(g, of<double, unknown, 4>);
  EXPECT_EQ(dense(x, 5, "a", he()).type(), (of<double, unknown, 5>));
  EXPECT_EQ(refusal([&] { dense(placeholder(g, of<double, 4, unknown>), 5, "b"); }), code::invalid_argument);
  EXPECT_EQ(dense(placeholder(g, of<double, 2, 2, 4>), 5, "c").type(), (of<double, 2, 2, 5>));
  EXPECT_EQ(refusal([&] { dense(placeholder(g, of<double, 4>), 5, "vector"); }), code::invalid_argument);
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

TEST(conv2d_layer, shares_its_filters_among_its_calls) {
  graph g;
  auto x = placeholder<float, "batch", 4, 4, 2>(g, "x");
  auto y = placeholder<float, "batch", 6, 6, 2>(g, "y");
  auto edges = conv2d_layer<3, 3>(g, 2, "edges");
  auto a = edges(x), b = edges(x);
  static_assert(decltype(a)::static_type == of<float, "batch", 4, 4, 3>);
  static_assert(decltype(edges(y))::static_type == of<float, "batch", 6, 6, 3>);
  EXPECT_EQ(edges(value(y)).type(), (of<float, "batch", 6, 6, 3>));
  EXPECT_EQ(trainable_variables(g).size(), 2u);
  EXPECT_EQ(edges.variables()[0].name(), "edges/filters");
  EXPECT_EQ(edges.filters().type(), (of<float, 3, 3, 2, 3>));
  auto erased = conv2d_layer(g, of<float, 2>, 5, 3, "erased", convolution{.stride = {2, 2}});
  EXPECT_EQ(erased(x).type(), (of<float, "batch", 2, 2, 5>));
  test::expect_error(code::invalid_argument, "keep its layer", [&] { conv2d<3, 3>(x, "edges"); });
  session s{g, {.threads = 1}};
  s.run(initializer(g));
  tensor in(dtype::float32, {1, 4, 4, 2});
  for (std::size_t i = 0; i < 32; ++i) in.mutable_data<float>()[i] = static_cast<float>(i);
  auto const [one, other] = s.run({{x, in}}, a, b);
  EXPECT_TRUE(same_bits(one, other));
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
