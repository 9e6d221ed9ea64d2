#include "rill/train/initializers.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "io/scratch.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/run/session.hpp"

namespace rill {
namespace {

// The first value of a variable, as doubles.
template <class I> std::vector<double> first(I const& made, type const& t, std::uint64_t seed = 1) {
  graph g(seed);
  auto const v = variable(g, t, "v", made);
  session s{g, {.threads = 1}};
  s.run(initializer(g));
  tensor const x = s.run(v);
  std::vector<double> all;
  visit(t.element, [&]<class T>() {
    if constexpr (std::is_arithmetic_v<T>) all.assign(x.span<T>().begin(), x.span<T>().end());
  });
  return all;
}

struct moments {
  double mean = 0, deviation = 0, low = 1e9, high = -1e9;
  explicit moments(std::vector<double> const& x) {
    for (auto v : x) mean += v / static_cast<double>(x.size()), low = std::min(low, v), high = std::max(high, v);
    for (auto v : x) deviation += (v - mean) * (v - mean) / static_cast<double>(x.size());
    deviation = std::sqrt(deviation);
  }
};

TEST(initializers, give_variables_their_first_values) {
  graph g;
  auto w = variable<float, 20, 30>(g, "w", glorot());
  static_assert(std::same_as<decltype(w), variable_expr<of<float, 20, 30>>>);
  auto b = variable<std::int32_t, 3>(g, "b", [](graph& in, type const& t) { return fill(constant(in, 4), t.shape()); });
  EXPECT_EQ(w.name(), "w");
  session s{g, {.threads = 1}};
  s.run(initializer(g));
  EXPECT_EQ(s.run(b).values()[2], 4);
  EXPECT_EQ(
      refusal([&] { variable<double, 2>(g, "x", [](graph& in, type const&) -> value { return constant(in, 1.f); }); }),
      code::invalid_argument);
  EXPECT_EQ(refusal([&] { variable(g, of<float, unknown>, "y", zeros()); }), code::invalid_argument);
}

TEST(initializers, fill_with_one_number) {
  EXPECT_EQ(first(zeros(), of<float, 2, 2>), (std::vector<double>(4, 0)));
  EXPECT_EQ(first(constant(0.5), of<double, 3>), (std::vector<double>(3, 0.5)));
  EXPECT_EQ(first(constant(-2), of<std::int8_t, 3>), (std::vector<double>(3, -2)));
  EXPECT_EQ(refusal([] { first(constant(0.5), of<std::int8_t, 3>); }), code::invalid_argument);
}

TEST(initializers, draw_from_their_distributions) {
  constexpr type t = of<float, 200, 100>;
  moments const u(first(uniform(-1, 3), t)), n(first(normal(2, 0.5), t)), c(first(truncated_normal(2, 0.5), t));
  EXPECT_NEAR(u.mean, 1, 0.03);
  EXPECT_GE(u.low, -1);
  EXPECT_LT(u.high, 3);
  EXPECT_NEAR(n.mean, 2, 0.02);
  EXPECT_NEAR(n.deviation, 0.5, 0.02);
  EXPECT_NEAR(c.deviation, 0.44, 0.02);
  EXPECT_GE(c.low, 1);
  EXPECT_LE(c.high, 3);
}

TEST(initializers, follow_the_layers_width) {
  moments const g(first(glorot(), of<float, 200, 100>)), h(first(he(), of<float, 5, 5, 8, 64>));
  EXPECT_NEAR(g.high, std::sqrt(6.0 / 300), 1e-3);
  EXPECT_NEAR(g.low, -std::sqrt(6.0 / 300), 1e-3);
  EXPECT_NEAR(h.deviation, std::sqrt(2.0 / (5 * 5 * 8)), 3e-3);
  moments const filters(first(glorot(), of<float, 3, 3, 10, 20>)), list(first(glorot(), of<float, 300>));
  EXPECT_NEAR(filters.high, std::sqrt(6.0 / (9 * 30)), 1e-3);
  EXPECT_NEAR(list.high, std::sqrt(6.0 / 600), 3e-3);
  EXPECT_EQ(first(glorot(), of<float>).size(), 1u);
  EXPECT_TRUE(first(he(), of<float, 0, 3>).empty());
}

TEST(initializers, differ_between_variables_and_seeds) {
  constexpr type t = of<float, 8>;
  EXPECT_EQ(first(he(), t, 1), first(he(), t, 1));
  EXPECT_NE(first(he(), t, 1), first(he(), t, 2));
  graph g;
  auto a = variable<float, 8>(g, "a", he()), b = variable<float, 8>(g, "b", he());
  session s{g, {.threads = 1}};
  s.run(initializer(g));
  EXPECT_FALSE(same_bits(s.run(a), s.run(b)));
}

}  // namespace
}  // namespace rill
