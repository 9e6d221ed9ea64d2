// A plugin of somebody's that trains.
#include <cmath>
#include <cstdio>
#include <rill/rill.hpp>

extern "C" int use_rill() {
  rill::graph g;
  auto x = rill::constant<float, 3>(g, {1, 2, 3});
  auto w = rill::variable(rill::constant<float, 3>(g, {5, 5, 5}), "w");
  auto loss = rill::sum(rill::square(w * x - x));
  auto train = rill::gradient_descent{.rate = 0.01f}.minimize(loss);

  rill::session s{g, {.threads = 2}};
  s.run(rill::initializer(g));
  float const before = s.run(loss);
  for (int step = 0; step < 100; ++step) s.run(train);
  float const after = s.run(loss);
  std::printf("loss %g, then %g\n", static_cast<double>(before), static_cast<double>(after));
  return after < before / 2 ? 0 : 1;
}
