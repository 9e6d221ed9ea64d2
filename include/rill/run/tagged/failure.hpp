// Describes where a node failed in tagged execution.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "rill/base/error.hpp"
#include "rill/ops/control/body.hpp"
#include "rill/ops/control/primitives.hpp"
#include "rill/run/tagged/lowered.hpp"
#include "rill/run/tagged/tokens.hpp"

#if RILL_RUNTIME
namespace rill::detail {

/// Returns an error with the place of its node, in the words of sequential execution: the iterations, branches and
/// calls around it.
inline failure placed(error const& e, lowered const& from, tokens::iteration const& where, std::uint32_t node) noexcept
    try {
  if (placed_errors::holds(e)) return as_failure(e);
  auto const* i = &where;
  auto at = from.within.empty() ? lowered::none : from.within[node];
  if (at == lowered::none) {
    if (!i->frame->outer) return as_failure(e);
    return as_failure(error(
        e.kind(), "in iteration " + std::to_string(i->index) + " of frame '" + i->layout->name + "': " + e.message(),
        e.node()));
  }
  auto text = is_primitive(from.subgraph[node]) ? ": " + e.message() : place_of(e);
  for (; at != lowered::none; at = from.places[at].outer) {
    auto const& p = from.places[at];
    if (p.body == lowered::body::iteration || p.body == lowered::body::condition) {
      bool const after = p.body == lowered::body::condition && i->index > 0;  // the condition ran after that iteration
      text = "in iteration " + std::to_string(i->index - after) + text;
      if (i->frame->outer) i = i->frame->outer;
    } else text = p.text + text;
    if (p.body == lowered::body::function && i->frame->outer) i = i->frame->outer;
    if (p.outer != lowered::none && !from.places[p.outer].is_unnamed()) text = ", node '" + p.name + "': " + text;
  }
  return as_failure(error(e.kind(), std::move(text)));
} catch (std::bad_alloc const&) {
  return as_failure(e);
}

}  // namespace rill::detail
#endif
