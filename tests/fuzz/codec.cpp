// Bytes as a graph: they are refused, or are what the graph is written as again.
#include "seeded.hpp"

#include "graph/samples.hpp"
#include "rill/graph/dot.hpp"

namespace rill::fuzz {

std::vector<std::string> seeds() {
  graph g(42);
  fill_sample(g);  // something of everything
  return {to_bytes(g)};
}

void read(std::string_view bytes) {
  static auto const known = sample_operations();
  auto const again = unless_refused([&] {
    auto const g = graph_from_bytes(bytes, known);
    dot(*g);
    return to_bytes(*g);
  });
  require(!again || *again == bytes, "a graph is written as the bytes that it was read from");
}

}  // namespace rill::fuzz
