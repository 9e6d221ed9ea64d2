// What a step uses of what steps share: variables and random numbers. It is read off the pruned graph, so that passes
// don't change it.
#pragma once
#include "rill/graph/graph.hpp"
#include "rill/graph/subgraph.hpp"

namespace rill {

/// What a step uses, in bodies and functions too.
struct step_uses {
  bool variables = true;      ///< whether it reads or updates a variable
  bool first_values = false;  ///< whether it assigns first values, which don't depend on the step's number
  bool draws = false;         ///< whether it has nodes that draw random numbers
  bool trains = false;        ///< whether it updates what training changes
};

/// Whether nodes of a subgraph draw random numbers, in bodies and functions too.
bool has_draws(subgraph const& sub);

/// Whether a subgraph of `g` updates a trainable variable of floats or complex numbers, or a variable that lies beside
/// one, as the state of optimizers and the sums of gradients do, or gives an accumulator a gradient.
bool trains(graph const& g, subgraph const& sub);

}  // namespace rill

#if RILL_RUNTIME
#include <algorithm>
#include <set>

#include "rill/graph/function.hpp"
#include "rill/graph/node_traits.hpp"
#include "rill/ops/state/variable.hpp"
#include "rill/ops/sync/accumulator.hpp"

namespace rill {

namespace detail {

// Whether `matches` one of the nodes, in bodies and functions too. Of a node with bodies only the bodies count.
template <class Matches>
bool any_node(subgraph const& sub, Matches const& matches, std::set<function_definition const*>& seen) {
  return std::any_of(sub.nodes.begin(), sub.nodes.end(), [&](node const& n) {
    if (auto const* f = called_by(n)) return seen.insert(f).second && f->body && any_node(*f->body, matches, seen);
    if (!has_bodies(n)) return matches(n);
    bool found = false;
    for_each_body(n, [&](subgraph const& body) { found = found || any_node(body, matches, seen); });
    return found;
  });
}
template <class Matches> bool any_node(subgraph const& sub, Matches const& matches) {
  std::set<function_definition const*> seen;
  return any_node(sub, matches, seen);
}

inline bool is_trained(graph const& g, node const& v) {
  auto const* const op = &definition<ops::variable_op>();
  if (v.op != op) return false;
  if (is_differentiable(v.outputs[0].element) && decode<ops::variable_op::attributes>(v.attributes).trainable)
    return true;
  auto const* const beside = v.colocated.empty() || v.colocated == v.name ? nullptr : g.find_node(v.colocated);
  return beside && beside->op == op && is_trained(g, *beside);
}

}  // namespace detail

RILL_INLINE bool has_draws(subgraph const& sub) {
  return detail::any_node(sub, [](node const& n) { return draws_random(n); });
}

RILL_INLINE bool trains(graph const& g, subgraph const& sub) {
  // A gradient given to an accumulator: another step updates the variable.
  if (detail::any_node(sub, [](node const& n) { return n.op == &definition<ops::accumulator_apply_op>(); }))
    return true;
  // Variables that bodies and functions update are inputs of the nodes that run them.
  return std::any_of(sub.nodes.begin(), sub.nodes.end(), [&](node const& n) {
    for (std::size_t k = 0; k < n.inputs.size() && takes_reference(n, k); ++k)
      if (updates_reference(n, k) && detail::is_trained(g, sub[n.inputs[k].node])) return true;
    return false;
  });
}

}  // namespace rill
#endif
