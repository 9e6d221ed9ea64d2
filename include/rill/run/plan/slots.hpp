// The first stage of a plan: a slot for each value of a subgraph.
#pragma once
#include <cstdint>
#include <vector>

#include "rill/run/plan/open_rows.hpp"
#include "rill/run/plan/plan.hpp"

#if RILL_RUNTIME
namespace rill::planning {

/// The slots of a subgraph, and which of them a node's outputs are.
struct slot_layout {
  indexed<plan::slot_id, plan::slot> all;
  std::vector<std::vector<plan::slot_id>> of_node;  // by node and port
  indexed<plan::feed_id, plan::slot_id> fed;

  plan::slot_id of(endpoint e) const { return of_node[e.node][e.port]; }
  plan::slot& at(endpoint e) { return all[of(e)]; }
};

/// Whether a subgraph is a whole step or body, or one iteration of a frame in tagged execution, whose inputs may have
/// open extents.
enum class plan_scope : bool { whole, frame };

/// Lays out a slot for each output; an output that aliases an input shares its slot. Throws error(unimplemented) for
/// open extents, except in outputs that kernels allocate.
inline slot_layout lay_out_slots(subgraph const& sub, plan_scope scope) {
  slot_layout layout;
  layout.of_node.resize(sub.size());
  auto const may_be_open = [&](endpoint e) {
    auto const& n = sub[e.node];
    return is_variable(n) ||  // may be taken by reference alone
           (scope == plan_scope::frame && n.op == &fed_op) || detail::has_deferred_shape(sub, e);
  };
  for (std::uint32_t i = 0; i < sub.size(); ++i) {
    auto const& n = sub[i];
    for (std::uint32_t port = 0; port < n.outputs.size(); ++port) {
      if (n.op->aliases_input && port == 0) {
        layout.of_node[i].push_back(layout.of(n.inputs[0]));
        continue;
      }
      if (!n.outputs[port].is_known() && !may_be_open({i, port}))
        throw error(code::unimplemented,
                    "the extents of its output, " + n.outputs[port].text() + ", are not known before the step runs",
                    n.name);
      layout.of_node[i].push_back(layout.all.push_back({.of = n.outputs[port], .value = {i, port}}));
    }
  }
  for (auto i : sub.inputs) layout.all[layout.of_node[i][0]].where = layout.fed.push_back(layout.of_node[i][0]);
  return layout;
}

}  // namespace rill::planning
#endif
