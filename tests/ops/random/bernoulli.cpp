#include "rill/ops/random/bernoulli.hpp"

#include "../run.hpp"

namespace rill {
namespace {

double part_of(tensor const& t) {
  double sum = 0;
  for (double x : test::to_doubles(t)) sum += x;
  return sum / static_cast<double>(t.elements());
}

TEST(bernoulli, is_true_as_often_as_asked) {
  graph g{3};
  session s{g};
  for (double p : {0.01, 0.5, 0.9}) EXPECT_NEAR(part_of(s.run(bernoulli<300, 1000>(g, p))), p, 0.003) << p;
  EXPECT_EQ(part_of(s.run(bernoulli<1000>(g, 0))), 0);
  EXPECT_EQ(part_of(s.run(bernoulli<1000>(g, 1))), 1);
  // Of a million numbers of 24 bits one would be 0 in each 17 steps.
  EXPECT_EQ(part_of(s.run(bernoulli<1000, 1000>(g, 1e-12))), 0);
}

TEST(bernoulli, takes_a_probability_for_each_element) {
  graph g{3};
  session s{g};
  auto const p = placeholder<float, "n", 4>(g);
  auto const drawn = bernoulli(p);
  static_assert(decltype(drawn)::static_type == of<bool, "n", 4>);
  std::vector<double> each;
  for (int i = 0; i < 100000; ++i) each.insert(each.end(), {0, 0.25, 1, NAN});
  auto const y = test::to_doubles(
      s.run({{p, tensor_of<of<float, 100000, 4>>(test::from_doubles(dtype::float32, {100000, 4}, each))}}, drawn));
  double sums[4] = {};
  for (std::size_t i = 0; i < y.size(); ++i) sums[i % 4] += y[i];
  EXPECT_EQ(sums[0], 0);
  EXPECT_NEAR(sums[1], 25000, 500);
  EXPECT_EQ(sums[2], 100000);
  EXPECT_EQ(sums[3], 0);
}

TEST(bernoulli, is_the_same_for_a_seed_a_node_and_a_step_and_any_number_of_threads) {
  auto const draw_twice = [](std::uint64_t seed, int threads) {
    graph g{seed};
    auto const x = bernoulli<301, 300>(g, 0.3);
    session s{g, {.threads = threads}};
    auto const first = s.run(x);
    return std::pair<tensor, tensor>(first, s.run(x));
  };
  auto const [a, b] = draw_twice(7, 1);
  auto const [c, d] = draw_twice(7, 4);
  EXPECT_TRUE(same_bits(a, c) && same_bits(b, d));
  EXPECT_FALSE(same_bits(a, b));
}

TEST(bernoulli, refuses_what_is_no_probability) {
  graph g;
  for (double bad : {-0.1, 1.1, static_cast<double>(NAN)})
    test::expect_error(code::invalid_argument, "must be from 0 to 1", [&] { bernoulli<3>(g, bad); });
  test::expect_error(code::invalid_argument, "only bools are drawn", [&] { bernoulli(g, of<float, 3>, 0.5); });
}

}  // namespace
}  // namespace rill
