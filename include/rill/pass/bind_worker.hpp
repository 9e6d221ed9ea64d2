// Binds a step to the worker whose session runs it, before all other passes.
#pragma once
#include <cstdint>

#include "rill/graph/subgraph.hpp"

namespace rill {

/// Replaces `worker_number` by a constant, and leaves out what only other workers run (ops/sync/worker.hpp). Returns
/// whether it changed the subgraph.
bool bind_worker(subgraph& sub, std::int64_t worker);

}  // namespace rill

#if RILL_RUNTIME
#include <algorithm>
#include <utility>
#include <vector>

#include "rill/ops/array/constant.hpp"
#include "rill/ops/sync/worker.hpp"

namespace rill {

namespace detail {

/// Removes the nodes that neither inputs, outputs nor targets need. The others keep their order.
inline void keep_needed(subgraph& sub) {
  std::vector<bool> needed(sub.size());
  for (auto i : sub.inputs) needed[i] = true;
  for (auto e : sub.outputs) needed[e.node] = true;
  for (auto t : sub.targets) needed[t] = true;
  for (std::uint32_t i = 0; i < sub.size(); ++i)
    if (sub[i].op->back_edge) needed[i] = true;
  std::vector<std::uint32_t> place(sub.size());
  for (auto i = static_cast<std::uint32_t>(sub.size()); i-- > 0;) {
    if (!needed[i]) continue;
    for (auto e : sub[i].inputs) needed[e.node] = true;
    for (auto c : sub[i].controls) needed[c] = true;
  }
  subgraph made;
  for (std::uint32_t i = 0; i < sub.size(); ++i) {
    if (!needed[i]) continue;
    place[i] = static_cast<std::uint32_t>(made.size());
    auto n = std::move(sub[i]);
    for (auto& e : n.inputs) e.node = place[e.node];
    for (auto& c : n.controls) c = place[c];
    made.nodes.push_back(std::move(n));
    made.origin.push_back(sub.origin[i]);
  }
  for (auto i : sub.inputs) made.inputs.push_back(place[i]);
  for (auto e : sub.outputs) made.outputs.push_back({place[e.node], e.port});
  for (auto t : sub.targets) made.targets.push_back(place[t]);
  made.axes = std::move(sub.axes);
  sub = std::move(made);
}

}  // namespace detail

RILL_INLINE bool bind_worker(subgraph& sub, std::int64_t worker) {
  bool bound = false, cut = false;
  for (auto& n : sub.nodes)
    if (n.op == &definition<ops::worker_number_op>()) {
      n.op = &definition<ops::constant_op>();
      n.attributes = encode(ops::constant_op::attributes{tensor(worker)});
      bound = true;
    } else if (n.op == &definition<ops::on_worker_op>() &&
               decode<ops::on_worker_op::attributes>(n.attributes).worker != worker) {
      n.controls.clear();
      cut = true;
    }
  if (cut) detail::keep_needed(sub);
  return bound || cut;
}

}  // namespace rill
#endif
