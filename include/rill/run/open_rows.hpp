// Rows whose number is known only when the loop that makes them has run: plans let other loops take them, by the same
// count, and callers fetch them.
#pragma once
#include "rill/graph/subgraph.hpp"
#include "rill/ops/control/loop.hpp"

namespace rill::detail {

/// Whether an output is rows of a loop, only their number open, and all that read it are loops that take as many.
bool makes_open_rows(subgraph const& part, endpoint e);

#if RILL_RUNTIME

/// Where the number of a loop's iterations comes from: a loop that is given the count of another has the other's.
inline endpoint source_of_count(subgraph const& part, endpoint count) {
  auto const& n = part[count.node];
  if (!ops::is_loop(n)) return count;
  auto const a = decode<ops::looping::attributes>(n.attributes);
  if (count.port != a.count_port() || !a.given_count) return count;
  return source_of_count(part, n.inputs[static_cast<std::size_t>(a.references)]);
}

RILL_INLINE bool makes_open_rows(subgraph const& part, endpoint e) {
  auto const& maker = part[e.node];
  if (!ops::is_loop(maker)) return false;
  auto const made = decode<ops::looping::attributes>(maker.attributes);
  auto const& t = maker.outputs[e.port];
  if (e.port <= made.count_port() || !row_of(t).is_known()) return false;
  auto const count = source_of_count(part, {e.node, made.count_port()});
  for (auto const& n : part.nodes)
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      if (n.inputs[k] != e) continue;
      if (!ops::is_loop(n)) return false;
      auto const a = decode<ops::looping::attributes>(n.attributes);
      if (!a.given_count || k < a.first_row() || k >= a.first_capture() ||
          source_of_count(part, n.inputs[static_cast<std::size_t>(a.references)]) != count)
        return false;
    }
  return true;
}

#endif

}  // namespace rill::detail
