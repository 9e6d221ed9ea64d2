// The last stage of a plan: lays out the pointers that kernels are called with.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "rill/run/plan/memory.hpp"

#if RILL_RUNTIME
namespace rill::planning {

/// Lays out the pointers of all instructions, for each its inputs, outputs and scratch, and then the pointers to the
/// values in `kept`.
inline void link_pointers(plan& p, subgraph const& sub, slot_layout const& layout, std::vector<endpoint> const& kept) {
  for (auto const& n : sub.nodes) p.nodes.push_back(n.name);
  auto const add = [&](plan::slot_id s) {
    auto const made = p.pointed.push_back(s);
    p.all_slots[s].positions.push_back(made);
    return made;
  };
  for (auto const& made : p.instructions) {
    auto const& n = sub[made.node];
    auto const& outputs = layout.of_node[made.node];
    p.lines.push_back({{},
                       p.pointed.end_index(),
                       static_cast<std::uint16_t>(n.inputs.size()),
                       static_cast<std::uint16_t>(outputs.size())});
    for (auto e : n.inputs) {
      bool const by_reference_alone =
          is_variable(sub[e.node]) && !std::holds_alternative<plan::owned_id>(p.all_slots[layout.of(e)].where);
      if (by_reference_alone) p.pointed.push_back(layout.of(e));
      else add(layout.of(e));
    }
    for (auto s : outputs) add(s);
    p.pointed.push_back(no_index<plan::slot_id>);  // the scratch
    p.operations.push_back(n.op->name);
  }
  for (auto e : kept) {
    p.kept.push_back(layout.of(e));
    p.read.push_back(add(layout.of(e)));
  }
}

/// Marks the instructions for which a walk only has to call the kernel.
inline void mark_plain(plan& p) {
  indexed<plan::instruction_id, bool> drops(p.instructions.size());
  for (auto const& d : p.drops) drops[d.after] = true;
  for (auto at : p.instructions.indices()) {
    auto const& made = p.instructions[at];
    if (!drops[at] && !made.run.waits && made.owned == no_index<plan::owned_id>) p.lines[at].plain = made.run.called();
  }
}

}  // namespace rill::planning
#endif
