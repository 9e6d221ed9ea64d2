// One graph over several devices of a process, with the bits of one.
#include <rill/rill.hpp>

#include <iostream>
#include <vector>

int main() {
  rill::graph g(7);
  auto x = rill::placeholder<float, "batch", 64>(g, "x");
  auto w = rill::variable<float, 64, 32>(g, "w", rill::glorot());
  auto h = g.on("/device:accelerator:0", [&] { return rill::relu(rill::matmul(x, w)); });  // a constraint
  auto u = g.near(w, [&] { return rill::sum(w * w); });                                    // runs where w lies
  auto loss = rill::mean(rill::square(h)) + u * 0.01f;
  auto train = rill::adam{.rate = 0.01f}.minimize(loss);

  auto fast = rill::emulated("accelerator:0", {.flops = 200e9, .bandwidth = 4e9, .memory = 256 << 20});
  rill::session s{g, {.devices = {rill::cpu(2), fast}, .soft_placement = true}};
  s.run(rill::initializer(g));
  auto in = rill::tensor::copy<float>(std::vector<float>(16 * 64, 0.5f), {16, 64});

  std::cout << s.explain({{x, in}}, loss, train, rill::stages::place | rill::stages::kernels);
  auto need = s.memory({{x, in}}, loss, train);
  std::cout << need.text();
  for (int i = 0; i < 3; ++i) {
    float const now = s.run({{x, in}}, loss, train).item<float>();
    std::cout << "loss " << now << '\n';
  }

  rill::tensor there = s.run({{x, in}}, h);  // h was put on the accelerator, and stays
  try {
    (void)there.span<float>();
  } catch (rill::error const& e) {
    std::cout << e.what() << '\n';
  }
  rill::tensor here = there.to(rill::host);
  std::cout << here.span<float>().size() << " numbers\n";

  // The same graph on the host alone: soft placement passes over the constraint, and the bits are the same.
  rill::session alone{g, {.soft_placement = true}};
  rill::session again{g, {.devices = {fast}}};
  for (auto* each : {&alone, &again}) each->run(rill::initializer(g));
  bool const same = rill::same_bits(alone.run({{x, in}}, loss), again.run({{x, in}}, loss));
  std::cout << (same ? "the same bits\n" : "other bits\n");
  return same ? 0 : 1;
}
