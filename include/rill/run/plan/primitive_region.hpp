// A subgraph in which a user wrote primitives, as one node with one kernel.
#pragma once
#include "rill/run/plan/whole_step.hpp"

#if RILL_RUNTIME
#include <algorithm>
#include <utility>

#include "rill/ops/control/primitives.hpp"
#endif

namespace rill {

/// Whether a subgraph has primitives in it.
bool has_primitives(subgraph const& sub);
/// Returns a subgraph with one node, which runs the bound subgraph `sub` with its primitives.
subgraph as_primitive_region(subgraph sub);

#if RILL_RUNTIME

RILL_INLINE bool has_primitives(subgraph const& sub) {
  return std::any_of(sub.nodes.begin(), sub.nodes.end(), [](node const& n) { return is_primitive(n); });
}

RILL_INLINE subgraph as_primitive_region(subgraph sub) {
  for (auto& each : sub.nodes)  // passes do not order the sections of a region
    if (each.op->rendezvous_role == rendezvous_kind::locks) each.may_race = true;
  return as_one_node(std::move(sub), primitive_region_op, "region");
}

#endif

}  // namespace rill
