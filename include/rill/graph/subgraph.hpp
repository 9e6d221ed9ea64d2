// A subgraph as a value of its own, which passes rewrite and plans are made from.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rill/graph/axis_binding.hpp"
#include "rill/graph/graph.hpp"
#include "rill/graph/node_traits.hpp"

namespace rill {

/// Copies of nodes, each after its inputs; endpoints are numbers of these copies. Its inputs are `fed_op` nodes.
struct subgraph {
  std::vector<node> nodes;
  std::vector<std::uint32_t> origin;  ///< the node of the graph from which each node was copied
  std::vector<std::uint32_t> inputs;  ///< nodes, in the order of the feeds or arguments
  std::vector<endpoint> outputs;
  std::vector<std::uint32_t> targets;  ///< nodes that run for their effect
  bound_axes axes;                     ///< the extents to which axis names are bound

  node& operator[](std::uint32_t i) { return nodes[i]; }
  node const& operator[](std::uint32_t i) const { return nodes[i]; }
  std::size_t size() const { return nodes.size(); }
  type const& type_of(endpoint e) const { return nodes[e.node].outputs[e.port]; }
};

/// Whether a node's kernel may wait, or a kernel in its bodies or in the function that it calls.
bool may_wait(node const& n);

/// Whether all extents of all types are known.
bool all_known(std::span<type const> types);

/// Infers like `infer_outputs`, when the types of the inputs are final: an output that only asserts a type
/// (`asserts_type`) has its input's type, known or not.
void infer_final_outputs(node const& n, std::span<type const> inputs, std::vector<type>& outputs);

/// Returns the types of a subgraph's outputs for these types of its inputs.
std::vector<type> infer(subgraph const& sub, std::span<type const> inputs);

/// Throws error(internal) if edges, ports or arities of a subgraph are wrong. It checks passes.
void verify(subgraph const& g);

#if RILL_RUNTIME
namespace detail {

// Makes extents unknown whose name no input has: the name is known only in the body.
inline void forget_names_of_bodies(std::span<type const> inputs, std::vector<type>& outputs) {
  auto const has = [](type const& t, dim const& name) {
    return t.has_rank() && std::find(t.dims.begin(), t.dims.begin() + t.rank, name) != t.dims.begin() + t.rank;
  };
  for (auto& t : outputs)
    for (std::size_t i = 0; t.has_rank() && i < t.rank; ++i)
      if (t[i].named() && std::none_of(inputs.begin(), inputs.end(), [&](type const& x) { return has(x, t[i]); }))
        t[i] = unknown;
}

}  // namespace detail

RILL_INLINE void infer_outputs(node const& n, std::span<type const> inputs, std::vector<type>& outputs) {
  try {
    n.op->infer(n.attributes, inputs, outputs);
  } catch (error const& e) {
    if (!e.node().empty()) throw error(e.kind(), "in a body, node '" + e.node() + "': " + e.message(), n.name);
    std::string came;
    for (auto const& t : inputs) came += (came.empty() ? " (" : ", ") + t.text();
    throw error(e.kind(), e.message() + (came.empty() ? "" : came + ")"), n.name);
  }
  if (outputs.size() > max_ports)
    throw error(code::invalid_argument, "a node has at most " + std::to_string(max_ports) + " outputs", n.name);
  if (has_bodies(n)) detail::forget_names_of_bodies(inputs, outputs);
}

RILL_INLINE void infer_final_outputs(node const& n, std::span<type const> inputs, std::vector<type>& outputs) {
  infer_outputs(n, inputs, outputs);
  if (asserts_type(n)) outputs[0] = inputs[0];
}

RILL_INLINE std::vector<type> infer(subgraph const& sub, std::span<type const> inputs) {
  std::vector<std::vector<type>> types(sub.size());
  for (std::size_t i = 0; i < sub.inputs.size(); ++i) {
    auto const& n = sub[sub.inputs[i]];
    if (!accepts(n.outputs[0], inputs[i]))
      throw error(code::invalid_argument,
                  "it is " + with_article(n.outputs[0]) + " and was given " + with_article(inputs[i]), n.name);
    types[sub.inputs[i]] = {inputs[i]};
  }
  std::vector<type> in, out;
  for (std::uint32_t i = 0; i < sub.size(); ++i) {
    auto const& n = sub[i];
    if (n.op == &fed_op) continue;
    in.clear();
    for (auto e : n.inputs) in.push_back(types[e.node][e.port]);
    infer_final_outputs(n, in, types[i]);
  }
  for (auto e : sub.outputs) out.push_back(types[e.node][e.port]);
  return out;
}

RILL_INLINE std::vector<type> function_definition::infer(std::span<type const> given) const {
  auto const fail = [&](std::string const& why) {
    throw error(code::invalid_argument, "the function '" + name + "' " + why);
  };
  if (given.size() != arguments.size() + captures.size())
    fail("takes " + std::to_string(arguments.size()) +
         (arguments.size() == 1 ? " argument, got " : " arguments, got ") +
         std::to_string(given.size() - std::min(given.size(), captures.size())));
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (!accepts(arguments[i], given[i]))
      fail("takes " + with_article(arguments[i]) + " as argument " + std::to_string(i) + " and was given " +
           with_article(given[i]));
  auto const bound = given.first(arguments.size());
  if (auto const c = clash_of_names(arguments, bound); c.name.named())
    throw error(code::invalid_argument,
                "axes with the same name have different extents in a function's arguments: in a call of '" + name +
                    "' axis '" + c.name.text() + "' is " + c.one.text() + " and " + c.other.text());
  bool as_recorded = body && !recursive;
  for (std::size_t i = 0; as_recorded && i < given.size(); ++i)
    as_recorded = (*body)[body->inputs[i]].outputs[0] == given[i];
  std::vector<type> types;
  if (as_recorded) {
    for (auto e : body->outputs) types.push_back(body->type_of(e));
    return types;
  }
  // A recursive function, and one that is too large to infer through, returns the declared types.
  if (looked_through()) types = rill::infer(*body, given);
  if (!has_results) fail("is called while it is recorded: declare the types that it returns");
  for (std::size_t o = 0; o < results.size(); ++o) {
    auto const declared = o < like.size() && like[o] >= 0 ? given[static_cast<std::size_t>(like[o])]
                                                          : type_in_call(results[o], arguments, bound);
    if (!looked_through()) types.push_back(declared);
    else if (!accepts(declared, types[o]))
      fail("is declared to return " + with_article(declared) + " and returns " + with_article(types[o]));
  }
  return types;
}

RILL_INLINE bool may_wait(node const& n) {
  bool found = n.op->waits;
  if (auto const* f = called_by(n)) found = found || f->may_wait;
  for_each_body(n, [&](subgraph const& body) {
    found = found || std::any_of(body.nodes.begin(), body.nodes.end(), [](node const& each) { return may_wait(each); });
  });
  return found;
}

RILL_INLINE bool all_known(std::span<type const> types) {
  return std::all_of(types.begin(), types.end(), [](type const& t) { return t.is_known(); });
}

RILL_INLINE void verify(subgraph const& g) {
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
    auto const* const f = called_by(n);
    if (f == nullptr) continue;
    if (n.inputs.size() != f->inputs()) fail(i, "a call has other inputs than its function");
    for (std::size_t k = 0; k < f->arguments.size(); ++k)
      if (!accepts(f->arguments[k], g.type_of(n.inputs[f->references.size() + k])))
        fail(i, "a call gives its function an argument of another type");
    if (n.outputs.size() != f->results.size()) fail(i, "a call has other results than its function");
  }
  for (auto e : g.outputs)
    if (e.node >= g.size() || e.port >= g[e.node].outputs.size())
      throw error(code::internal, "a subgraph's output does not exist");
  for (auto t : g.targets)
    if (t >= g.size()) throw error(code::internal, "a subgraph's target does not exist");
}

#endif

}  // namespace rill
