// A first graph: a product of matrices, checked while this compiles, run by a session.
#include <rill/rill.hpp>

#include <iostream>

int main() {
  rill::graph g;
  auto a = rill::constant<float, 2, 2>(g, {1, 2, 3, 4});
  auto x = rill::placeholder<float, 2, "n">(g, "x");
  auto y = rill::tanh(rill::matmul(a, x)) * 0.5f;  // expr<of<float, 2, "n">>: checked while you compile

  rill::session s{g};
  std::cout << s.run({{x, rill::matrix<float>({{1}, {2}})}}, y) << '\n';
}
