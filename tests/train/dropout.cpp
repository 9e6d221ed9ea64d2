#include "rill/train/dropout.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/run.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

tensor ones(dtype d, shape const& extents) {
  return test::from_doubles(d, extents, std::vector<double>(static_cast<std::size_t>(elements(extents)), 1));
}

// Returns the number of elements that are 0; the others must equal `kept`.
double share_of_zeros(tensor const& t, double kept) {
  auto const v = test::to_doubles(t);
  double zeros = 0;
  for (auto e : v) {
    EXPECT_TRUE(e == 0 || std::abs(e - kept) < 1e-2 * kept) << e;
    zeros += e == 0;
  }
  return zeros / static_cast<double>(v.size());
}

TEST(dropout, drops_elements_at_its_rate_and_scales_the_others) {
  for (auto d : {dtype::float32, dtype::float64, dtype::float16, dtype::bfloat16})
    for (double rate : {0.1, 0.5, 0.9}) {
      auto const y = test::run([&](auto const& x) { return dropout(x[0], rate, true); }, {ones(d, {100, 100})});
      EXPECT_NEAR(share_of_zeros(y, 1 / (1 - rate)), rate, 0.02) << name(d);
    }
  EXPECT_EQ(
      share_of_zeros(test::run([](auto const& x) { return dropout(x[0], 0, true); }, {ones(dtype::float32, {9})}), 1),
      0);
}

TEST(dropout, changes_nothing_in_inference_and_is_switched_in_the_graph) {
  graph g;
  auto x = placeholder<float, "n">(g, "x");
  auto training = placeholder<bool>(g, "training");
  auto y = dropout(x, 0.5, training);
  static_assert(std::same_as<decltype(y), expr<of<float, "n">>>);
  static_assert(std::same_as<decltype(dropout(x, 0.5, false)), expr<of<float, "n">>>);
  EXPECT_EQ(dropout(x, 0.5, false).endpoint(), x.endpoint());
  auto const erased = dropout(value(x), 0.5, value(training));
  EXPECT_EQ(erased.type().element, dtype::float32);
  session s{g, {.threads = 1}};
  auto const in = ones(dtype::float32, {1000});
  EXPECT_TRUE(same_bits(s.run({{x, in}, {training, tensor(false)}}, y), in));
  auto const [one, other] = s.run({{x, in}, {training, tensor(true)}}, y, erased);
  EXPECT_NEAR(share_of_zeros(one, 2), 0.5, 0.1);
  EXPECT_FALSE(same_bits(one, other));  // each draws its own
  EXPECT_FALSE(same_bits(one, s.run({{x, in}, {training, tensor(true)}}, y)));
  s.set_steps(1);
  EXPECT_TRUE(same_bits(one, s.run({{x, in}, {training, tensor(true)}}, y)));
}

TEST(dropout, has_the_derivative_of_the_kept_elements) {
  graph g;
  auto x = placeholder<double, 200>(g, "x");
  auto training = placeholder<bool>(g, "training");
  for (auto y : {dropout(x, 0.25, true), dropout(x, 0.25, training)}) {
    auto const [dx] = gradients(sum(y * 3.0), x);
    session s{g, {.threads = 1}};
    auto const [out, d] = s.run({{x, ones(dtype::float64, {200})}, {training, tensor(true)}}, y, dx);
    for (std::size_t i = 0; i < 200; ++i) EXPECT_EQ(d.values()[i], 3 * out.values()[i]) << i;
    EXPECT_GT(share_of_zeros(out, 1 / 0.75), 0.1);
  }
}

TEST(dropout, refuses_other_rates_and_element_types) {
  graph g;
  value const x = placeholder<float, 3>(g, "x"), training = placeholder<bool>(g, "training");
  for (double rate : {-0.1, 1.0, 1.5, std::nan("")}) {
    test::expect_error(code::invalid_argument, "expected a rate from 0 to below 1", [&] { dropout(x, rate, true); });
    test::expect_error(code::invalid_argument, "expected a rate from 0 to below 1", [&] { dropout(x, rate, false); });
    test::expect_error(code::invalid_argument, "expected a rate from 0 to below 1",
                       [&] { dropout(x, rate, training); });
  }
  test::expect_error(code::invalid_argument, "dropout: expected floats, got int32[3]",
                     [&] { dropout(value(placeholder<int, 3>(g, "i")), 0.5, true); });
}

TEST(dropout, has_the_same_masks_whatever_threads_of_queues_do) {
  auto const masks = [] {
    graph g(7);
    auto const in = prefetch(constant(g, 1.f));
    auto const y = dropout(broadcast_to<8>(in), 0.5, true);
    session s(g, {.threads = 2});
    start_input(s);
    std::vector<tensor> made;
    for (int i = 0; i < 20; ++i) made.emplace_back(s.run(y));
    return made;
  };
  auto const first = masks(), second = masks();
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(same_bits(first[i], second[i])) << i;
}

TEST(dropout, has_the_same_masks_in_training_whatever_is_evaluated_in_between) {
  auto const masks = [](bool evaluates) {
    graph g(7);
    auto const w = variable<float, 8>(g, "w", glorot());
    auto const seen = variable(constant(g, 0.f), "seen", {.trainable = false});
    auto const mask = dropout(rill::ones<float, 8>(g), 0.5, true), sample = normal<float, 8>(g);
    auto const train = gradient_descent{0.1}.minimize(sum(mask * w));
    auto const count = assign_add(seen, sum(sample));
    session s(g, {.threads = 1});
    s.run(initializer(g));
    std::vector<tensor> made;
    for (int i = 0; i < 5; ++i) {
      made.emplace_back(s.run(mask, train));
      if (!evaluates) continue;
      EXPECT_FALSE(same_bits(s.run(mask), s.run(mask, operation(count))));
      s.get(w);
    }
    return made;
  };
  auto const first = masks(false), second = masks(true);
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(same_bits(first[i], second[i])) << i;
}

}  // namespace
}  // namespace rill
