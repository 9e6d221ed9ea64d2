// A subgraph in which somebody wrote primitives by hand, as one node: what runs them is a kernel.
#pragma once
#include "rill/graph/subgraph.hpp"

#if RILL_RUNTIME
#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "rill/ops/control/primitives.hpp"
#endif

namespace rill {

namespace detail {
inline cost unknown_work(attribute_list const&, std::span<type const>, std::span<type const>) { return {}; }
}  // namespace detail

/// The operation of a node that runs a subgraph with primitives.
inline constexpr op_def primitive_region_op{.name = "region",
                                            .doc = "a subgraph with primitives",
                                            .arity = -2,
                                            .effect = effect::writes,
                                            .work = detail::unknown_work};
/// Whether a node runs a subgraph with primitives.
inline bool is_primitive_region(node const& n) { return n.op == &primitive_region_op; }
/// Whether a subgraph has primitives in it.
bool has_primitives(subgraph const& sub);
/// A bound subgraph with primitives as one such node.
subgraph as_primitive_region(subgraph sub);

#if RILL_RUNTIME

RILL_INLINE bool has_primitives(subgraph const& sub) {
  return std::any_of(sub.nodes.begin(), sub.nodes.end(), [](node const& n) { return is_primitive(n); });
}

RILL_INLINE subgraph as_primitive_region(subgraph sub) {
  subgraph whole;
  node n;
  n.op = &primitive_region_op;
  n.name = "region";
  for (auto i : sub.inputs) {
    n.inputs.push_back({static_cast<std::uint32_t>(whole.nodes.size()), 0});
    whole.inputs.push_back(n.inputs.back().node);
    whole.nodes.push_back(sub[i]);
    whole.origin.push_back(sub.origin[i]);
  }
  for (auto& each : sub.nodes)  // nobody orders their sections
    if (each.op->rendezvous_role == rendezvous_kind::locks) each.may_race = true;
  auto const at = static_cast<std::uint32_t>(whole.nodes.size());
  for (std::uint32_t o = 0; o < sub.outputs.size(); ++o) {
    n.outputs.push_back(sub.type_of(sub.outputs[o]));
    whole.outputs.push_back({at, o});
  }
  n.attributes.emplace_back("body", std::make_shared<subgraph const>(std::move(sub)));
  whole.nodes.push_back(std::move(n));
  whole.origin.push_back(0);
  whole.targets.push_back(at);
  return whole;
}

#endif

}  // namespace rill
