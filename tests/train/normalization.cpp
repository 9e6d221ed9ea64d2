#include "rill/train/normalization.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "../ops/executions.hpp"
#include "../ops/run.hpp"
#include "base/sentence.hpp"
#include "rill/graph/codec.hpp"
#include "rill/ops/list/registry.hpp"
#include "rill/train/adam.hpp"
#include "rill/train/gradient_descent.hpp"

namespace rill {
namespace {

using test::scattered;
using doubles = std::vector<double>;

// Returns (x - mean) / √(variance + epsilon) of a list.
doubles normal_of(doubles x, double epsilon = 1e-5) {
  double mean = 0, variance = 0;
  for (auto v : x) mean += v / static_cast<double>(x.size());
  for (auto v : x) variance += (v - mean) * (v - mean) / static_cast<double>(x.size());
  for (auto& v : x) v = (v - mean) / std::sqrt(variance + epsilon);
  return x;
}

// Compares the derivative of `loss` with respect to x with finite differences.
void expect_derivative(graph& g, value loss, value x, tensor const& at, std::vector<feed> others = {}) {
  auto const d = gradients(loss, std::vector<value>{x}).at(0);
  test::each_execution s(g);
  s.run(initializer(g));
  auto const loss_at = [&](tensor const& t) {
    auto feeds = others;
    feeds.emplace_back(x, t);
    return s.run(feeds, loss).at<double>();
  };
  auto feeds = others;
  feeds.emplace_back(x, at);
  auto const found = test::to_doubles(s.run(feeds, d));
  for (std::size_t i = 0; i < found.size(); ++i) {
    auto up = at.clone(), down = at.clone();
    up.mutable_data<double>()[i] += 1e-5, down.mutable_data<double>()[i] -= 1e-5;
    EXPECT_NEAR(found[i], (loss_at(up) - loss_at(down)) / 2e-5, 1e-6) << i;
  }
}

TEST(layer_norm_layer, normalises_each_row) {
  graph g;
  layer_norm_layer norm(g, of<double, 4>, "norm");
  auto x = placeholder<double, "batch", 3, 4>(g, "x");
  auto y = norm(x);
  static_assert(std::same_as<decltype(y), expr<of<double, "batch", 3, 4>>>);
  EXPECT_EQ(norm.variables()[0].name(), "norm/scale");
  test::each_execution s(g);
  s.run(initializer(g));
  auto const in = scattered(dtype::float64, {2, 3, 4});
  auto const plain = s.run({{x, in}}, y);
  s.run(assign(norm.variables()[0], constant<double, 4>(g, {1, 2, 3, 4})));
  s.run(assign(norm.variables()[1], constant<double, 4>(g, {5, 6, 7, 8})));
  auto const moved = s.run({{x, in}}, y);
  for (std::size_t r = 0; r < 6; ++r) {
    auto const row = test::to_doubles(in);
    auto const expected =
        normal_of(doubles(row.begin() + 4 * static_cast<long>(r), row.begin() + 4 * static_cast<long>(r) + 4));
    for (std::size_t i = 0; i < 4; ++i) {
      auto const k = static_cast<double>(i);
      EXPECT_NEAR(plain.values()[4 * r + i], expected[i], 1e-12);
      EXPECT_NEAR(moved.values()[4 * r + i], expected[i] * (k + 1) + k + 5, 1e-12);
    }
  }
  auto const fixed = placeholder<double, 2, 3, 4>(g, "fixed");
  expect_derivative(g, sum(value(norm(fixed)) * constant(g, scattered(dtype::float64, {2, 3, 4}, 5)), extents{}), fixed,
                    in);
}

struct batches {
  graph g;
  batch_norm_layer norm{g, of<double, 3>, "norm", {.decay = 0.75}};
  expr<of<double, "batch", 3>> x = placeholder<double, "batch", 3>(g, "x");
  expr<of<bool>> training = placeholder<bool>(g, "training");
  tensor in = scattered(dtype::float64, {5, 3});

  doubles column(std::size_t i) const {
    doubles all;
    for (std::size_t r = 0; r < 5; ++r) all.push_back(in.span<double>()[3 * r + i]);
    return all;
  }
  double mean(std::size_t i) const {
    double sum = 0;
    for (auto v : column(i)) sum += v / 5;
    return sum;
  }
  double variance(std::size_t i) const {
    double sum = 0;
    for (auto v : column(i)) sum += (v - mean(i)) * (v - mean(i)) / 5;
    return sum;
  }
};

TEST(batch_norm_layer, normalises_by_the_batch_in_training_and_otherwise_by_moving_averages) {
  for (bool in_graph : {false, true}) {
    SCOPED_TRACE(in_graph);
    batches m;
    auto const by_batch = in_graph ? m.norm(m.x, m.training) : m.norm(m.x, true);
    auto const by_averages = in_graph ? by_batch : m.norm(m.x, false);
    static_assert(std::same_as<decltype(m.norm(m.x, true)), expr<of<double, "batch", 3>>>);
    test::each_execution s(m.g);
    s.run(initializer(m.g));
    auto const run = [&](auto const& what, bool training) {
      std::vector<feed> feeds{{m.x, m.in}};
      if (in_graph) feeds.emplace_back(m.training, tensor(training));
      return s.run(feeds, value(what));
    };
    auto const before = run(by_averages, false);
    for (std::size_t i = 0; i < 15; ++i)
      EXPECT_NEAR(before.span<double>()[i], m.in.span<double>()[i] / std::sqrt(1 + 1e-5), 1e-12);
    double part = 1;  // the weight of the averages' first values
    for (int step = 0; step < 3; ++step) {
      auto const y = run(by_batch, true);
      part *= 0.75;
      for (std::size_t i = 0; i < 3; ++i) {
        auto const expected = normal_of(m.column(i));
        for (std::size_t r = 0; r < 5; ++r) EXPECT_NEAR(y.span<double>()[3 * r + i], expected[r], 1e-12);
        EXPECT_NEAR(s.run(value(m.norm.mean())).template span<double>()[i], (1 - part) * m.mean(i), 1e-12);
        EXPECT_NEAR(s.run(value(m.norm.variance())).template span<double>()[i], part + (1 - part) * m.variance(i),
                    1e-12);
      }
    }
    auto const after = run(by_averages, false);
    for (std::size_t i = 0; i < 15; ++i) {
      auto const k = i % 3;
      EXPECT_NEAR(
          after.span<double>()[i],
          (m.in.span<double>()[i] - (1 - part) * m.mean(k)) / std::sqrt(part + (1 - part) * m.variance(k) + 1e-5),
          1e-12);
    }
    EXPECT_NEAR(s.run(value(m.norm.mean())).template span<double>()[0], (1 - part) * m.mean(0), 1e-12);
  }
}

TEST(batch_norm_layer, keeps_its_averages_where_a_batch_has_no_rows) {
  for (bool in_graph : {false, true}) {
    batches m;
    auto const y = in_graph ? m.norm(m.x, m.training) : m.norm(m.x, true);
    test::each_execution s(m.g);
    s.run(initializer(m.g));
    auto const run = [&](tensor const& rows) {
      std::vector<feed> feeds{{m.x, rows}};
      if (in_graph) feeds.emplace_back(m.training, tensor(true));
      return s.run(feeds, value(y));
    };
    run(m.in);
    auto const mean = s.run(value(m.norm.mean())).clone(), variance = s.run(value(m.norm.variance())).clone();
    EXPECT_EQ(run(tensor(dtype::float64, {0, 3})).shape(), (shape{0, 3}));
    EXPECT_TRUE(same_bits(s.run(value(m.norm.mean())), mean));
    EXPECT_TRUE(same_bits(s.run(value(m.norm.variance())), variance));
  }
}

TEST(batch_norm_layer, has_averages_that_no_optimizer_trains) {
  batches m;
  auto const loss = mean(square(m.norm(m.x, m.training) - 1));
  std::string names;
  for (auto const& v : trainable_variables(loss)) names += v.name() + " ";
  EXPECT_EQ(names, "norm/scale norm/shift ");
  auto const train = adam{.rate = 0.1}.minimize(loss);
  test::each_execution s(m.g);
  s.run(initializer(m.g));
  auto const feeds = [&](bool training) { return std::vector<feed>{{m.x, m.in}, {m.training, tensor(training)}}; };
  auto const first = s.run(feeds(true), value(loss)).at<double>();
  for (int i = 0; i < 100; ++i) s.run(feeds(true), train);
  EXPECT_LT(s.run(feeds(true), value(loss)).at<double>(), first / 10);
  EXPECT_NEAR(s.run(value(m.norm.mean())).span<double>()[1], m.mean(1), 1e-9);  // after 100 steps with the same batch
}

TEST(batch_norm_layer, updates_its_averages_in_the_given_order_of_two_calls) {
  for (bool in_graph : {false, true}) {
    batches m;
    value const twice = m.x * 2.0 + 1.0, x = m.x;
    auto const call = [&](value of) { return in_graph ? m.norm(of, value(m.training)) : m.norm(of, true); };
    auto const one = call(x), unordered = add(one, call(twice));
    auto const both = add(one, m.g.after({one}, [&] { return call(twice); }));
    test::each_execution s(m.g);
    s.run(initializer(m.g));
    std::vector<feed> feeds{{m.x, m.in}};
    if (in_graph) feeds.emplace_back(m.training, tensor(true));
    EXPECT_EQ(refusal([&] { s.run(feeds, unordered); }), code::failed_precondition);
    s.run(feeds, both);
    auto const mean = s.run(value(m.norm.mean()));
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(mean.span<double>()[i], 0.75 * 0.25 * m.mean(i) + 0.25 * (2 * m.mean(i) + 1), 1e-12);
  }
}

TEST(batch_norm_layer, does_not_compute_a_call_that_a_step_does_not_need) {
  batches m;
  auto const other = m.norm(placeholder<double, "others", 3>(m.g, "not_fed"), m.training);
  auto const y = m.norm(m.x, m.training);
  test::each_execution s(m.g);
  s.run(initializer(m.g));
  EXPECT_EQ(s.run({{m.x, m.in}, {m.training, tensor(true)}}, value(y)).shape(), (shape{5, 3}));
  EXPECT_EQ(other.type().rank, 2);
}

TEST(batch_norm_layer, differentiates_through_the_batch) {
  batches m;
  auto const by = constant(m.g, scattered(dtype::float64, {5, 3}, 9));
  auto const x = placeholder<double, 5, 3>(m.g, "fixed");
  expect_derivative(m.g, sum(value(m.norm(x, true)) * by, extents{}), x, m.in);
  expect_derivative(m.g, sum(value(m.norm(x, m.training)) * by, extents{}), x, m.in, {{m.training, tensor(true)}});
  expect_derivative(m.g, sum(value(m.norm(x, m.training)) * by, extents{}), x, m.in, {{m.training, tensor(false)}});
}

TEST(batch_norm_layer, has_one_scale_per_channel_of_images_and_loads_from_bytes) {
  graph g;
  batch_norm_layer norm(g, 2, "norm");
  auto x = placeholder<float, "batch", 4, 4, 2>(g, "x");
  auto training = placeholder<bool>(g, "training");
  auto y = norm(x, training);
  EXPECT_EQ(norm.mean().type(), (of<float, 2>));
  auto const again = graph_from_bytes(to_bytes(g), all_operations());
  session s{*again, {.threads = 1}};
  s.run(initializer(*again));
  auto const in = scattered(dtype::float32, {3, 4, 4, 2});
  tensor const out = s.run({{"x", in}, {"training", tensor(true)}}, y.name());
  for (std::size_t c = 0; c < 2; ++c) {
    doubles all, found;
    for (std::size_t i = c; i < 96; i += 2) all.push_back(in.span<float>()[i]), found.push_back(out.span<float>()[i]);
    auto const expected = normal_of(all);
    for (std::size_t i = 0; i < 48; ++i) EXPECT_NEAR(found[i], expected[i], 1e-5);
  }
  EXPECT_EQ(trainable_variables(*again).size(), 2u);
}

TEST(normalising_layers, refuse_what_does_not_fit) {
  graph g;
  batch_norm_layer norm(g, 3, "norm");
  layer_norm_layer rows(g, 3, "rows");
  auto const refuses = [](char const* words, auto f) { test::expect_error(code::invalid_argument, words, f); };
  for (auto const& t : {of<float, 2, 4>, of<float, 3>, of<double, 2, 3>, type::of_unknown_rank(dtype::float32)}) {
    auto const x = placeholder(g, t);
    refuses("batch_norm: expected [batch, ..., features]", [&] { norm(x, true); });
    refuses("batch_norm: expected [batch, ..., features]", [&] { norm(x, value(placeholder<bool>(g))); });
    refuses("layer_norm: expected [batch, ..., features]", [&] { rows(x); });
  }
  refuses("keep its layer", [&] { layer_norm_layer(g, 3, "norm"); });
  refuses("rows of floats", [&] { layer_norm_layer(g, of<int, 3>, "a"); });
  refuses("rows of floats", [&] { layer_norm_layer(g, of<float, 3, 3>, "b"); });
  refuses("expected an epsilon from 0 on", [&] { layer_norm_layer(g, 3, "c", -1); });
  refuses("expected a decay from 0 to 1", [&] { batch_norm_layer(g, 3, "d", {.decay = 1.5}); });
}

}  // namespace
}  // namespace rill
