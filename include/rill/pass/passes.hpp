// The rewrites of a subgraph, in order; each can be switched off, and says what it did.
#pragma once
#include "rill/pass/common_subexpressions.hpp"
#include "rill/pass/fold_constants.hpp"
#include "rill/pass/fuse.hpp"
#include "rill/pass/fuse_updates.hpp"
#include "rill/pass/identities.hpp"
#include "rill/pass/inline_functions.hpp"
#include "rill/pass/order_sections.hpp"
#include "rill/pass/order_uses.hpp"
#include "rill/pass/trim_loops.hpp"

namespace rill {

/// Rewrites a bound subgraph. Ends with `step`, if it is for one.
void rewrite(subgraph& sub, pass_options const& options, container& state, pass_report* report,
             step_context const* step = nullptr);

#if RILL_RUNTIME
RILL_INLINE void rewrite(subgraph& sub, pass_options const& options, container& state, pass_report* report,
                         step_context const* step) {
  auto const checked = [&](bool wanted, auto&& pass) {
    if (!wanted) return;
    check(step);
    pass();
    if (options.verify) verify(sub);
  };
  if (options.verify) verify(sub);
  checked(true, [&] { order_sections(sub, report); });
  checked(true, [&] { order_uses(sub, report, step); });
  checked(options.functions, [&] { inline_functions(sub, state, report, step); });
  checked(options.loops, [&] { trim_loops(sub, state, report); });
  checked(options.fold_constants, [&] { fold_constants(sub, state, report); });
  checked(options.identities, [&] { remove_identities(sub, report); });
  checked(options.common_subexpressions, [&] { merge_common_subexpressions(sub, report); });
  checked(options.fuse, [&] { fuse_elementwise(sub, report); });
  checked(options.fuse, [&] { fuse_updates(sub, report); });
}
#endif

}  // namespace rill
