#include "rill/ops/control/for_loop.hpp"

#include <gtest/gtest.h>

#include "../executions.hpp"
#include "base/sentence.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

/// What the counter goes through, as digits: 1 then 3 is 13.
auto const digits = [](auto i, auto seen) { return seen * 10 + i; };

TEST(for_loop, counts_up_and_down_by_numbers) {
  graph g;
  auto const none = constant(g, 0);
  auto const up = for_loop(1, 5, 1, digits, none), by_two = for_loop(1, 6, 2, digits, none);
  auto const down = for_loop(5, 0, -2, digits, none), empty = for_loop(3, 3, 1, digits, none);
  auto const backwards = for_loop(5, 1, 1, digits, none), past = for_loop(0, 5, -1, digits, none);
  static_assert(std::same_as<decltype(up), expr<of<std::int32_t>> const>);
  test::each_execution s(g);
  auto const [a, b, c] = s.run(up, by_two, down);
  EXPECT_EQ(std::int32_t(a), 1234);
  EXPECT_EQ(std::int32_t(b), 135);
  EXPECT_EQ(std::int32_t(c), 531);
  auto const [d, e, f] = s.run(empty, backwards, past);
  EXPECT_EQ(std::int32_t(d) + std::int32_t(e) + std::int32_t(f), 0);
}

TEST(for_loop, counts_between_values_like_a_loop_of_cpp) {
  graph g;
  auto const start = placeholder<std::int32_t>(g, "start"), limit = placeholder<std::int32_t>(g, "limit"),
             step = placeholder<std::int32_t>(g, "step");
  auto const sum =
      for_loop(start, limit, step, [](auto i, auto n, auto all) { return std::tuple{n + 1, all + i}; }, 0, 0);
  auto const [count, total] = sum;
  test::each_execution s(g);
  for (int from : {-3, 0, 4})
    for (int to : {-4, 0, 5})
      for (int by : {-3, -1, 1, 2, 7}) {
        int n = 0, all = 0;
        for (int i = from; by > 0 ? i < to : i > to; i += by) ++n, all += i;
        auto const [got_n, got_all] =
            s.run({{start, tensor(from)}, {limit, tensor(to)}, {step, tensor(by)}}, count, total);
        EXPECT_EQ(std::int32_t(got_n), n) << from << " to " << to << " by " << by;
        EXPECT_EQ(std::int32_t(got_all), all) << from << " to " << to << " by " << by;
      }
  std::vector<feed> const stuck{{start, tensor(0)}, {limit, tensor(5)}, {step, tensor(0)}};
  EXPECT_NE(sentence([&] { s.run(stuck, count); }).find("for_loop: the step is 0"), std::string::npos);
  int const most = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(std::int32_t(s.run({{start, tensor(most - 2)}, {limit, tensor(most)}, {step, tensor(2)}}, count)), 1);
}

TEST(for_loop, mixes_numbers_and_values_and_counts_in_their_type) {
  graph g;
  auto const n = placeholder<std::int64_t>(g, "n");
  auto const last = for_loop(0, n, 1, [](auto i, auto) { return i * i; }, constant(g, std::int64_t{-1}));
  static_assert(std::same_as<decltype(last), expr<of<std::int64_t>> const>);
  value const erased = placeholder(g, of<std::int32_t>, "erased");
  auto const rounds = for_loop(erased, 10, 3, [](value i, value all) { return all + i; }, value(constant(g, 0)));
  test::each_execution s(g);
  auto const [a, b] = s.run({{n, tensor(std::int64_t{5})}, {erased, tensor(1)}}, last, rounds);
  EXPECT_EQ(std::int64_t(a), 16);
  EXPECT_EQ(b.at<std::int32_t>(), 1 + 4 + 7);
}

TEST(for_loop, without_loop_variables_is_an_operation) {
  graph g;
  auto const v = variable(constant(g, 0), "v");
  operation const counts = for_loop(constant(g, 0), 4, 1, [&](auto i) { assign_add(v, i); });
  test::each_execution s(g);
  s.run(initializer(g));
  s.run(counts);
  EXPECT_EQ(s.run(value(v)).at<std::int32_t>(), 6);
}

TEST(for_loop, is_differentiable_through_its_variables_and_captures) {
  graph g;
  auto const x = placeholder<double>(g, "x"), w = placeholder<double>(g, "w");
  auto const n = placeholder<std::int32_t>(g, "n");
  auto const [power, sum] = for_loop(
      0, n, 1, [&](auto i, auto p, auto all) { return std::tuple{p * x, all + p * w * cast<double>(i)}; }, 1., 0.,
      parallel_iterations(4));
  auto const [dx, dw] = gradients(power + sum, x, w);  // x³ + w (0 + x + 2 x²)
  auto const [ddx] = gradients(dx, x);
  test::each_execution s(g);
  auto const [a, b, c, d] = s.run({{x, tensor(2.)}, {w, tensor(3.)}, {n, tensor(3)}}, power, dx, dw, ddx);
  EXPECT_EQ(double(a), 8);
  EXPECT_EQ(double(b), 12 + 3 * (1 + 8));
  EXPECT_EQ(double(c), 2 + 8);
  EXPECT_EQ(double(d), 12 + 12);
  EXPECT_EQ(double(s.run({{x, tensor(2.)}, {w, tensor(3.)}, {n, tensor(0)}}, dx)), 0);
}

TEST(for_loop, within_a_body_counts_in_each_iteration) {
  graph g;
  auto const triangle = map([](auto n) { return for_loop(0, n, 1, [](auto i, auto all) { return all + i; }, 0); },
                            constant<std::int32_t, 4>(g, {0, 1, 2, 5}));
  test::each_execution s(g);
  EXPECT_TRUE(same_bits(s.run(triangle), vector<std::int32_t>({0, 0, 1, 10})));
}

TEST(for_loop, refuses_what_is_no_counter) {
  graph g;
  auto const zero = constant(g, 0);
  EXPECT_NE(sentence([&] { for_loop(zero, 5, 0, digits, 0); }).find("for_loop: the step is 0"), std::string::npos);
  value const fraction = constant(g, 1.5), many = constant<std::int32_t, 2>(g, {1, 2}),
              wide = constant(g, std::int64_t{1});
  auto const same = [](value, value v) { return v; };
  value const x = constant(g, 1.f);
  for (auto const& bad : {fraction, many})
    EXPECT_NE(sentence([&] { for_loop(bad, bad, bad, same, x); }).find("for_loop: expected the counter's first value"),
              std::string::npos);
  EXPECT_EQ(refusal([&] { for_loop(value(zero), wide, 1, same, x); }), code::invalid_argument);
}

}  // namespace
}  // namespace rill
