// The extents of variables that a plan was made for.
#pragma once
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "rill/base/config.hpp"
#include "rill/graph/subgraph.hpp"
#include "rill/state/container.hpp"

namespace rill {

/// A plan reads a variable of open extents with its extents at the time of planning. The plan is valid while the
/// variable keeps them.
class assumptions {
 public:
  /// Adds a variable's node, with the extents that it was bound to, or has now.
  void add(node const& variable, container& state);
  /// Adds the variables that a node's bodies and the function that it calls read, for they are compiled for them.
  void add_bodies(node const& n, container& state);
  bool empty() const { return extents_.empty(); }
  /// Whether all of the variables still have these extents.
  bool hold() const;

 private:
  void add_subgraph(subgraph const& body, container& state);

  std::vector<std::pair<std::shared_ptr<variable_state>, shape>> extents_;
  std::vector<function_definition const*> functions_;  // that were looked through
};

}  // namespace rill

#if RILL_RUNTIME
#include "rill/pass/bind.hpp"

namespace rill {

namespace detail {

/// Whether a node's bodies are compiled when they run: the subgraph that it is in may change the extents of variables
/// that they read.
inline bool defers_bodies(node const& n, std::vector<bool> const& resized) {
  for (std::size_t k = 0; k < n.inputs.size(); ++k)
    if (resized[n.inputs[k].node] && means_variable(n, k)) return has_bodies(n);
  return false;
}

}  // namespace detail

RILL_INLINE void assumptions::add(node const& variable, container& state) {
  auto const& declared = declared_type(variable);
  if (declared.is_known()) return;
  auto v = state.variable(variable.name, declared);
  v->expect_value();
  auto const& bound = variable.outputs[0];
  auto const extents = bound.is_known() ? bound.shape() : v->read().shape();
  extents_.emplace_back(std::move(v), extents);
}

RILL_INLINE void assumptions::add_bodies(node const& n, container& state) {
  for_each_body(n, [&](subgraph const& body) { add_subgraph(body, state); });
  auto const* const f = called_by(n);
  if (!f || std::find(functions_.begin(), functions_.end(), f) != functions_.end()) return;
  functions_.push_back(f);
  add_subgraph(*f->body, state);
}

RILL_INLINE void assumptions::add_subgraph(subgraph const& body, container& state) {
  auto const resized = nodes_resized(body);
  for (auto const& inner : body.nodes) {
    for (std::size_t k = 0; k < inner.inputs.size(); ++k)
      if (auto const& from = body[inner.inputs[k].node]; is_variable(from) && detail::meets_present(inner, k, resized))
        add(from, state);
    if (!detail::defers_bodies(inner, resized)) add_bodies(inner, state);
  }
  for (auto e : body.outputs)
    if (is_variable(body[e.node])) add(body[e.node], state);
}

RILL_INLINE bool assumptions::hold() const {
  for (auto const& [v, extents] : extents_)
    if (v->value_extents() != extents) return false;
  return true;
}

}  // namespace rill
#endif
