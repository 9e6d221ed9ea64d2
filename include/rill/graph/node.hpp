// Nodes of a graph, and the handles that erased code passes around.
#pragma once
#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "rill/graph/op_def.hpp"

namespace rill {

/// Output `port` of node `node`.
struct endpoint {
  std::uint32_t node = 0;  ///< its number in the graph
  std::uint32_t port = 0;  ///< the number of the output among the node's
  friend constexpr bool operator==(endpoint, endpoint) = default;
  friend constexpr auto operator<=>(endpoint, endpoint) = default;
};

/// One recorded operation.
struct node {
  op_def const* op = nullptr;
  std::string name;
  std::vector<endpoint> inputs;
  std::vector<std::uint32_t> controls;  ///< nodes that must have run before this one
  attribute_list attributes;
  std::vector<type> outputs;
  std::string device;           ///< a constraint such as "/device:gpu:0"; empty: anywhere
  std::string colocated;        ///< the node beside which this one must run; empty: none
  std::uint32_t recompute = 0;  ///< the subgraph, if any, that derivatives compute again instead of keeping it
  std::int64_t copy_of = -1;    ///< the node that this one computes again for a derivative; -1: none
  bool may_race = false;        ///< an update that others of the same variable need not be ordered with
  std::int64_t rule = -1;       ///< the number of a gradient rule that a user gave this node; -1: none
};

/// The most inputs of a node, and the most outputs: plans number them with 16 bits.
inline constexpr std::size_t max_ports = UINT16_MAX;

/// The operation of a node that stands for a value from outside: what is fed to a subgraph, the arguments of a body.
inline constexpr op_def fed_op{.name = "fed", .doc = "a value from outside", .arity = 0};

/// A handle to output `port` of a node: what erased code passes around.
struct value {
  /// The graph that the node is in; null: an empty handle.
  rill::graph* graph = nullptr;
  std::uint32_t node = 0;  ///< its number in the graph
  std::uint32_t port = 0;  ///< the number of the output among the node's

  explicit operator bool() const { return graph != nullptr; }
  /// Returns node and output without the graph.
  rill::endpoint endpoint() const { return {node, port}; }
  /// Returns the node; the handle may not be empty.
  rill::node const& origin() const;
  /// Returns the type that was inferred when the node was recorded.
  rill::type const& type() const;
  std::string name() const;  ///< "name:port", or "name" for port 0
};
/// Writes what a handle is of: "hidden/weights: float32[64, 128]".
std::ostream& operator<<(std::ostream& to, value const& v);

/// A handle to a node that is run for what it does, not for a value.
struct operation {
  /// The graph that the node is in; null: an empty handle.
  rill::graph* graph = nullptr;
  /// The number of the node in its graph.
  std::uint32_t node = 0;

  operation() = default;
  operation(rill::graph* g, std::uint32_t n) : graph(g), node(n) {}
  operation(value const& v) : graph(v.graph), node(v.node) {}
  /// Returns the node; the handle may not be empty.
  rill::node const& origin() const;
};

/// The types of a node's outputs for these types of its inputs; names that a body gives to axes are its own, and
/// unknown outside of it. An error names the node, and what came; in a body that the node runs, the node there too.
void infer_outputs(node const& n, std::span<type const> inputs, std::vector<type>& outputs);

}  // namespace rill
