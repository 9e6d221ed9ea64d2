// What somebody else's program might do with a cluster: here one of one process.
#include <cstdio>
#include <rill/net.hpp>

int main() {
  rill::server server{rill::cluster::parse("worker=127.0.0.1:0", "worker:0")};
  rill::graph g;
  auto x = rill::placeholder<float>(g, "x");
  rill::session s{g, rill::connect(server.cluster().at(server.task()).text())};
  auto const y = float(s.run({{x, 20.f}}, x * 2.f + 2.f));
  std::printf("%g\n", static_cast<double>(y));
  return y == 42 ? 0 : 1;
}
