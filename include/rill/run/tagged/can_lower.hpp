// Decides which loops, branches and calls can be lowered to primitives.
#pragma once
#include <span>

#include "rill/graph/subgraph.hpp"
#include "rill/pass/options.hpp"
#include "rill/state/container.hpp"

#if RILL_RUNTIME
#include <algorithm>
#include <cstddef>
#include <vector>

#include "rill/ops/control/call.hpp"
#include "rill/ops/control/cond.hpp"
#include "rill/ops/control/loop.hpp"
#include "rill/pass/bind.hpp"
#include "rill/pass/passes.hpp"
#endif

namespace rill {

/// Whether a loop, branch or call can be lowered: all extents in it must be known before it runs.
bool can_lower(node const& n, std::span<type const> inputs, container& state, pass_options const& passes);

#if RILL_RUNTIME

namespace detail {

inline bool is_branch(node const& n) { return n.op->kind == op_kind::cond; }

/// Whether a node is of a kind that is lowered: loops, branches, and calls of functions in which a kernel may wait,
/// because the call would hold a thread otherwise. Recursive functions are not lowered.
inline bool is_lowered(node const& n) {
  auto const* const f = called_by(n);
  return ops::is_loop(n) || is_branch(n) || (f && f->may_wait && f->looked_through());
}

inline bool can_lower_body(subgraph body, std::vector<type> const& arguments, container& state,
                           pass_options const& passes) {
  if (!all_known(arguments) || ops::branch::branch_types(body, arguments).refusal) return false;
  bind_extents(body, arguments, state);
  if (passes.functions) inline_functions(body, state, nullptr);
  return std::all_of(body.nodes.begin(), body.nodes.end(), [&](node const& n) {
    std::vector<type> inputs;
    for (auto e : n.inputs) inputs.push_back(body.type_of(e));
    if (is_lowered(n)) return can_lower(n, inputs, state, passes);
    return !n.op->dynamic_output_shape || all_known(n.outputs);
  });
}

}  // namespace detail

RILL_INLINE bool can_lower(node const& n, std::span<type const> inputs, container& state, pass_options const& passes) {
  if (auto const* const f = called_by(n)) {
    auto const own = inputs.subspan(f->references.size());
    return all_known(n.outputs) && detail::can_lower_body(*f->body, {own.begin(), own.end()}, state, passes);
  }
  if (!ops::is_loop(n)) {
    auto const a = decode<ops::branch::attributes>(n.attributes);
    if (!all_known(n.outputs)) return false;
    auto const own = inputs.subspan(static_cast<std::size_t>(a.references) + 1);
    std::vector<type> const arguments(own.begin(), own.end());
    return detail::can_lower_body(*a.then, arguments, state, passes) &&
           detail::can_lower_body(*a.otherwise, arguments, state, passes);
  }
  auto const a = decode<ops::loop_rules::attributes>(n.attributes);
  auto const given = ops::loop_rules::given(a, inputs, n.outputs);
  return !ops::loop_rules::opens(a, n.outputs) && detail::can_lower_body(*a.body, given, state, passes) &&
         (a.counted() || detail::can_lower_body(*a.condition, ops::loop_rules::without_rows(a, given), state, passes));
}

#endif

}  // namespace rill
