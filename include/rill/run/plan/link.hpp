// The last stage of a plan: which pointers the kernels are handed.
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
inline void link_pointers(plan& p, subgraph const& sub, slot_layout const& slots, std::vector<endpoint> const& kept) {
  plan::pointer_id next = 0;
  auto const add = [&](plan::slot_id s) { p.slots[s].positions.push_back(next++); };
  for (auto const& made : p.instructions) {
    auto const& n = sub[made.node];
    auto const& outputs = slots.of_node[made.node];
    p.lines.push_back(
        {{}, next, static_cast<std::uint16_t>(n.inputs.size()), static_cast<std::uint16_t>(outputs.size())});
    for (auto e : n.inputs) {
      bool const by_reference_alone =
          is_variable(sub[e.node]) && !std::holds_alternative<plan::owned_id>(p.slots[slots.of(e)].where);
      if (by_reference_alone) ++next;
      else add(slots.of(e));
    }
    for (auto s : outputs) add(s);
    ++next;  // the scratch
    p.names.push_back(n.name);
    p.operations.push_back(n.op->name);
  }
  p.kept_first = next;
  for (auto e : kept) {
    p.kept.push_back(slots.of(e));
    add(slots.of(e));
  }
  p.pointers = next;
}

/// Marks the instructions for which a walk has nothing to do but to call the kernel.
inline void mark_plain(plan& p) {
  std::vector<bool> drops(p.instructions.size());
  for (auto const& d : p.drops) drops[d.after] = true;
  for (std::size_t at = 0; at < p.instructions.size(); ++at) {
    auto const& made = p.instructions[at];
    if (!drops[at] && !made.run.waits && made.owned == no_index<plan::owned_id>) p.lines[at].plain = made.run.called();
  }
}

}  // namespace rill::planning
#endif
