#include "rill/run/tagged_walk.hpp"

#include <gtest/gtest.h>

#include "ops/run.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

session_options tagged(int threads = 1) {
  session_options o;
  o.threads = threads, o.gear = gear::tagged;
  return o;
}

TEST(tagged_walk, runs_a_loop_of_two_variables) {
  graph g;
  auto const w = constant<float, 2, 2>(g, {1, 1, 0, 1});
  auto const [n, v] =
      while_loop([](auto i, auto) { return i < 10; }, [&](auto i, auto x) { return std::tuple{i + 1, matmul(x, w)}; },
                 constant(g, 0), constant<float, 2, 2>(g, {1, 0, 0, 1}), parallel_iterations(10));
  session s(g, tagged());
  for (int k = 0; k < 3; ++k) {
    auto const [count, power] = s.run(n, v);
    EXPECT_EQ(std::int32_t(count), 10);
    EXPECT_TRUE(same_bits(power, matrix<float>({{1, 10}, {0, 1}})));
  }
}

TEST(tagged_walk, runs_the_branch_that_is_chosen) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const y = cond(x > 0.f, [&] { return log(x); }, [&] { return x * 2.f; });
  session s(g, tagged());
  EXPECT_EQ(float(s.run({{x, tensor(1.f)}}, y)), 0.f);
  EXPECT_EQ(float(s.run({{x, tensor(-3.f)}}, y)), -6.f);
}

TEST(tagged_walk, runs_loops_in_loops) {
  graph g;
  auto const m = constant<float, 2, 3>(g, {1, 2, 3, 4, 5, 6});
  auto const sums =
      map([](auto row) { return fold([](auto a, auto b) { return a * 2.f + b; }, sum(row) * 0.f, row); }, m);
  session s(g, tagged());
  EXPECT_TRUE(same_bits(s.run(sums), vector<float>({11, 32})));
}

}  // namespace
}  // namespace rill
