#include "rill/ops/random/poisson.hpp"

#include "../run.hpp"

namespace rill {
namespace {

std::vector<double> draw(type const& t, double rate, std::uint64_t seed = 5) {
  graph g{seed};
  session s{g};
  return test::to_doubles(s.run(poisson(g, t, rate)));
}

TEST(poisson, has_the_mean_the_variance_and_the_skewness_of_its_rate) {
  for (double rate : {0.01, 0.7, 9.9, 10., 35., 1000., 1e7}) {
    auto const v = draw(of<double, 500, 400>, rate);
    auto const n = static_cast<double>(v.size());
    double mean = 0, variance = 0, third = 0;
    for (double k : v) {
      mean += k / n;
      ASSERT_TRUE(k >= 0 && k == std::floor(k));
    }
    for (double k : v) variance += (k - mean) * (k - mean) / n;
    for (double k : v) third += (k - mean) * (k - mean) * (k - mean) / n;
    EXPECT_NEAR(mean, rate, 6 * std::sqrt(rate / n)) << rate;
    EXPECT_NEAR(variance, rate, 0.03 * rate + 6 * std::sqrt(rate / n)) << rate;
    EXPECT_NEAR(third / std::pow(rate, 1.5), 1 / std::sqrt(rate), 0.05 + 0.1 / std::sqrt(rate)) << rate;
  }
}

// Each count of a small and of a large rate comes as often as its probability says.
TEST(poisson, draws_each_count_as_often_as_it_should) {
  for (double rate : {3., 12.}) {
    auto const v = draw(of<double, 500, 400>, rate, 9);
    std::vector<double> found(40);
    for (double k : v)
      if (k < 40) found[static_cast<std::size_t>(k)] += 1 / static_cast<double>(v.size());
    double p = std::exp(-rate);
    for (std::size_t k = 0; k < 40; p *= rate / static_cast<double>(++k))
      EXPECT_NEAR(found[k], p, 6 * std::sqrt(p / static_cast<double>(v.size())) + 1e-6) << rate << ", " << k;
  }
}

TEST(poisson, is_the_same_for_a_seed_and_any_number_of_threads) {
  auto const with = [](int threads) {
    graph g{7};
    auto const x = poisson<float, 300, 31>(g, 20.), y = poisson<float, 300, 31>(g, 20.);
    session s{g, {.threads = threads}};
    auto const [a, b] = s.run(x, y);
    EXPECT_FALSE(same_bits(a, b));
    EXPECT_FALSE(same_bits(a, s.run(x)));  // another step
    return a;
  };
  EXPECT_TRUE(same_bits(with(1), with(4)));
}

TEST(poisson, has_a_count_for_each_rate) {
  auto const rates = test::from_doubles(dtype::float64, {6}, {0, -1, NAN, INFINITY, 1e18, 1e-300});
  auto const v = test::to_doubles(test::run([](auto const& in) { return poisson(in[0]); }, {rates}));
  EXPECT_TRUE(v[0] == 0 && std::isnan(v[1]) && std::isnan(v[2]) && v[3] == INFINITY && v[5] == 0);
  EXPECT_NEAR(v[4], 1e18, 1e10);
  for (auto d : {dtype::float16, dtype::bfloat16, dtype::float32}) {
    double sum = 0;
    for (double k : draw(type(d, {300, 100}), 4)) sum += k;
    EXPECT_NEAR(sum / 30000, 4, 0.1) << name(d);
  }
}

TEST(poisson, refuses_what_is_no_rate) {
  graph g;
  test::expect_error(code::invalid_argument, "the rate must not be negative", [&] { poisson<float, 2>(g, -1); });
  test::expect_error(code::invalid_argument, "only floats are drawn", [&] { poisson(g, of<int, 2>, 1); });
  test::expect_error(code::invalid_argument, "the rates are not floats", [&] { poisson(placeholder(g, of<int, 2>)); });
}

}  // namespace
}  // namespace rill
