// Lowers a loop, branch or call to primitives (EuroSys'18 §4.2): one flat subgraph, for tagged execution.
#pragma once
#include <span>

#include "rill/pass/options.hpp"
#include "rill/run/tagged/lowered.hpp"
#include "rill/state/container.hpp"

namespace rill {

/// Lowers a bound loop, branch or call and everything in its bodies. The subgraph has the inputs of the node, without
/// its variables, and the outputs of the node.
lowered lower(node const& n, std::span<type const> inputs, container& state, pass_options const& passes);

}  // namespace rill

#if RILL_RUNTIME
#include "rill/run/tagged/lower_loop.hpp"

namespace rill {

RILL_INLINE lowered lower(node const& n, std::span<type const> inputs, container& state, pass_options const& passes) {
  return detail::lowering(state, passes).run(n, inputs);
}

}  // namespace rill
#endif
