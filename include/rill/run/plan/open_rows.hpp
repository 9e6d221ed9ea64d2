// Values whose extents are known only when their node has run. A node that reads such extents is deferred, except for a
// loop that takes the rows of another loop with the same number of iterations, if only that number is open.
#pragma once
#include "rill/graph/subgraph.hpp"
#include "rill/ops/control/loop.hpp"

namespace rill::detail {

/// Whether an output has extents that are known only when its node has run.
bool has_deferred_shape(subgraph const& sub, endpoint e);

/// Whether a node is a loop that can take such rows as its input k.
bool takes_open_rows(subgraph const& sub, node const& n, std::size_t k);

#if RILL_RUNTIME

/// Returns the output from which a number of iterations comes: follows the counts that loops are given.
inline endpoint source_of_count(subgraph const& sub, endpoint count) {
  auto const& n = sub[count.node];
  if (!ops::is_loop(n)) return count;
  auto const a = decode<ops::loop_rules::attributes>(n.attributes);
  if (count.port != a.count_port() || !a.given_count) return count;
  return source_of_count(sub, n.inputs[static_cast<std::size_t>(a.references)]);
}

RILL_INLINE bool has_deferred_shape(subgraph const& sub, endpoint e) {
  return !sub.type_of(e).is_known() && sub[e.node].op->dynamic_output_shape;
}

RILL_INLINE bool takes_open_rows(subgraph const& sub, node const& n, std::size_t k) {
  if (!ops::is_loop(n)) return false;
  auto const a = decode<ops::loop_rules::attributes>(n.attributes);
  bool const row = k >= a.first_row() && k < a.first_capture();
  bool const extents = k >= a.first_extents() && k < a.first_variable();
  if (!a.given_count || !(row || extents)) return false;
  auto const maker = n.inputs[k].node;
  if (!ops::is_loop(sub[maker])) return false;
  auto const made = decode<ops::loop_rules::attributes>(sub[maker].attributes);
  if (n.inputs[k].port < made.row_port(0) || ops::loop_rules::opens(made, sub[maker].outputs)) return false;
  return source_of_count(sub, n.inputs[static_cast<std::size_t>(a.references)]) ==
         source_of_count(sub, {maker, made.count_port()});
}

#endif

}  // namespace rill::detail
