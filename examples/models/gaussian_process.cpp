// Gaussian process regression (C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine Learning, 2006, §2
// and §5): the width, height and noise of the kernel are those that make the measurements likeliest. Needs Eigen.
#include <rill/ops/list/eigen_operations.hpp>
#include <rill/rill.hpp>

#include <cmath>
#include <random>

#include "arguments.hpp"

namespace {

constexpr std::int64_t measured = 40, asked = 21;
constexpr double noise = 0.1;

double truth(double x) { return std::sin(2 * x) + 0.3 * x; }

/// Returns exp(-(a - b)² / (2 width²)) height² for each pair.
template <class A, class B, class W, class H> auto kernel(A a, B b, W width, H height) {
  auto const apart = (rill::expand_dims<1>(a) - rill::expand_dims<0>(b)) / width;
  return rill::exp(rill::square(apart) * -0.5) * rill::square(height);
}

void run(long steps) {
  rill::tensor_of<rill::of<double, measured>> x{rill::tensor(rill::dtype::float64, {measured})};
  rill::tensor_of<rill::of<double, measured>> y{x.clone()};
  std::mt19937 random(1);
  std::uniform_real_distribution<double> place(-3, 3);
  std::normal_distribution<double> error(0, noise);
  for (std::int64_t i = 0; i < measured; ++i) {
    x.at<double>(i) = place(random);
    y.at<double>(i) = truth(x.at<double>(i)) + error(random);
  }

  rill::graph g(1);
  auto places = rill::placeholder<double, measured>(g, "places");
  auto values = rill::placeholder<double, measured>(g, "values");
  auto logs = rill::variable(rill::constant<double, 3>(g, {0, 0, -1}), "logs");  // of width, height and noise
  auto width = rill::exp(logs[0]), height = rill::exp(logs[1]), error_of = rill::exp(logs[2]);

  // -log p(values) = ½ |L⁻¹ y|² + Σ log Lᵢᵢ + ½ n log 2π, for the Cholesky factor L of K + noise².
  auto identity = rill::one_hot<measured, double>(rill::constant(g, [] {
    rill::tensor_of<rill::of<std::int32_t, measured>> all{rill::tensor(rill::dtype::int32, {measured})};
    for (std::int64_t i = 0; i < measured; ++i) all.at<std::int32_t>(i) = static_cast<std::int32_t>(i);
    return all;
  }()));
  auto covariance = kernel(places, places, width, height) + identity * (rill::square(error_of) + 1e-8);
  auto factor = rill::cholesky(covariance);
  auto white = rill::triangular_solve(factor, values);
  auto half_log_determinant = rill::sum(rill::log(rill::sum<1>(factor * identity)));
  auto unlikeliness = rill::sum(rill::square(white)) * 0.5 + half_log_determinant + 0.5 * measured * std::log(2 * M_PI);
  auto train = rill::adam{.rate = 0.05}.minimize(unlikeliness);

  // What the measurements say of other places: a mean, and a deviation.
  auto others = rill::placeholder<double, asked>(g, "others");
  auto between = kernel(places, others, width, height);
  auto reach = rill::triangular_solve(factor, between);
  auto mean = rill::sum<0>(reach * rill::expand_dims<1>(white));
  auto deviation = rill::sqrt(rill::square(height) - rill::sum<0>(rill::square(reach)));

  rill::session s{g};
  s.run(rill::initializer(g));
  auto step = s.prepare(rill::inputs(places, values), rill::outputs(unlikeliness), train);
  for (long i = 1; i <= steps; ++i) {
    double const l = step(x, y).item<double>();
    if (i % 50 == 0 || i == steps) std::printf("step %4ld: -log likelihood %.4f\n", i, l);
  }

  rill::tensor_of<rill::of<double, asked>> at{rill::tensor(rill::dtype::float64, {asked})};
  for (std::int64_t i = 0; i < asked; ++i) at.at<double>(i) = -3 + 6.0 * double(i) / double(asked - 1);
  auto const [m, d, found] = s.run({{places, x}, {values, y}, {others, at}}, mean, deviation, error_of);
  double worst = 0;
  int within = 0;
  for (std::int64_t i = 0; i < asked; ++i) {
    double const off = std::abs(m.at<double>(i) - truth(at.at<double>(i)));
    worst = std::max(worst, off);
    within += off < 3 * d.at<double>(i);
    if (i % 4 == 0)
      std::printf("at %5.2f: %6.3f ± %.3f, and in truth %6.3f\n", at.at<double>(i), m.at<double>(i), d.at<double>(i),
                  truth(at.at<double>(i)));
  }
  std::printf("noise %.3f, and in truth %.3f\n", double(found), noise);
  models::expect(worst < (steps < 100 ? 1.0 : 0.35), "it is far from the truth somewhere");
  models::expect(within >= asked - 2, "it is surer than it should be");
}

}  // namespace

int main(int count, char** words) { return models::main_of(count, words, 300, run); }
