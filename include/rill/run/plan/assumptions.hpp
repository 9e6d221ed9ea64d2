// The extents of variables that a plan was made for, and where they lie.
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
  /// Adds a variable, with its bound extents, or else its present ones.
  void add(node const& variable, container& state);
  /// Adds the variables that a node's bodies, or the function that it calls, read.
  void add_bodies(node const& n, container& state);
  /// Adds that a variable lies in this memory once it has a value; null: the host's.
  void add_home(std::shared_ptr<variable_state> v, memory_space* home) { homes_.emplace_back(std::move(v), home); }
  /// Returns the variables of a session with devices, and the memories that they lie in.
  auto const& homes() const { return homes_; }
  /// Whether no variable of open extents was added.
  bool empty() const { return extents_.empty(); }
  /// Whether all of the variables still have these extents, and lie in these memories. Most plans assume nothing.
  bool hold() const { return (extents_.empty() && homes_.empty()) || still_hold(); }

 private:
  void add_subgraph(subgraph const& body, container& state);
  // measured: as a part of `hold` it makes calls of a prepared step longer, also of those that assume nothing
  [[gnu::noinline]] bool still_hold() const {
    for (auto const& [v, extents] : extents_)
      if (v->value_extents() != extents) return false;
    for (auto const& [v, home] : homes_)
      if (auto const now = v->home(); now && *now != home) return false;
    return true;
  }

  std::vector<std::pair<std::shared_ptr<variable_state>, shape>> extents_;
  std::vector<std::pair<std::shared_ptr<variable_state>, memory_space*>> homes_;
  std::vector<function_definition const*> functions_;  // that were looked through
};

}  // namespace rill

#if RILL_RUNTIME
#include "rill/pass/bind.hpp"

namespace rill {

namespace detail {

/// Whether a node's bodies are compiled when they run, because the subgraph around it may change the extents of
/// variables that they read.
inline bool defers_bodies(node const& n, std::vector<bool> const& resized) {
  for (std::size_t k = 0; k < n.inputs.size(); ++k)
    if (resized[n.inputs[k].node] && means_variable(n, k)) return has_bodies(n);
  return false;
}

}  // namespace detail

RILL_INLINE void assumptions::add(node const& variable, container& state) {
  auto const& declared = declared_type(variable);
  if (declared.is_known() || !state.has_values()) return;
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

}  // namespace rill
#endif
