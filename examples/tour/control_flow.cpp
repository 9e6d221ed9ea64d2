// Branches and loops in the graph: the step decides which bodies run, and how often.
#include <rill/rill.hpp>

#include <iostream>

int main() {
  rill::graph g;
  auto x = rill::placeholder<float>(g, "x");
  auto w = rill::constant<float, 2, 2>(g, {1, 1, 0, 1});
  auto v0 = rill::constant<float, 2, 2>(g, {1, 0, 0, 1});
  auto matrix = rill::constant<float, 3, 2>(g, {1, 2, 3, 4, 5, 6});

  auto y = rill::cond(x > 0.f, [&] { return rill::log(x); }, [&] { return x * 0.f; });
  auto [n, v] = rill::while_loop([](auto i, auto) { return i < 10; },
                                 [&](auto i, auto m) { return std::tuple{i + 1, rill::matmul(m, w)}; },
                                 rill::constant(g, 0), v0, rill::parallel_iterations(10));
  auto rows = rill::map([](auto row) { return rill::sum(row); }, matrix);
  auto sums =
      rill::scan([](auto so_far, auto row) { return so_far + row; }, rill::constant<float, 2>(g, {0, 0}), matrix);

  auto [dx] = rill::gradients(y, x);  // the gradient of the branch that runs

  // A variable that a body captures is read and updated in each iteration.
  auto steps = rill::variable(rill::constant(g, 0.f), "steps");
  auto halved = rill::while_loop([](auto a) { return a > 1.f; },
                                 [&](auto a) {
                                   rill::assign_add(steps, rill::constant(g, 1.f));
                                   return a * 0.5f;
                                 },
                                 x);

  rill::session s{g};
  s.run(rill::initializer(g));
  auto const [logarithm, slope] = s.run({{x, rill::tensor(100.f)}}, y, dx);
  std::cout << "log 100 " << logarithm << ", its slope " << slope << '\n';
  auto const [power, each, all] = s.run(v, rows, sums);
  std::cout << "w to the 10th\n" << power << "\nsums " << each << "\nrunning sums\n" << all << '\n';
  auto const rest = s.run({{x, rill::tensor(100.f)}}, halved);
  auto const taken = s.run(rill::value(steps));
  std::cout << "100 halved " << taken << " times: " << rest << '\n';
}
