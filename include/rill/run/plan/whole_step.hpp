// A step as the one node of what a session runs.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "rill/graph/kernel_request.hpp"
#include "rill/graph/op_def.hpp"
#include "rill/graph/subgraph.hpp"

namespace rill {

namespace detail {
inline cost unknown_work(attribute_list const&, std::span<type const>, std::span<type const>) { return {}; }
kernel remote_step_kernel(kernel_request const& r);
}  // namespace detail

/// The operation of a node that runs a subgraph with primitives.
inline constexpr op_def primitive_region_op{.name = "region",
                                            .doc = "a subgraph with primitives",
                                            .arity = -2,
                                            .effect = effect::writes,
                                            .work = detail::unknown_work};
/// The operation of a node that runs a step on tasks (run/tasks/remote_step.hpp).
inline constexpr op_def remote_step_op{.name = "remote_step",
                                       .doc = "a step that runs on the tasks of a cluster",
                                       .arity = -2,
                                       .effect = effect::writes,
                                       .waits = true,
                                       .dynamic_output_shape = true,
                                       .work = detail::unknown_work,
                                       .cpu = detail::remote_step_kernel};

/// Whether a node runs a subgraph with primitives.
inline bool is_primitive_region(node const& n) { return n.op == &primitive_region_op; }
/// Whether a node stands for a whole step: errors name the nodes in it.
inline bool is_whole_step(node const& n) { return is_primitive_region(n) || n.op == &remote_step_op; }

/// Returns a subgraph with one node of the operation `op`, whose attribute "body" is the bound subgraph `sub`.
subgraph as_one_node(subgraph sub, op_def const& op, std::string name);

#if RILL_RUNTIME

RILL_INLINE subgraph as_one_node(subgraph sub, op_def const& op, std::string name) {
  subgraph whole;
  node n;
  n.op = &op;
  n.name = std::move(name);
  for (auto i : sub.inputs) {
    n.inputs.push_back({static_cast<std::uint32_t>(whole.nodes.size()), 0});
    whole.inputs.push_back(n.inputs.back().node);
    whole.nodes.push_back(sub[i]);
    whole.origin.push_back(sub.origin[i]);
  }
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
