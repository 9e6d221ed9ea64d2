#include "rill/ops/control/scan.hpp"

#include <gtest/gtest.h>

#include "../executions.hpp"
#include "base/sentence.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

TEST(scan, keeps_every_state_and_fold_the_last) {
  graph g;
  auto const x = constant<float, 4>(g, {1, 2, 3, 4});
  auto const f = [](auto state, auto v) { return state * 10.f + v; };
  auto const all = scan(f, constant(g, 0.f), x);
  auto const last = fold(f, constant(g, 0.f), x);
  auto const reversed = fold_right(f, constant(g, 0.f), x);
  test::each_execution s(g);
  auto const [a, b, c] = s.run(all, last, reversed);
  EXPECT_TRUE(same_bits(a, vector<float>({1, 12, 123, 1234})));
  EXPECT_EQ(float(b), 1234);
  EXPECT_EQ(float(c), 4321);
}

TEST(scan, takes_and_stacks_several_states_over_several_values) {
  graph g;
  auto const x = placeholder<float, "n">(g, "x"), y = placeholder<float, "n">(g, "y");
  auto const zero = constant(g, 0.f);
  auto const f = [](auto sum, auto product, auto a, auto b) { return std::tuple{sum + a, product * b}; };
  auto const [sums, products] = scan(f, std::tuple{zero, 1.f}, std::tuple{x, y});
  static_assert(std::same_as<decltype(sums), expr<of<float, "n">> const>);
  auto const [last_sum, last_product] = fold(f, std::tuple{zero, 1.f}, std::tuple{x, y}, parallel_iterations(4));
  static_assert(std::same_as<decltype(last_product), expr<of<float>> const>);
  auto const backwards = scan_right(f, std::tuple{zero, 1.f}, std::tuple{x, y});
  auto const [right_sum, right_product] = fold_right(f, std::tuple{zero, 1.f}, std::tuple{x, y});
  test::each_execution s(g);
  auto const feeds = [&](tensor a, tensor b) { return std::vector<feed>{{x, a}, {y, b}}; };
  auto const some = feeds(vector<float>({1, 2, 3}), vector<float>({2, 3, 4}));
  auto const [a, b, c, d] = s.run(some, sums, products, last_sum, last_product);
  EXPECT_TRUE(same_bits(a, vector<float>({1, 3, 6})));
  EXPECT_TRUE(same_bits(b, vector<float>({2, 6, 24})));
  EXPECT_EQ(float(c), 6);
  EXPECT_EQ(float(d), 24);
  auto const [e, f2, h] = s.run(some, std::get<0>(backwards), std::get<1>(backwards), right_product);
  EXPECT_TRUE(same_bits(e, vector<float>({6, 5, 3})));
  EXPECT_TRUE(same_bits(f2, vector<float>({24, 12, 4})));
  EXPECT_EQ(float(h), 24);
  auto const none = feeds(tensor(dtype::float32, {0}), tensor(dtype::float32, {0}));
  auto const [i, j, k] = s.run(none, sums, last_product, right_sum);
  EXPECT_EQ(i.shape(), shape{0});
  EXPECT_EQ(float(j), 1);
  EXPECT_EQ(float(k), 0);
}

TEST(scan, gives_the_last_states_and_stacked_results_for_a_pair) {
  graph g;
  auto const x = constant<float, 3>(g, {1, 2, 3});
  auto const [last, squares] = scan([](auto state, auto v) { return std::pair{state + v, v * v}; }, 0.f, x);
  static_assert(std::same_as<decltype(last), expr<of<float>> const>);
  static_assert(std::same_as<decltype(squares), expr<of<float, 3>> const>);
  auto const many =
      scan([](auto sum, auto count,
              auto v) { return std::pair{std::tuple{sum + v, count + 1}, std::tuple{sum, count, stack(v, sum)}}; },
           std::tuple{0.f, 0}, x);
  auto const [sum_of, count_of] = many.first;
  auto const [before, counts, both] = many.second;
  static_assert(std::same_as<decltype(counts), expr<of<std::int32_t, 3>> const>);
  static_assert(std::same_as<decltype(both), expr<of<float, 3, 2>> const>);
  auto const [end, differences] = scan_right([](auto next, auto v) { return std::pair{v, next - v}; }, 4.f, x);
  test::each_execution s(g);
  auto const [a, b, c, d] = s.run(last, squares, sum_of, count_of);
  EXPECT_EQ(float(a), 6);
  EXPECT_TRUE(same_bits(b, vector<float>({1, 4, 9})));
  EXPECT_EQ(float(c), 6);
  EXPECT_EQ(std::int32_t(d), 3);
  auto const [e, f, h, i, j] = s.run(before, counts, both, end, differences);
  EXPECT_TRUE(same_bits(e, vector<float>({0, 1, 3})));
  EXPECT_TRUE(same_bits(f, vector<std::int32_t>({0, 1, 2})));
  EXPECT_TRUE(same_bits(h, matrix<float>({{1, 0}, {2, 1}, {3, 3}})));
  EXPECT_EQ(float(i), 1);
  EXPECT_TRUE(same_bits(j, vector<float>({1, 1, 1})));
}

TEST(scan, of_several_states_and_results_is_differentiable) {
  graph g;
  auto const x = placeholder<double, 4>(g, "x"), y = placeholder<double, 4>(g, "y");
  auto const first = placeholder<double>(g, "first"), w = placeholder<double>(g, "w");
  auto const made = scan(
      [&](auto a, auto b, auto u, auto v) {
        auto const next = tanh(a * w + u);
        return std::pair{std::tuple{next, b * 0.5 + next * v}, std::tuple{a * b, v * next}};
      },
      std::tuple{first, 1.}, std::tuple{x, y});
  auto const [last_a, last_b] = made.first;
  auto const [products, scaled] = made.second;
  auto const loss = last_a * last_b + sum(products * products) + sum(scaled);
  auto const [dx, dy, dfirst, dw] = gradients(loss, x, y, first, w);
  auto const [ddw] = gradients(dw, w);
  session s(g);
  auto const feeds = [&](double at, double by) {
    return std::vector<feed>{{x, vector<double>({0.1, -0.2, 0.3, 0.4})},
                             {y, vector<double>({1, 2, -1, 0.5})},
                             {first, tensor(at)},
                             {w, tensor(by)}};
  };
  auto const value_at = [&](double at, double by) { return double(s.run(feeds(at, by), loss)); };
  auto const [gx, gy, gf, gw, gww] = s.run(feeds(0.3, 0.7), dx, dy, dfirst, dw, ddw);
  double const h = 1e-5;
  EXPECT_NEAR(double(gf), (value_at(0.3 + h, 0.7) - value_at(0.3 - h, 0.7)) / (2 * h), 1e-8);
  EXPECT_NEAR(double(gw), (value_at(0.3, 0.7 + h) - value_at(0.3, 0.7 - h)) / (2 * h), 1e-8);
  auto const slope = [&](double by) { return double(s.run(feeds(0.3, by), dw)); };
  EXPECT_NEAR(double(gww), (slope(0.7 + h) - slope(0.7 - h)) / (2 * h), 1e-7);
  for (value v : {value(x), value(y)}) {
    tensor const got = v.name() == "x" ? tensor(gx) : tensor(gy);
    for (int i = 0; i < 4; ++i) {
      auto const moved = [&](double by) {
        auto all = feeds(0.3, 0.7);
        for (auto& f : all)
          if (f.to.name() == v.name()) {
            auto t = f.with.clone();
            t.mutable_data<double>()[i] += by;
            f = feed(v, t);
          }
        return double(s.run(all, loss));
      };
      EXPECT_NEAR(got.data<double>()[i], (moved(h) - moved(-h)) / (2 * h), 1e-8);
    }
  }
}

TEST(fold, keeps_arrays_and_values_among_its_states) {
  graph g;
  auto const x = constant<float, 3>(g, {1, 2, 3});
  auto const [all, count] = fold([](auto array, auto i, auto v) { return std::tuple{array.write(i, v * v), i + 1}; },
                                 std::tuple{tensor_array<of<float>, 3>(g), 0}, x);
  session s(g);
  auto const [a, b] = s.run(all.stack(), count);
  EXPECT_TRUE(same_bits(a, vector<float>({1, 4, 9})));
  EXPECT_EQ(std::int32_t(b), 3);
}

}  // namespace
}  // namespace rill
