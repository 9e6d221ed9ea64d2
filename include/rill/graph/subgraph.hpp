// A part of a graph that stands alone: what passes rewrite and plans are made from.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "rill/graph/graph.hpp"

namespace rill {

/// The operation of a node that stands for a fed value.
inline constexpr op_def fed_op{.name = "fed", .doc = "a value from outside the part", .arity = 0};

/// Copies of nodes, each after its inputs; endpoints are numbers within it. Inputs are `fed_op` nodes, in order.
struct subgraph {
  std::vector<node> nodes;
  std::vector<std::uint32_t> origin;  ///< the node of the graph that each one was
  std::vector<std::uint32_t> inputs;  ///< nodes
  std::vector<endpoint> outputs;
  std::vector<std::uint32_t> targets;  ///< nodes that run for what they do

  node& operator[](std::uint32_t i) { return nodes[i]; }
  node const& operator[](std::uint32_t i) const { return nodes[i]; }
  std::size_t size() const { return nodes.size(); }
  type const& type_of(endpoint e) const { return nodes[e.node].outputs[e.port]; }
};

/// Marks an operation whose attribute "references" says how many of its first inputs are variables.
inline constexpr std::uint32_t counted_references = UINT32_MAX;

/// Whether a node takes an input as a variable and not its value.
inline bool takes_reference(node const& n, std::size_t input) {
  if (n.op->by_reference != counted_references) return input < 32 && (n.op->by_reference >> input & 1u) != 0;
  for (auto const& [name, value] : n.attributes)
    if (name == "references") return static_cast<std::int64_t>(input) < std::get<std::int64_t>(value);
  return false;
}

/// Refuses a part whose edges, ports or arities don't fit: error(internal). Passes are checked by it.
inline void verify(subgraph const& g) {
  auto const fail = [&](std::size_t i, char const* why) { throw error(code::internal, why, g.nodes[i].name); };
  for (std::uint32_t i = 0; i < g.size(); ++i) {
    auto const& n = g[i];
    if (n.op == nullptr) fail(i, "a node has no operation");
    if (n.op->arity >= 0 && n.inputs.size() != static_cast<std::size_t>(n.op->arity))
      fail(i, "a node has too many or too few inputs");
    for (auto e : n.inputs) {
      if (e.node >= i) fail(i, "a node comes before one of its inputs");
      if (e.port >= g[e.node].outputs.size()) fail(i, "a node reads an output that does not exist");
    }
    for (auto c : n.controls)
      if (c >= i) fail(i, "a node comes before one that must run first");
  }
  for (auto e : g.outputs)
    if (e.node >= g.size() || e.port >= g[e.node].outputs.size())
      throw error(code::internal, "a part's output does not exist");
  for (auto t : g.targets)
    if (t >= g.size()) throw error(code::internal, "a part's target does not exist");
}

}  // namespace rill
