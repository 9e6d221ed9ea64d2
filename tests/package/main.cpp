// What somebody else's program might do with rill: a line is fitted to points.
#include <cmath>
#include <cstdio>
#include <rill/compiled.hpp>
#include <rill/rill.hpp>

int main() {
  std::printf("rill %d.%d.%d, kernels for %s\n", rill::version.major, rill::version.minor, rill::version.patch,
              std::string(rill::instruction_set()).c_str());
  rill::graph g;
  auto x = rill::constant<float, 4, 1>(g, {0, 1, 2, 3});
  auto y = rill::constant<float, 4, 1>(g, {1, 3, 5, 7});
  auto slope = rill::variable(rill::constant<float, 1, 1>(g, {0}), "slope");
  auto offset = rill::variable(rill::constant<float, 1>(g, {0}), "offset");
  auto loss = rill::mean(rill::square(rill::matmul(x, slope) + offset - y));
  auto train = rill::gradient_descent{.rate = 0.1f}.minimize(loss);

  rill::session s{g};
  s.run(rill::initializer(g));
  for (int step = 0; step < 200; ++step) s.run(train);
  float const found = s.run(slope).at<float>(0, 0);
  std::printf("slope %g\n", static_cast<double>(found));
  return std::abs(found - 2) < 0.01f ? 0 : 1;
}
