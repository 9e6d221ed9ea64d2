// Writes graphs as bytes and reads them, to store a graph or to send it to another process. The bytes are untrusted:
// sizes are checked before memory is allocated, each node is recorded anew, and its types are inferred again.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "rill/graph/codec_functions.hpp"

namespace rill {

/// The first bytes of a written graph.
inline constexpr std::string_view graph_magic = "rill:gph";
/// The version of the format that is written, and the only version that is read.
inline constexpr std::uint32_t graph_format = 6;

/// Returns the graph as bytes. Throws error(invalid_argument) if a node holds a value that bytes can't represent.
inline std::string to_bytes(graph const& g) try {
  wire::writer to;
  to.put(graph_magic.data(), graph_magic.size());
  to(graph_format, g.seed());
  auto const initials = g.initials();  // before the nodes are counted, so that their nodes are among them
  auto const nodes = static_cast<std::uint64_t>(g.size());
  wire::save_list(to, g.functions().defined(), [&](auto const* f) { wire::save(to, *f); });
  to(nodes);
  for (std::size_t i = 0; i < nodes; ++i) wire::save(to, g[i]);
  wire::save_list(to, initials, [&](graph::initial i) { to(i.variable, i.assignment); });
  to(static_cast<std::uint64_t>(g.recorded()));
  return to.take();
} catch (...) {
  rethrow_as_error();
}

/// Returns the graph that `to_bytes` wrote, with the operations of `registry`. Throws error(not_found) with the name of
/// an unknown operation, error(unimplemented) for another version of the format, error(data_loss) or
/// error(invalid_argument), with the node, for bytes that are not a graph.
inline std::unique_ptr<graph> graph_from_bytes(std::string_view bytes, operation_registry registry) try {
  wire::reader from(bytes);
  if (!bytes.starts_with(graph_magic))
    throw error(code::invalid_argument, "the bytes are not a graph: they do not begin with 'rill:gph'");
  std::string magic(graph_magic.size(), '\0');
  from.get(magic.data(), magic.size());
  std::uint32_t format = 0;
  from(format);
  if (format != graph_format)
    throw error(code::unimplemented, "expected a graph in format " + std::to_string(graph_format) + ", got format " +
                                         std::to_string(format));
  wire::known_operations known(registry);
  std::uint64_t seed = 0;
  from(seed);
  auto g = std::make_unique<graph>(seed);
  wire::load_list(from, wire::least_function, [&] { wire::load_function(from, *g, known); });
  wire::load_list(from, wire::least_node, [&] {
    auto const added = g->adopt(wire::load_node(from, known));
    wire::check_outputs(from, added.origin());
  });
  wire::check_functions(*g);
  wire::check_colocation(*g);
  wire::load_list(from, 2 * sizeof(std::uint32_t), [&] {
    graph::initial i{};
    from(i.variable, i.assignment);
    g->add_initial(i);
  });
  std::uint64_t recorded = 0;
  from(recorded);
  g->set_recorded(recorded);
  if (from.remaining() != 0) throw error(code::data_loss, "more bytes follow after the graph's end");
  return g;
} catch (...) {
  rethrow_as_error();
}

}  // namespace rill
