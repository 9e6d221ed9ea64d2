// The third stage of a plan: when each value is needed, and where results lie.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "rill/run/plan/kernels.hpp"

#if RILL_RUNTIME
namespace rill::planning {

/// The values that a step returns, and values that kernels allocate.
struct result_list {
  indexed<plan::owned_id, plan::slot_id> owned;
  indexed<plan::output_id, plan::slot_id> outputs;
  indexed<plan::fetch_id, plan::fetch> fetches;
  std::vector<plan::copy> copies;
  std::vector<plan::drop> drops;
};

/// Sets the first and the last instruction that needs the elements of each value. Results are needed until the end.
inline void find_lifetimes(subgraph const& sub, kernel_list const& kernels, slot_layout& layout) {
  for (auto at : kernels.instructions.indices()) {
    auto const i = kernels.instructions[at].node;
    auto const& n = sub[i];
    for (auto s : layout.of_node[i]) layout.all[s].first = layout.all[s].last = at;
    for (std::size_t k = 0; k < n.inputs.size(); ++k)
      if (!takes_variable(sub, n, k) && !reads_extents_alone(n, k)) {
        auto& s = layout.at(n.inputs[k]);
        s.last = std::max(s.last, at);
      }
  }
  for (auto e : sub.outputs) layout.at(e).last = kernels.instructions.end_index();
}

// Places the outputs of kernels that allocate them.
inline void place_owned(kernel_list& kernels, slot_layout& layout, result_list& all) {
  for (auto& made : kernels.instructions) {
    if (!made.run.allocates_outputs) continue;
    auto const& outputs = layout.of_node[made.node];
    for (std::size_t port = 0; port < outputs.size(); ++port) {
      auto const id = all.owned.push_back(outputs[port]);
      layout.all[outputs[port]].where = id;
      if (port == 0) made.owned = id;
    }
  }
}

// Places results. A kernel writes a result to the caller's memory directly; a body copies results that are not
// computed, and a result that is fetched twice.
inline void place_fetches(subgraph const& sub, slot_layout& layout, result_list& all) {
  indexed<plan::slot_id, plan::fetch_id> fetched(layout.all.size(),
                                                 no_index<plan::fetch_id>);  // the first fetch of each
  for (auto e : sub.outputs) {
    auto const id = layout.of(e);
    auto& s = layout.all[id];
    if (!s.of.is_known()) {
      all.fetches.push_back({id, {}, false});
      continue;
    }
    if (std::holds_alternative<std::monostate>(s.where)) s.where = all.outputs.push_back(id);
    bool const computed = std::holds_alternative<plan::output_id>(s.where);
    bool const again = fetched[id] != no_index<plan::fetch_id>;
    auto const* const fed = std::get_if<plan::feed_id>(&s.where);
    auto const fetch = all.fetches.push_back(
        {id, sub.type_of(e).shape(), computed && !again, fed ? std::int64_t{as_integer(*fed)} : std::int64_t{-1}});
    if (!computed || again)
      all.copies.push_back({fetch, computed ? fetched[id] : no_index<plan::fetch_id>, s.of.element,
                            static_cast<std::size_t>(elements(s.of.shape()))});
    if (!again) fetched[id] = fetch;
  }
}

/// Places the values that kernels allocate and the results, and lists the instructions after which allocated tensors
/// are dropped.
inline result_list place_results(subgraph const& sub, kernel_list& kernels, slot_layout& layout) {
  result_list all;
  place_owned(kernels, layout, all);
  place_fetches(sub, layout, all);
  auto const end = kernels.instructions.end_index();
  for (auto id : all.owned.indices())
    if (auto const last = layout.all[all.owned[id]].last; last < end) all.drops.push_back({last, id});
  std::sort(all.drops.begin(), all.drops.end(), [](auto const& a, auto const& b) { return a.after < b.after; });
  return all;
}

}  // namespace rill::planning
#endif
