// Fits the rates of a predator-prey system (Lotka and Volterra) to a noisy record of it: a while_loop of Runge-Kutta
// steps integrates the equations, and derivatives go back through all of them.
#include <rill/rill.hpp>

#include <random>
#include <vector>

#include "arguments.hpp"

namespace {

constexpr std::int64_t samples = 40, between = 10;  // Runge-Kutta steps between two samples
constexpr double interval = 0.4;

/// Returns d(prey, predators)/dt: prey grow and are eaten, predators eat and die.
template <class Y, class R> auto change(Y y, R rates) {
  auto const prey = y[0], predators = y[1], met = prey * predators;
  return rill::stack(rates[0] * prey - rates[1] * met, rates[2] * met - rates[3] * predators);
}

/// Returns the state after one step of the classical fourth-order method.
template <class Y, class R> auto stepped(Y y, R rates) {
  auto const h = static_cast<float>(interval / between);
  auto const k1 = change(y, rates), k2 = change(y + k1 * (h / 2), rates);
  auto const k3 = change(y + k2 * (h / 2), rates), k4 = change(y + k3 * h, rates);
  return y + (k1 + k2 * 2.f + k3 * 2.f + k4) * (h / 6);
}

/// The record: the same method in plain C++, with true rates and noise.
rill::tensor_of<rill::of<float, samples, 2>> measured(std::vector<double> const& r, double noise) {
  rill::tensor t(rill::dtype::float32, {samples, 2});
  std::mt19937 random(1);
  std::normal_distribution<double> error(0, noise);
  double y[2] = {1, 0.5};
  for (std::int64_t i = 0; i < samples; ++i) {
    for (std::int64_t k = 0; k < between; ++k) {
      auto const f = [&](double a, double b, double* to) {
        to[0] = r[0] * a - r[1] * a * b, to[1] = r[2] * a * b - r[3] * b;
      };
      double const h = interval / between;
      double k1[2], k2[2], k3[2], k4[2];
      f(y[0], y[1], k1);
      f(y[0] + h / 2 * k1[0], y[1] + h / 2 * k1[1], k2);
      f(y[0] + h / 2 * k2[0], y[1] + h / 2 * k2[1], k3);
      f(y[0] + h * k3[0], y[1] + h * k3[1], k4);
      for (int n = 0; n < 2; ++n) y[n] += h / 6 * (k1[n] + 2 * k2[n] + 2 * k3[n] + k4[n]);
    }
    for (int n = 0; n < 2; ++n) t.at<float>(i, n) = static_cast<float>(y[n] + error(random));
  }
  return rill::tensor_of<rill::of<float, samples, 2>>(t);
}

void run(long steps) {
  std::vector<double> const truth{1.1, 0.8, 0.6, 0.9};
  auto const data = measured(truth, 0.02);

  rill::graph g(1);
  auto record = rill::placeholder<float, samples, 2>(g, "record");
  auto logs = rill::variable(rill::constant<float, 4>(g, {0, 0, 0, 0}), "logs");  // of the rates, which are above 0
  auto rates = rill::exp(logs);
  auto start = rill::constant<float, 2>(g, {1, 0.5f});

  // A scan over the samples, each of which is some steps later than the last.
  auto track = rill::scan(
      [&](auto y, auto) {
        auto const [i, later] =
            rill::while_loop([](auto k, auto) { return k < std::int32_t{between}; },
                             [&](auto k, auto state) { return std::tuple{k + 1, stepped(state, rates)}; },
                             rill::constant(g, std::int32_t{0}), y);
        return later;
      },
      start, record);
  auto loss = rill::mean(rill::square(track - record));
  auto train = rill::adam{.rate = 0.03f}.minimize(loss);

  rill::session s{g};
  s.run(rill::initializer(g));
  auto step = s.prepare(rill::inputs(record), rill::outputs(loss), train);
  for (long i = 1; i <= steps; ++i) {
    float const l = step(data);
    if (i % 100 == 0 || i == steps) std::printf("step %4ld: loss %.6f\n", i, double{l});
  }
  rill::tensor const found = s.run(rates);
  double worst = 0;
  for (std::int64_t i = 0; i < 4; ++i) {
    std::printf("rate %lld: %.3f, and in truth %.3f\n", static_cast<long long>(i), double{found.at<float>(i)},
                truth[static_cast<std::size_t>(i)]);
    worst = std::max(worst, std::abs(double{found.at<float>(i)} - truth[static_cast<std::size_t>(i)]));
  }
  models::expect(worst < (steps < 300 ? 0.5 : 0.05), "the rates are not those of the record");
}

}  // namespace

int main(int count, char** words) { return models::main_of(count, words, 500, run); }
