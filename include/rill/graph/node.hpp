// Nodes of a graph, and untyped handles of their outputs.
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
  std::string device;           ///< a constraint such as "/device:gpu:0", as device_name::text has it; empty: anywhere
  std::string colocated;        ///< the node beside which this one must run; empty: none
  std::uint32_t recompute = 0;  ///< the number of its recompute region, whose nodes derivatives compute again; 0: none
  std::int64_t copy_of = -1;    ///< the node that it computes again for a derivative; -1: none
  bool may_race = false;        ///< whether this update needs no order with others of its variable (graph::hogwild)
  std::int64_t rule = -1;       ///< the number of a gradient rule that a user gave this node; -1: none
  std::uint32_t hops = 0;       ///< in a task's share of a step, the most edges between tasks on a path to it
  std::int32_t stage = -1;      ///< in a task's share of a step, how many times extents are settled before it; -1: none
};

/// The most inputs of a node, and the most outputs: plans number them with 16 bits.
inline constexpr std::size_t max_ports = UINT16_MAX;

/// The operation of a node that stands for a value from outside: a feed of a subgraph, an argument of a body.
inline constexpr op_def fed_op{.name = "fed", .doc = "a value from outside", .arity = 0};

/// An untyped handle to output `port` of a node.
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

  /// Returns a part of the value: a row for a number, rows for `seq`, or what `subscript` (ops/array/subscript.hpp)
  /// returns for several subscripts: `x[2]`, `x(all(), seq{.step = 2})`.
  template <class Index> auto operator[](Index const& i) const { return subscript(*this, i); }
  template <class... Index>
    requires(sizeof...(Index) > 0)
  auto operator()(Index const&... i) const {
    return subscript(*this, i...);
  }
};
/// Writes a value's name and type: "hidden/weights: float32[64, 128]".
std::ostream& operator<<(std::ostream& to, value const& v);

/// A handle to a node that is run for its effect, not for a value.
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

/// Writes the name of an operation's node: "minimize".
std::ostream& operator<<(std::ostream& to, operation const& o);

/// Throws error(invalid_argument), with the node, unless the device that it asks for is empty or stands as
/// `device_name::text` writes it.
void check_device(node const& n);

/// Infers the types of a node's outputs from the types of its inputs. Axis names that only a body uses become unknown
/// extents. An error names the node and the types that came, and in a body also the node of the body.
void infer_outputs(node const& n, std::span<type const> inputs, std::vector<type>& outputs);

}  // namespace rill
