// A step on a GPU if there is one, and else on the host: the same program, the same bits.
#include <rill/cuda.hpp>

#include <iostream>
#include <string_view>

int main() {
  rill::graph g;
  auto x = rill::placeholder<float, 3>(g, "x");
  auto y = g.on("gpu:0", [&] { return rill::tanh(x) + 1.f; });
  rill::session s{
      g, {.log = [](std::string_view text) { std::cerr << text; }, .devices = {rill::gpu(0)}, .soft_placement = true}};
  std::cout << s.run({{x, rill::vector({-1.f, 0.f, 1.f})}}, y) << "\n";
}
