// Runs the passes on a subgraph, in order.
#pragma once
#include <functional>

#include "rill/pass/common_subexpressions.hpp"
#include "rill/pass/fold_constants.hpp"
#include "rill/pass/fuse.hpp"
#include "rill/pass/fuse_chains.hpp"
#include "rill/pass/fuse_updates.hpp"
#include "rill/pass/group_updates.hpp"
#include "rill/pass/identities.hpp"
#include "rill/pass/inline_functions.hpp"
#include "rill/pass/order_sections.hpp"
#include "rill/pass/order_uses.hpp"
#include "rill/pass/trim_loops.hpp"

namespace rill {

/// Puts nodes on devices, before passes fuse nodes of one device.
struct subgraph_placer {
  /// Writes into the nodes of a subgraph the devices on which they run, as `apply` does (place/placement.hpp). Empty:
  /// all run on one device, and what nodes ask for is forgotten.
  std::function<void(subgraph&)> place = {};
  join_predicate can_run = {};
};

/// Rewrites a bound subgraph. `report` may be null. Throws if `step`, which may be null, is cancelled or late.
void rewrite(subgraph& sub, pass_options const& options, container& state, pass_report* report,
             step_context const* step = nullptr, subgraph_placer const& devices = {});

#if RILL_RUNTIME
namespace detail {

inline void forget_places(subgraph& sub) {
  for (auto& n : sub.nodes) n.device.clear(), n.colocated.clear();
}

}  // namespace detail

RILL_INLINE void rewrite(subgraph& sub, pass_options const& options, container& state, pass_report* report,
                         step_context const* step, subgraph_placer const& devices) {
  auto const checked = [&](bool wanted, auto&& pass) {
    if (!wanted) return;
    check(step);
    pass();
    if (options.verify) verify(sub);
  };
  if (options.verify) verify(sub);
  if (!devices.place) detail::forget_places(sub);
  checked(true, [&] { order_sections(sub, report); });
  checked(true, [&] { order_uses(sub, report, step); });
  checked(options.functions, [&] { inline_functions(sub, state, report, step); });
  checked(options.loops, [&] { trim_loops(sub, state, report); });
  checked(options.fold_constants, [&] { fold_constants(sub, state, report); });
  checked(options.identities, [&] { remove_identities(sub, report); });
  checked(options.common_subexpressions, [&] { merge_common_subexpressions(sub, report); });
  if (devices.place) devices.place(sub);
  checked(options.fuse, [&] { fuse_elementwise(sub, report, devices.can_run); });
  checked(options.fuse, [&] { fuse_updates(sub, report, devices.can_run); });
  checked(options.fuse && devices.can_run, [&] { group_updates(sub, report, devices.can_run); });
  checked(options.fuse, [&] { fuse_chains(sub, report, devices.can_run); });
}
#endif

}  // namespace rill
