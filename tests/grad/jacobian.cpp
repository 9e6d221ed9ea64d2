#include "rill/grad/jacobian.hpp"

#include <gtest/gtest.h>

#include "../ops/executions.hpp"
#include "base/sentence.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

TEST(jacobian, of_a_vector_by_a_vector_is_a_matrix_of_its_derivatives) {
  graph g;
  auto const x = constant<double, 3>(g, {1, 2, 3});
  auto const m = constant<double, 2, 3>(g, {1, 2, 3, 4, 5, 6});
  auto const y = squeeze<1>(matmul(m, expand_dims<1>(square(x))));  // J = 2 m diag(x)
  auto const j = jacobian(y, x);
  static_assert(std::same_as<decltype(j), expr<of<double, 2, 3>> const>);
  session s(g);
  EXPECT_TRUE(same_bits(s.run(j), matrix<double>({{2, 8, 18}, {8, 20, 36}})));
}

TEST(jacobian, of_many_rows_is_a_loop_with_the_same_values) {
  graph g;
  auto const x = placeholder<double, 12>(g, "x");
  auto const j = jacobian(x * sum(x), x);  // J = sum(x) + x_i
  tensor at(dtype::float64, {12});
  for (int i = 0; i < 12; ++i) at.mutable_data<double>()[i] = i + 1;
  test::each_execution s(g);
  tensor const got = s.run({{x, at}}, j);
  for (int i = 0; i < 12; ++i)
    for (int k = 0; k < 12; ++k) EXPECT_EQ(got.data<double>()[12 * i + k], (i == k ? 78 : 0) + i + 1);
}

TEST(jacobian, has_the_extents_of_both) {
  graph g;
  auto const x = constant<float, 2, 3>(g, {1, 2, 3, 4, 5, 6});
  auto const by_rows = jacobian(sum<0>(x * x), x);
  auto const of_matrix = jacobian(x * x, x);
  auto const of_scalar = jacobian(sum(x * x), x);
  static_assert(std::same_as<decltype(by_rows), expr<of<float, 3, 2, 3>> const>);
  static_assert(std::same_as<decltype(of_matrix), expr<of<float, 2, 3, 2, 3>> const>);
  static_assert(std::same_as<decltype(of_scalar), expr<of<float, 2, 3>> const>);
  session s(g);
  auto const [columns, all, one] = s.run(by_rows, of_matrix, of_scalar);
  for (int k = 0; k < 3; ++k)
    for (int i = 0; i < 6; ++i) {
      auto const d = 2.f * static_cast<float>(i + 1);
      EXPECT_EQ(columns.data<float>()[6 * k + i], i % 3 == k ? d : 0);
      EXPECT_EQ(one.data<float>()[i], d);
      for (int r = 0; r < 2; ++r) EXPECT_EQ(all.data<float>()[6 * (3 * r + k) + i], i == 3 * r + k ? d : 0);
    }
  EXPECT_EQ(all.shape(), (shape{2, 3, 2, 3}));
}

TEST(jacobian, by_a_scalar_has_the_extents_of_the_target) {
  graph g;
  auto const x = constant(g, 3.);
  auto const y = x * constant<double, 6>(g, {1, 2, 3, 4, 5, 6});
  auto const j = jacobian(y, x);
  static_assert(std::same_as<decltype(j), expr<of<double, 6>> const>);
  session s(g);
  EXPECT_TRUE(same_bits(s.run(j), vector<double>({1, 2, 3, 4, 5, 6})));
}

TEST(jacobian, takes_extents_that_only_the_step_knows_and_zero_extents) {
  graph g;
  auto const x = placeholder<double, "n">(g, "x");
  auto const both = x * expand_dims<1>(constant<double, 2>(g, {2, 3}));  // [2, n]
  auto const j = jacobian(x * x, x);
  auto const wide = jacobian(both, x);
  static_assert(std::same_as<decltype(j), expr<of<double, "n", "n">> const>);
  static_assert(std::same_as<decltype(wide), expr<of<double, 2, "n", "n">> const>);
  test::each_execution s(g);
  for (std::int64_t n : {3, 1, 0, 8}) {
    tensor at(dtype::float64, {n});
    for (std::int64_t i = 0; i < n; ++i) at.mutable_data<double>()[i] = static_cast<double>(i + 1);
    auto const [square_of, pair] = s.run({{x, at}}, j, wide);
    ASSERT_EQ(square_of.shape(), (shape{n, n}));
    ASSERT_EQ(pair.shape(), (shape{2, n, n}));
    for (std::int64_t i = 0; i < n * n; ++i) {
      bool const diagonal = i / n == i % n;
      EXPECT_EQ(square_of.template data<double>()[i], diagonal ? 2 * static_cast<double>(i / n + 1) : 0);
      for (int k : {0, 1}) EXPECT_EQ(pair.template data<double>()[k * n * n + i], diagonal ? k + 2 : 0);
    }
  }
}

TEST(jacobian, of_a_target_without_elements_has_none) {
  graph g;
  auto const x = constant<double, 3>(g, {1, 2, 3});
  auto const j = jacobian(slice<extents{0}, extents{0}>(x * x), x);
  auto const by_none = jacobian(x, slice<extents{0}, extents{0}>(x));
  static_assert(std::same_as<decltype(j), expr<of<double, 0, 3>> const>);
  session s(g);
  auto const [a, b] = s.run(j, by_none);
  EXPECT_EQ(a.shape(), (shape{0, 3}));
  EXPECT_EQ(b.shape(), (shape{3, 0}));
}

TEST(jacobian, of_what_does_not_depend_is_zeros) {
  graph g;
  auto const x = constant<double, 2>(g, {1, 2});
  auto const other = constant<double, 6>(g, {1, 2, 3, 4, 5, 6});
  session s(g);
  auto const [many, few] = s.run(jacobian(other, x), jacobian(x * x, other));
  for (int i = 0; i < 12; ++i) EXPECT_EQ(many.data<double>()[i] + few.data<double>()[i], 0);
}

TEST(jacobian, goes_through_loops_branches_lookups_and_recomputed_regions) {
  graph g;
  auto const x = placeholder<double, 6>(g, "x");
  auto const y = recompute(g, [&] { return tanh(x * x); });
  auto const looped = scan([](auto state, auto v) { return state * 0.5 + v * v; }, constant(g, 0.), y);
  auto const looked_up = gather(looped, constant<std::int32_t, 9>(g, {5, 0, 3, 3, 1, 2, 4, 4, 0}));
  auto const chosen =
      cond(sum(x) > 0., [&] { return looked_up; }, [&] { return looked_up * gather(x, constant(g, 0)); });
  auto const j = jacobian(chosen, x);
  static_assert(std::same_as<decltype(j), expr<of<double, 9, 6>> const>);
  session s(g);
  for (double sign : {1., -1.}) {
    tensor at(dtype::float64, {6});
    for (int i = 0; i < 6; ++i) at.mutable_data<double>()[i] = sign * (0.2 + 0.1 * i);
    tensor const got = s.run({{x, at}}, j);
    for (int k = 0; k < 6; ++k) {
      auto up = at.clone(), down = at.clone();
      up.mutable_data<double>()[k] += 1e-5, down.mutable_data<double>()[k] -= 1e-5;
      tensor const above = s.run({{x, up}}, chosen), below = s.run({{x, down}}, chosen);
      for (int i = 0; i < 9; ++i)
        EXPECT_NEAR(got.data<double>()[6 * i + k], (above.data<double>()[i] - below.data<double>()[i]) / 2e-5, 1e-8);
    }
  }
}

TEST(jacobian, can_be_differentiated) {
  graph g;
  auto const few = constant<double, 3>(g, {1, 2, 3});
  auto const many = constant<double, 10>(g, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  auto const slope = [](auto x) { return std::get<0>(gradients(sum(jacobian(x * x * x, x)), x)); };  // of Σ 3 x²
  session s(g);
  auto const [a, b] = s.run(slope(few), slope(many));
  EXPECT_TRUE(same_bits(a, vector<double>({6, 12, 18})));
  EXPECT_TRUE(same_bits(b, vector<double>({6, 12, 18, 24, 30, 36, 42, 48, 54, 60})));
}

TEST(jacobian, within_a_body_is_of_its_values) {
  graph g;
  auto const x = constant<double, 2>(g, {1, 2});
  auto const rows = constant<double, 2, 10>(g, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2});
  auto const all = map([](auto row) { return jacobian(row * sum(row), row); }, rows);
  auto const outer = map([&](auto row) { return jacobian(x * row, x); }, constant<double, 3>(g, {1, 2, 3}));
  static_assert(std::same_as<decltype(all), expr<of<double, 2, 10, 10>> const>);
  test::each_execution s(g);
  auto const [a, b] = s.run(all, outer);
  for (int r = 0; r < 2; ++r)
    for (int i = 0; i < 100; ++i)
      EXPECT_EQ(a.template data<double>()[100 * r + i], (r + 1) * (i / 10 == i % 10 ? 11 : 1));
  for (int r = 0; r < 3; ++r)
    for (int i = 0; i < 4; ++i) EXPECT_EQ(b.template data<double>()[4 * r + i], i / 2 == i % 2 ? r + 1 : 0);
}

TEST(jacobian, refuses_integers_and_unknown_ranks) {
  graph g;
  value const x = constant<double, 2>(g, {1, 2}), n = constant<std::int32_t, 2>(g, {1, 2});
  value const open = placeholder(g, type::of_unknown_rank(dtype::float64));
  value const deep = placeholder(g, of<double, 1, 1, 1, 1, 1>);
  EXPECT_NE(sentence([&] { jacobian(n, x); }).find("int32"), std::string::npos);
  EXPECT_NE(sentence([&] { jacobian(x, n); }).find("int32"), std::string::npos);
  EXPECT_NE(sentence([&] { jacobian(open, x); }).find("jacobian: expected a value of known rank, got float64[...]"),
            std::string::npos);
  EXPECT_NE(sentence([&] { jacobian(deep, deep); }).find("jacobian: the result has more than 8 axes"),
            std::string::npos);
}

TEST(hessian, is_the_matrix_of_second_derivatives) {
  graph g;
  auto const x = constant<double, 3>(g, {1, 2, 3});
  auto const cubes = hessian(sum(x * x * x), x);
  static_assert(std::same_as<decltype(cubes), expr<of<double, 3, 3>> const>);
  auto const many = constant<double, 6>(g, {1, 2, 3, 4, 5, 6});
  auto const product = hessian(prod(many), many);
  auto const linear = hessian(sum(x) * 2., x);
  session s(g);
  auto const [a, b, c] = s.run(cubes, product, linear);
  EXPECT_TRUE(same_bits(a, matrix<double>({{6, 0, 0}, {0, 12, 0}, {0, 0, 18}})));
  for (int i = 0; i < 36; ++i)
    EXPECT_NEAR(b.data<double>()[i], i / 6 == i % 6 ? 0 : 720. / (i / 6 + 1) / (i % 6 + 1), 1e-9);
  EXPECT_TRUE(same_bits(c, matrix<double>({{0, 0, 0}, {0, 0, 0}, {0, 0, 0}})));
}

TEST(hessian, of_rosenbrocks_function_makes_newtons_steps) {
  graph g;
  auto const x = placeholder<double, 2>(g, "x");
  auto const a = gather(x, constant(g, 0)), b = gather(x, constant(g, 1));
  auto const y = square(1. - a) + 100. * square(b - a * a);
  auto const [slope] = gradients(y, x);
  auto const h = hessian(y, x);
  session s(g);
  double p[2] = {-1.2, 1};
  for (int step = 0; step < 10; ++step) {
    auto const [d, m] = s.run({{x, vector<double>({p[0], p[1]})}}, slope, h);
    auto const* const q = m.data<double>();
    auto const* const e = d.data<double>();
    double const determinant = q[0] * q[3] - q[1] * q[2];
    p[0] -= (q[3] * e[0] - q[1] * e[1]) / determinant;
    p[1] -= (q[0] * e[1] - q[2] * e[0]) / determinant;
  }
  EXPECT_NEAR(p[0], 1, 1e-12);
  EXPECT_NEAR(p[1], 1, 1e-12);
}

}  // namespace
}  // namespace rill
