#include "rill/ops/random/gamma.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"

namespace rill {
namespace {

struct statistics {
  double mean = 0, variance = 0;
  std::vector<double> sorted;
  explicit statistics(tensor const& t) : sorted(test::to_doubles(t)) {
    auto const n = static_cast<double>(sorted.size());
    for (double x : sorted) mean += x / n;
    for (double x : sorted) variance += (x - mean) * (x - mean) / n;
    std::sort(sorted.begin(), sorted.end());
  }
  double quantile(double p) const { return sorted[static_cast<std::size_t>(p * static_cast<double>(sorted.size()))]; }
};

// Quantiles are SciPy's, of scipy.stats.gamma.
TEST(gamma, has_the_moments_and_quantiles_of_its_distribution) {
  struct parameter {
    double shape, tenth, median, most;  // most: the 99th percentile
  };
  for (auto const& [shape, tenth, median, most] :
       {parameter{0.5, 0.0078954, 0.2274682, 3.3174483}, parameter{1, 0.1053605, 0.6931472, 4.6051702},
        parameter{2.5, 0.805154, 2.1757301, 7.5431362}, parameter{40, 32.138922, 39.667165, 56.164396}}) {
    graph g{11};
    session s{g};
    statistics const x(s.run(gamma<double, 500, 400>(g, shape)));
    EXPECT_NEAR(x.mean, shape, 0.02 * shape) << shape;
    EXPECT_NEAR(x.variance, shape, 0.04 * shape) << shape;
    EXPECT_NEAR(x.quantile(0.1), tenth, 0.03 * tenth + 0.0002) << shape;
    EXPECT_NEAR(x.quantile(0.5), median, 0.02 * median) << shape;
    EXPECT_NEAR(x.quantile(0.99), most, 0.03 * most) << shape;
    EXPECT_GE(x.sorted[0], 0);
  }
}

TEST(gamma, is_drawn_in_every_float_type_and_scaled) {
  for (auto d : {dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64}) {
    graph g{3};
    session s{g};
    statistics const x(s.run(gamma(g, type(d, {300, 300}), 3, 0.5)));
    EXPECT_NEAR(x.mean, 1.5, 0.03) << name(d);
    EXPECT_NEAR(x.variance, 0.75, 0.04) << name(d);
  }
}

TEST(gamma, is_the_same_for_a_seed_a_node_and_a_step_and_any_number_of_threads) {
  auto const draw_twice = [](std::uint64_t seed, int threads) {
    graph g{seed};
    auto const x = gamma<float, 300, 31>(g, 0.7), y = gamma<float, 300, 31>(g, 0.7);
    session s{g, {.threads = threads}};
    auto const [a, b] = s.run(x, y);
    return std::vector<tensor>{a, b, s.run(x)};
  };
  auto const one = draw_twice(7, 1), four = draw_twice(7, 4), other = draw_twice(8, 1);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(same_bits(one[i], four[i]));
  EXPECT_FALSE(same_bits(one[0], one[1]));    // another node
  EXPECT_FALSE(same_bits(one[0], one[2]));    // another step
  EXPECT_FALSE(same_bits(one[0], other[0]));  // another seed
}

TEST(gamma, has_a_number_for_each_parameter_and_no_derivative) {
  graph g;
  auto shape = placeholder<double, 6>(g, "shape");
  auto y = gamma(shape);
  static_assert(decltype(y)::static_type == of<double, 6>);
  auto [slope] = gradients(sum(y * shape), shape);
  session s{g};
  auto const [got, d] = s.run({{shape, rill::vector<double>({0, -1, NAN, INFINITY, 1e300, 5e-324})}}, y, slope);
  auto const v = test::to_doubles(got);
  EXPECT_TRUE(v[0] == 0 && std::isnan(v[1]) && std::isnan(v[2]) && v[3] == INFINITY);
  EXPECT_NEAR(v[4], 1e300, 1e290);
  EXPECT_EQ(v[5], 0);
  EXPECT_EQ(test::to_doubles(d)[4], v[4]);  // of the product alone
}

TEST(gamma, refuses_what_is_no_parameter) {
  graph g;
  test::expect_error(code::invalid_argument, "shape and scale must be above 0", [&] { gamma<float, 2>(g, 0); });
  test::expect_error(code::invalid_argument, "only floats are drawn", [&] { gamma(g, of<int, 2>, 1); });
  test::expect_error(code::invalid_argument, "shape parameters are not floats",
                     [&] { gamma(placeholder(g, of<int, 2>)); });
}

}  // namespace
}  // namespace rill
