#include "rill/ops/random/normal.hpp"

#include "../run.hpp"
#include "rill/ops/random/random_kernels.hpp"

namespace rill {
namespace {

// The share of a standard normal distribution below x.
double below(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.)); }

// The largest distance between the numbers' distribution and the one that is given (Kolmogorov-Smirnov).
double distance(std::vector<double> v, std::function<double(double)> const& distribution) {
  std::sort(v.begin(), v.end());
  double most = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    double const p = distribution(v[i]), n = static_cast<double>(v.size()), at = static_cast<double>(i);
    most = std::max({most, std::abs(p - at / n), std::abs(p - (at + 1) / n)});
  }
  return most;
}

TEST(normal, is_distributed_so) {
  for (auto d : {dtype::float32, dtype::float64}) {
    graph g{3};
    session s{g};
    auto const v = test::to_doubles(s.run(normal(g, {d, {400, 500}}, 2, 3)));
    EXPECT_LT(distance(v, [](double x) { return below((x - 2) / 3); }), 1.63 / std::sqrt(2e5)) << name(d);  // 1 in 100
  }
}

TEST(normal, has_its_moments_in_16_bits_too) {
  for (auto d : {dtype::float16, dtype::bfloat16}) {
    graph g{3};
    session s{g};
    auto const v = test::to_doubles(s.run(normal(g, {d, {400, 500}})));
    double mean = 0, square = 0;
    for (double x : v) mean += x / 2e5, square += x * x / 2e5;
    EXPECT_NEAR(mean, 0, 0.01) << name(d);
    EXPECT_NEAR(square, 1, 0.02) << name(d);
  }
}

TEST(truncated_normal, is_distributed_so_and_ends_at_two_deviations) {
  for (auto d : {dtype::float32, dtype::float64}) {
    graph g{3};
    session s{g};
    auto const v = test::to_doubles(s.run(truncated_normal(g, {d, {400, 500}}, 0, 1)));
    EXPECT_LT(distance(v, [](double x) { return (below(x) - below(-2)) / (below(2) - below(-2)); }),
              1.63 / std::sqrt(2e5))
        << name(d);
    auto const [least, most] = std::minmax_element(v.begin(), v.end());
    EXPECT_GE(*least, -2);
    EXPECT_LE(*most, 2);
    EXPECT_LT(*least, -1.99);
    EXPECT_GT(*most, 1.99);
  }
}

TEST(normal, is_the_same_on_any_number_of_threads_and_another_in_another_step) {
  graph g{5};
  auto const x = normal<float, 123, 457>(g), y = truncated_normal<float, 123, 457>(g);
  session one{g, {.threads = 1}}, four{g, {.threads = 4}};
  EXPECT_TRUE(same_bits(one.run(x), four.run(x)));
  EXPECT_TRUE(same_bits(one.run(y), four.run(y)));
  EXPECT_FALSE(same_bits(one.run(x), one.run(x)));
}

TEST(normal, quantiles_are_those_of_the_distribution) {
  for (double q : {1e-6, 0.01, 0.2, 0.42499, 0.42501, 0.49, 0.49999}) {
    double const rest = 0.5 - q;
    double const x = kernels::detail::normal_quantile<double>(packet<double>(q), packet<double>(rest))[0];
    EXPECT_NEAR(below(-x) / rest, 1, 1e-12) << q;
    auto const f = static_cast<double>(kernels::detail::normal_quantile<float>(
        packet<float>(static_cast<float>(q)), packet<float>(static_cast<float>(rest)))[0]);
    EXPECT_NEAR(f / x, 1, 1e-6) << q;
  }
  double const far = kernels::detail::normal_quantile<double>(packet<double>(0.5), packet<double>(1e-15))[0];
  EXPECT_NEAR(far, 7.941345326170998, 1e-12);
}

TEST(normal, refuses_what_is_no_distribution) {
  graph g;
  test::expect_error(code::invalid_argument, "deviation is negative", [&] { normal<float, 2>(g, 0, -1); });
  test::expect_error(code::invalid_argument, "only floats are drawn", [&] { normal<int, 2>(g); });
}

}  // namespace
}  // namespace rill
