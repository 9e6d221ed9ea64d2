// How a step is compiled, as text: what `session::explain` returns.
#pragma once
#include <cstddef>
#include <string>

#include "rill/graph/subgraph.hpp"
#include "rill/pass/options.hpp"
#include "rill/run/plan/deferred.hpp"
#include "rill/run/plan/plan.hpp"
#include "rill/run/plan/stages.hpp"

namespace rill {

/// What the stages before the plan have made of a graph.
struct compile_record {
  std::size_t graph = 0;  ///< the number of the graph's nodes
  subgraph pruned, bound;
  pass_report rewrites;
  std::string placement;  ///< where each node runs, and why; empty: there is only the host
};

/// Returns the nodes of a subgraph: name, operation, inputs, and where each asks to run.
std::string nodes_text(subgraph const& sub);
/// Returns the types of the nodes of a subgraph, and the extents that its axes' names are bound to.
std::string types_text(subgraph const& sub);
/// Returns the nodes that are planned when the rest of a step has run, and where their inputs come from.
std::string deferred_text(deferred_subgraph const& later);
/// Returns the stages in `which` of a step; of `stages::summary` what the passes did, and the instructions.
/// `deferred`: what was cut off; null: nothing.
std::string explain(compile_record const& before, plan const& p, deferred_subgraph const* deferred, stages which);

}  // namespace rill

#if RILL_RUNTIME
#include <vector>

#include "rill/run/plan/print.hpp"
#include "rill/run/plan/text_table.hpp"

namespace rill {

namespace detail {

inline std::string name_of(subgraph const& sub, endpoint e) {
  return sub[e.node].name + (e.port == 0 ? "" : ":" + std::to_string(e.port));
}

// Where a node asks to run.
inline std::string wishes_of(node const& n) {
  auto const near = n.colocated.empty() ? std::string() : "near '" + n.colocated + "'";
  return n.device.empty() ? near : "on " + n.device + (near.empty() ? "" : ", ") + near;
}

inline std::string summary(compile_record const& before, plan const& p, deferred_subgraph const* deferred) {
  return before.rewrites.text() + p.text() +
         (deferred ? "what waits for extents that the step settles is planned when they are known\n" : "");
}

}  // namespace detail

RILL_INLINE std::string nodes_text(subgraph const& sub) {
  detail::text_table all;
  for (auto const& n : sub.nodes) {
    std::vector<std::string> inputs, controls;
    for (auto e : n.inputs) inputs.push_back(detail::name_of(sub, e));
    for (auto c : n.controls) controls.push_back(sub[c].name);
    all.add({n.name, std::string(n.op->name), n.inputs.empty() ? "" : "(" + detail::comma_list(inputs) + ")",
             controls.empty() ? "" : "after " + detail::comma_list(controls), detail::wishes_of(n)});
  }
  return all.text();
}

RILL_INLINE std::string types_text(subgraph const& sub) {
  std::string text;
  for (auto const& [axis, extent] : sub.axes) text += axis.text() + " = " + std::to_string(extent) + "\n";
  detail::text_table all;
  for (auto const& n : sub.nodes) {
    std::vector<std::string> types;
    for (auto const& t : n.outputs) types.push_back(t.text());
    all.add({n.name, detail::comma_list(types)});
  }
  return text + all.text();
}

RILL_INLINE std::string deferred_text(deferred_subgraph const& later) {
  auto const& sub = later.subgraph;
  detail::text_table inputs;
  for (std::size_t i = 0; i < later.inputs.size(); ++i) {
    auto const& from = later.inputs[i];
    bool const fed = from.from == deferred_subgraph::origin::feed;
    inputs.add({sub[sub.inputs[i]].name, sub.type_of({sub.inputs[i], 0}).text(),
                (fed ? "feed " : "result ") + std::to_string(from.index) + (fed ? "" : " of the rest")});
  }
  return "it is planned when the rest has run and these extents are known\n" +
         detail::paragraph("inputs", inputs.text()) + detail::paragraph("nodes", nodes_text(sub));
}

RILL_INLINE std::string explain(compile_record const& before, plan const& p, deferred_subgraph const* deferred,
                                stages which) {
  if (which == stages::summary) return detail::summary(before, p, deferred);
  std::string all;
  if (has(which, stages::prune))
    all += detail::paragraph("prune", std::to_string(before.pruned.size()) + " of " + std::to_string(before.graph) +
                                          " nodes\n" + nodes_text(before.pruned));
  if (has(which, stages::bind)) all += detail::paragraph("bind", types_text(before.bound));
  if (has(which, stages::rewrite)) all += detail::paragraph("rewrite", before.rewrites.text());
  if (!before.placement.empty() && has(which, stages::place)) all += detail::paragraph("place", before.placement);
  all += text(p, which);
  if (deferred && has(which, stages::deferred)) all += detail::paragraph("deferred", deferred_text(*deferred));
  return all;
}

}  // namespace rill
#endif
