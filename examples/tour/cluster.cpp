// Parameters on ps tasks, computation on workers: here tasks of one process, which share nothing.
#include <rill/rill.hpp>

#include <iostream>
#include <vector>

int main() {
  rill::graph g(7);
  auto x = rill::placeholder<float, "batch", 64>(g, "x");
  auto w = g.on("/job:ps/task:0", [&] { return rill::variable<float, 64, 32>(g, "w", rill::glorot()); });
  auto u = g.on("/job:ps/task:1", [&] { return rill::variable<float, 32, 1>(g, "u", rill::glorot()); });
  auto h = g.on("/job:worker/task:0", [&] { return rill::tanh(rill::matmul(x, w)); });
  auto loss = g.on("/job:worker/task:1", [&] { return rill::mean(rill::square(rill::matmul(h, u) - 1.f)); });
  auto train = rill::adam{.rate = 0.01f}.minimize(loss);  // each variable is updated where it lies

  rill::local_cluster cluster({{"worker", 2}, {"ps", 2}}, [](auto const&) { return rill::task_options{.threads = 1}; });
  rill::session s{g, cluster.target()};
  for (auto const& name : s.devices()) std::cout << name << '\n';
  s.run(rill::initializer(g));
  auto in = rill::tensor::copy<float>(std::vector<float>(16 * 64, 0.5f), {16, 64});
  std::cout << s.explain({{x, in}}, loss, train, rill::stages::place);
  auto step = s.prepare(rill::inputs(x), rill::outputs(loss), train);
  float last = 0;
  for (int i = 0; i < 20; ++i) last = step(in);
  std::cout << "loss " << last << '\n';

  // The same graph in one process: soft placement passes over what it asks for, and the bits are the same.
  rill::session alone{g, {.soft_placement = true}};
  alone.run(rill::initializer(g));
  auto here = alone.prepare(rill::inputs(x), rill::outputs(loss), train);
  float same = 0;
  for (int i = 0; i < 20; ++i) same = here(in);
  bool const where_it_lies = cluster.state("/job:ps/task:1").find_variable("u") != nullptr;
  std::cout << (same == last ? "the same bits\n" : "other bits\n");
  return same == last && where_it_lies ? 0 : 1;
}
