#include "rill/ops/control/map.hpp"

#include <gtest/gtest.h>

#include "../executions.hpp"
#include "base/sentence.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

TEST(map, stacks_what_the_lambda_makes_of_each_row) {
  graph g;
  auto const x = placeholder<float, "n", 3>(g, "x");
  auto const sums = map([](auto row) { return sum(row * row); }, x);
  test::each_execution s(g);
  EXPECT_TRUE(same_bits(s.run({{x, matrix<float>({{1, 2, 3}, {0, 1, 0}})}}, sums), vector<float>({14, 1})));
  EXPECT_EQ(s.run({{value(x), tensor(dtype::float32, {0, 3})}}, sums).shape(), shape{0});
}

TEST(map, asks_for_the_rank_of_what_it_goes_over) {
  graph g;
  auto const open = placeholder(g, type::of_unknown_rank(dtype::float32), "x");
  auto const same = [](value row) { return row; };
  EXPECT_NE(sentence([&] { map(same, open); }).find("of unknown rank can't be split into rows"), std::string::npos);
  EXPECT_NE(sentence([&] { map(same, placeholder(g, of<float>)); }).find("a scalar has no rows"), std::string::npos);
  EXPECT_EQ(map(same, reshape(open, {-1, 2})).type(), (of<float, unknown, 2>));
}

TEST(map, takes_a_row_of_each_value_and_stacks_each_result) {
  graph g;
  auto const x = placeholder<float, "n", 3>(g, "x");
  auto const w = placeholder<float, "n">(g, "w");
  auto const f = [](auto row, auto by) { return std::tuple{row * by, sum(row), by > 1.f}; };
  auto const [scaled, sums, large] = map(f, x, w);
  static_assert(std::same_as<decltype(scaled), expr<of<float, "n", 3>> const>);
  static_assert(std::same_as<decltype(sums), expr<of<float, "n">> const>);
  static_assert(std::same_as<decltype(large), expr<of<bool, "n">> const>);
  auto const [again, of_tuple, third] = map(f, std::tuple{x, w}, parallel_iterations(3));
  auto const [once_more, _, __] = map(f, x, w, parallel_iterations(2));
  test::each_execution s(g);
  std::vector<feed> const feeds{{x, matrix<float>({{1, 2, 3}, {0, 1, 0}})}, {w, vector<float>({2, 1})}};
  auto const [a, b, c, d, e] = s.run(feeds, scaled, sums, large, again, once_more);
  EXPECT_TRUE(same_bits(a, matrix<float>({{2, 4, 6}, {0, 1, 0}})));
  EXPECT_TRUE(same_bits(b, vector<float>({6, 1})));
  EXPECT_TRUE(same_bits(c, vector<bool>({true, false})));
  EXPECT_TRUE(same_bits(d, a));
  EXPECT_TRUE(same_bits(e, a));
  auto const none = s.run({{x, tensor(dtype::float32, {0, 3})}, {w, tensor(dtype::float32, {0})}}, scaled, sums);
  EXPECT_EQ(std::get<0>(none).shape(), (shape{0, 3}));
  EXPECT_EQ(std::get<1>(none).shape(), shape{0});
}

TEST(map, of_several_values_is_differentiable_by_each) {
  graph g;
  auto const x = placeholder<double, 3, 2>(g, "x");
  auto const w = placeholder<double, 3>(g, "w");
  auto const scale = placeholder<double>(g, "scale");
  auto const [a, b] =
      map([&](auto row, auto by) { return std::tuple{row * row * by, sum(row) * by * by * scale}; }, x, w);
  auto const loss = sum(a) + sum(b);  // Σ x² w + w² scale Σ x
  auto const [dx, dw, ds] = gradients(loss, x, w, scale);
  auto const [second] = gradients(sum(dw), w);
  test::each_execution s(g);
  auto const [gx, gw, gs, gww] =
      s.run({{x, matrix<double>({{1, 2}, {3, 4}, {5, 6}})}, {w, vector<double>({1, 2, 3})}, {scale, tensor(2.)}}, dx,
            dw, ds, second);
  EXPECT_TRUE(same_bits(gx, matrix<double>({{2 + 2, 4 + 2}, {12 + 8, 16 + 8}, {30 + 18, 36 + 18}})));
  EXPECT_TRUE(same_bits(gw, vector<double>({5 + 12, 25 + 56, 61 + 132})));
  EXPECT_EQ(double(gs), 3 + 28 + 99);
  EXPECT_TRUE(same_bits(gww, vector<double>({12, 28, 44})));
}

TEST(map, mixes_typed_and_erased_values) {
  graph g;
  auto const x = constant<float, 2>(g, {1, 2});
  value const y = constant<float, 2>(g, {3, 4});
  auto const [typed_one, erased] = map([](auto a, value b) { return std::tuple{a, a * b}; }, x, y);
  static_assert(std::same_as<decltype(typed_one), expr<of<float, 2>> const>);
  static_assert(std::same_as<decltype(erased), value const>);
  session s(g);
  EXPECT_TRUE(same_bits(s.run(erased), vector<float>({3, 8})));
}

TEST(map, gives_arrays_that_a_row_writes_beside_values) {
  graph g;
  auto const x = constant<float, 2>(g, {1, 2});
  auto const [sums, arrays] = map(
      [&](auto v) {
        auto const a = tensor_array<of<float>, 1>(g).write(constant(g, 0), v * 2.f);
        return std::tuple{v + 1.f, a};
      },
      x);
  auto const [rows, written] = arrays;
  session s(g);
  auto const [a, b, c] = s.run(sums, rows, written);
  EXPECT_TRUE(same_bits(a, vector<float>({2, 3})));
  EXPECT_TRUE(same_bits(b, matrix<float>({{2}, {4}})));
  EXPECT_TRUE(same_bits(c, matrix<bool>({{true}, {true}})));
}

TEST(map, refuses_other_numbers_of_rows) {
  graph g;
  value const x = constant<float, 2>(g, {1, 2}), y = constant<float, 3>(g, {1, 2, 3});
  auto const n = placeholder<float, unknown>(g, "n"), m = placeholder<float, unknown>(g, "m");
  auto const product = [](auto a, auto b) { return a * b; };
  EXPECT_NE(sentence([&] { map(product, x, y); }).find("loop: the tensors have different numbers of rows: 2 against 3"),
            std::string::npos);
  auto const late = map(product, n, m);
  test::each_execution s(g);
  auto const said = sentence([&] { s.run({{n, vector<float>({1, 2})}, {m, vector<float>({1, 2, 3})}}, late); });
  EXPECT_NE(said.find("2 against 3"), std::string::npos) << said;
}

}  // namespace
}  // namespace rill
