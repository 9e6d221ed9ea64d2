// Gradients are part of the graph: they can be fetched, combined and differentiated again.
#include <rill/rill.hpp>

#include <iostream>

int main() {
  rill::graph g;
  auto x = rill::constant<double, 2, 2>(g, {1, 2, 3, 4});
  auto w = rill::variable(rill::constant<double, 2, 1>(g, {0.5, -0.25}), "w");
  auto b = rill::variable(rill::constant<double, 1>(g, {0.1}), "b");
  auto loss = rill::sum(rill::square(rill::matmul(x, w) + b));

  auto [dw, db] = rill::gradients(loss, w, b);         // expr with w's and b's own types
  auto [d2] = rill::gradients(rill::sum(dw * dw), w);  // again: gradients are part of the graph

  // A stopped gradient, a gradient of your own, and a subgraph that is recomputed instead of kept in memory.
  auto held = rill::stop_gradient(rill::matmul(x, w)) * b;
  auto straight = rill::custom_gradient(
      [](auto v) { return rill::select(v > 0.0, rill::like(v, 1), rill::like(v, 0)); },
      [](auto, auto, auto dy) { return dy; });  // a step function with the gradient of the identity
  auto again = rill::recompute(g, [&] { return rill::tanh(rill::matmul(x, w)); });
  auto [dh] = rill::gradients(rill::sum(held), b);
  auto [ds] = rill::gradients(rill::sum(straight(b)), b);
  auto [da] = rill::gradients(rill::sum(again), w);

  rill::session s{g};
  s.run(rill::initializer(g));
  auto const [vw, vb, v2] = s.run(dw, db, d2);
  std::cout << "dw\n" << vw << "\ndb " << vb << "\nd(dw dw)/dw\n" << v2 << '\n';
  auto const [vh, vs, va] = s.run(dh, ds, da);
  std::cout << "held " << vh << "\nstraight through " << vs << "\ncomputed again\n" << va << '\n';
}
