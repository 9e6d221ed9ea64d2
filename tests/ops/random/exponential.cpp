#include "rill/ops/random/exponential.hpp"

#include "../run.hpp"

namespace rill {
namespace {

std::vector<double> sorted(tensor const& t) {
  auto v = test::to_doubles(t);
  std::sort(v.begin(), v.end());
  return v;
}
double quantile(std::vector<double> const& v, double p) {
  return v[static_cast<std::size_t>(p * static_cast<double>(v.size()))];
}

TEST(exponential, has_the_quantiles_of_its_distribution) {
  for (double rate : {1., 4.}) {
    graph g{1};
    session s{g};
    auto const v = sorted(s.run(exponential<float, 500, 400>(g, rate)));
    for (double p : {0.01, 0.1, 0.5, 0.9, 0.999})
      EXPECT_NEAR(quantile(v, p), -std::log1p(-p) / rate, 0.1 * -std::log1p(-p) / rate) << p;
    EXPECT_TRUE(v.front() >= 0 && std::isfinite(v.back()));
  }
}

TEST(exponential, takes_extents_from_another_value) {
  graph g;
  auto x = placeholder<float, "n", 3>(g, "x");
  auto y = exponential_like(x, 2);
  static_assert(decltype(y)::static_type == of<float, "n", 3>);
  session s{g};
  EXPECT_EQ(s.run({{x, tensor_of<of<float, 2, 3>>(test::counting(dtype::float32, {2, 3}))}}, y).shape(), (shape{2, 3}));
}

TEST(laplace, is_exponential_on_either_side_of_its_mean) {
  graph g{2};
  session s{g};
  auto const v = sorted(s.run(laplace<double, 500, 400>(g, 3, 0.5)));
  for (double p : {0.01, 0.1, 0.4}) {
    double const away = -0.5 * std::log(2 * p);
    EXPECT_NEAR(quantile(v, p), 3 - away, 0.05 * away + 0.005) << p;
    EXPECT_NEAR(quantile(v, 1 - p), 3 + away, 0.05 * away + 0.005) << p;
  }
  EXPECT_NEAR(quantile(v, 0.5), 3, 0.01);
}

TEST(exponential, refuses_what_is_no_rate) {
  graph g;
  test::expect_error(code::invalid_argument, "the rate must be above 0", [&] { exponential<float, 2>(g, 0); });
  test::expect_error(code::invalid_argument, "the scale must be above 0", [&] { laplace<float, 2>(g, 0, -1); });
  test::expect_error(code::invalid_argument, "only floats are drawn", [&] { exponential(g, of<int, 2>); });
}

}  // namespace
}  // namespace rill
