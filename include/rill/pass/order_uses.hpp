// Writes the order in which a step uses its variables into control edges, before other passes change the edges.
#pragma once
#include "rill/pass/rewriter.hpp"

#if RILL_RUNTIME
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "rill/graph/order.hpp"
#endif

namespace rill {

/// Adds control edges between successive uses of each variable that is updated, if nodes also read it in place or
/// update it more than once. Without them a pass could remove the values that the order depends on, and a fused node
/// waits for more than the nodes in it did. Returns whether it changed the subgraph. Throws what `order` throws.
bool order_uses(subgraph& sub, pass_report* report, step_context const* step = nullptr);

#if RILL_RUNTIME
namespace detail {

/// The nodes that take a variable by reference, in the order of the step so far.
struct variable_uses {
  std::size_t updates = 0, readers = 0;
  std::vector<std::uint32_t> last = {};   // the last update, and the racing updates behind it
  std::vector<std::uint32_t> since = {};  // the readers since
};

inline std::map<std::uint32_t, variable_uses> uses_to_order(subgraph const& sub) {
  std::map<std::uint32_t, variable_uses> uses;
  for (auto const& n : sub.nodes)
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      if (!takes_reference(n, k)) continue;
      auto& u = uses[n.inputs[k].node];
      ++(updates_reference(n, k) ? u.updates : u.readers);
    }
  std::erase_if(uses, [](auto const& each) {
    auto const& u = each.second;
    return u.updates == 0 || u.updates + u.readers == 1;
  });
  return uses;
}

}  // namespace detail

RILL_INLINE bool order_uses(subgraph& sub, pass_report* report, step_context const* step) {
  auto uses = detail::uses_to_order(sub);
  if (uses.empty()) return false;
  rewriter r(sub, "order", report);
  std::vector<std::uint32_t> waits_for(sub.size(), UINT32_MAX);  // the last node that waits for each node
  for (auto i : order(sub, step).nodes) {
    auto& n = sub[i];
    waits_for[i] = i;
    for (auto c : n.controls) waits_for[c] = i;
    auto const wait_for = [&](std::uint32_t before) {
      if (std::exchange(waits_for[before], i) == i) return;
      n.controls.push_back(before);
      r.log("waits for " + sub[before].name, i);
    };
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      auto const of = takes_reference(n, k) ? uses.find(n.inputs[k].node) : uses.end();
      if (of == uses.end()) continue;
      auto& use = of->second;
      bool const update = updates_reference(n, k);
      for (auto u : use.last) {
        if (update && n.may_race && sub[u].may_race) break;  // so may all that follow
        wait_for(u);
      }
      if (!update) {
        use.since.push_back(i);
        continue;
      }
      std::for_each(use.since.begin(), use.since.end(), wait_for);
      if (!n.may_race) use.last.clear(), use.since.clear();
      use.last.push_back(i);
    }
  }
  return r.finish();
}
#endif

}  // namespace rill
