// Records nodes of a body again where its derivative needs their values.
#pragma once
#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rill/graph/body.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/sum/sum.hpp"
#include "rill/ops/table/scatter.hpp"

namespace rill {

/// Records a body's computation again in a graph, with `arguments` as its inputs, and returns its results. Its
/// variables are found by name among `variables`. Updates are not repeated: throws error(unimplemented) if a result
/// needs one. Derivatives of operations with bodies use it.
std::vector<value> record_again(graph& here, subgraph const& body, std::vector<value> const& arguments,
                                std::vector<value> const& variables = {});

}  // namespace rill

namespace rill::detail {

/// The nodes that a body's results need, recorded again in a graph. Updates, also in branches, loops and functions, are
/// not repeated; messages are not printed again. Nodes keep the constraints of the body's nodes, so that they run in
/// the same places.
class replay {
 public:
  /// `arguments` replace the body's inputs; its variables are found by name among `variables`. With `kept`, `arguments`
  /// also replace results of queues and the like.
  replay(graph& here, subgraph const& body, std::vector<value> const& arguments, std::vector<value> const& variables,
         bool kept = false);

  /// Returns the recorded value of an output of a node of the body. Throws error(unimplemented) if an update produces
  /// it.
  value of(endpoint e) const;
  /// Returns the recorded values of a node of the body, by port; empty if the node is not computed again.
  std::vector<value> const& of(std::uint32_t node) const { return values_[node]; }

 private:
  node wishes_of(node const& n) const;
  std::uint32_t number_of(std::string_view neighbour) const;

  subgraph const& body_;
  std::vector<std::vector<value>> values_;                // by node and port
  std::map<std::string_view, std::uint32_t> neighbours_;  // nodes that others are colocated with
};

/// Returns for each x the sum of the derivatives of the y times dy; empty if no y depends on x. A y with an empty dy is
/// skipped.
std::vector<gradient> derivatives_of(gradient_request const& r, std::vector<value> const& y,
                                     std::vector<value> const& dy, std::vector<value> const& x);
/// Returns the same, dense.
std::vector<value> dense_derivatives(gradient_request const& r, std::vector<value> const& y,
                                     std::vector<value> const& dy, std::vector<value> const& x);

/// Returns the values from `first` to before `last`.
inline std::vector<value> between(std::vector<value> const& all, std::size_t first, std::size_t last) {
  return {all.begin() + static_cast<std::ptrdiff_t>(first), all.begin() + static_cast<std::ptrdiff_t>(last)};
}

/// Returns zeros of a value's type.
inline value zeros_like(value x) { return broadcast_like(zero(x), x); }

/// Records a body with `arguments` arguments again without its updates; `captures` and `variables` replace its
/// captures. Throws error(unimplemented) if the result would differ: the body reads a variable that it updates, or
/// returns the result of an update. `node` is the node of the body.
recorded_body body_without_updates(graph& here, std::string const& node, subgraph const& body, std::size_t arguments,
                                   std::vector<value> const& captures, std::vector<value> const& variables);

/// Refuses a body with a result that needs the value of a variable that the body updates: the derivative would read the
/// new value.
void refuse_updated_reads(subgraph const& body, std::string const& node);

#if RILL_RUNTIME

// Returns for each node whether a result of the body needs it; nodes that only updates read are not needed.
inline std::vector<bool> needed_nodes(subgraph const& body) {
  std::vector<bool> needed(body.size());
  for (auto e : body.outputs) needed[e.node] = true;
  for (auto i = static_cast<std::uint32_t>(body.size()); i-- > 0;)
    if (needed[i])
      for (auto e : body[i].inputs) needed[e.node] = true;
  return needed;
}

// A node with bodies that update variables.
inline value without_updates(graph& here, node const& n, std::vector<value> const& inputs) {
  if (n.op->without_updates == nullptr)
    throw error(code::unimplemented,
                "a body that holds the operation " + std::string(n.op->name) +
                    " has no gradient: that operation does not say how it is recorded without its updates",
                n.name);
  return n.op->without_updates(here, n, inputs);
}

RILL_INLINE replay::replay(graph& here, subgraph const& body, std::vector<value> const& arguments,
                           std::vector<value> const& variables, bool kept)
    : body_(body), values_(body.size()) {
  for (std::size_t i = 0; i < body.inputs.size(); ++i) values_[body.inputs[i]] = {arguments[i]};
  auto const needed = needed_nodes(body);
  for (auto const& n : body.nodes)
    if (!n.colocated.empty()) neighbours_.emplace(n.colocated, UINT32_MAX);
  for (std::uint32_t i = 0; i < body.size(); ++i) {
    auto const& n = body[i];
    if (auto const at = neighbours_.find(n.name); at != neighbours_.end()) at->second = i;
    if (n.op == &fed_op || !needed[i]) continue;
    if (is_variable(n)) {
      for (auto const& v : variables)
        if (v.origin().name == n.name) values_[i] = {v};
      continue;
    }
    bool const updates = n.op->effect == effect::writes;
    if (updates && n.op->forwards_input) values_[i] = {of(n.inputs[0])};
    if (updates && !has_bodies(n)) {
      if (kept && n.inputs.empty())
        for (auto const& t : n.outputs) values_[i].push_back(here.argument(t, "kept"));
      continue;
    }
    std::vector<value> inputs;
    for (auto e : n.inputs) inputs.push_back(of(e));
    auto const slash = n.name.rfind('/');
    auto const record = [&] {
      if (updates) return without_updates(here, n, inputs);
      return here.add(*n.op, n.attributes, inputs, slash == std::string::npos ? n.name : n.name.substr(slash + 1));
    };
    // The node keeps a user's rule; if the rule was not serialized with the graph, the error comes where it is needed.
    auto const rule = [&here, number = n.rule](std::vector<value> const& x, value y, value dy) {
      return here.find_rule(number)(x, y, dy);
    };
    auto wishes = wishes_of(n);
    auto const made = here.placed_as(std::move(wishes.device), std::move(wishes.colocated), [&] {
      return n.rule < 0 ? record() : here.with_gradient(n.op->name, rule, record);
    });
    for (std::uint32_t o = 0; o < n.outputs.size(); ++o) values_[i].push_back({made.graph, made.node, o});
  }
}

// Returns the index of a body's node by name, if other nodes are near it; UINT32_MAX: there is no such node.
RILL_INLINE std::uint32_t replay::number_of(std::string_view neighbour) const {
  auto const at = neighbours_.find(neighbour);
  return at == neighbours_.end() ? UINT32_MAX : at->second;
}

// Returns a node's constraints as its copy needs them: `colocated` names the copy of the neighbour, or a node outside.
RILL_INLINE node replay::wishes_of(node const& n) const {
  node wishes;
  wishes.name = n.name;
  wishes.device = n.device;
  wishes.colocated = n.colocated;
  ask_for_gone_neighbours(wishes, [&](std::string const& name) -> node const* {
    auto const i = number_of(name);
    return i != UINT32_MAX && values_[i].empty() && !is_variable(body_[i]) ? &body_[i] : nullptr;
  });
  if (auto const i = number_of(wishes.colocated); i != UINT32_MAX && !values_[i].empty())
    wishes.colocated = values_[i][0].origin().name;
  return wishes;
}

RILL_INLINE value replay::of(endpoint e) const {
  if (e.port < values_[e.node].size()) return values_[e.node][e.port];
  throw error(code::unimplemented,
              "a derivative needs what an update inside a body returns, which is not kept: let it come from outside",
              body_[e.node].name);
}

RILL_INLINE std::vector<gradient> derivatives_of(gradient_request const& r, std::vector<value> const& y,
                                                 std::vector<value> const& dy, std::vector<value> const& x) {
  std::vector<value> some, outer;
  for (std::size_t i = 0; i < y.size(); ++i)
    if (dy[i] && is_differentiable(y[i].type().element)) some.push_back(y[i]), outer.push_back(dy[i]);
  return some.empty() ? std::vector<gradient>(x.size()) : r.differentiate(some, x, outer);
}

RILL_INLINE std::vector<value> dense_derivatives(gradient_request const& r, std::vector<value> const& y,
                                                 std::vector<value> const& dy, std::vector<value> const& x) {
  auto const parts = derivatives_of(r, y, dy, x);
  std::vector<value> dense;
  for (std::size_t k = 0; k < x.size(); ++k) dense.push_back(parts[k] ? densify(parts[k], x[k]) : value());
  return dense;
}

RILL_INLINE void refuse_updated_reads(subgraph const& body, std::string const& node) {
  auto const needed = needed_nodes(body);
  for (auto const& update : body.nodes)
    for (std::size_t k = 0; k < update.inputs.size(); ++k) {
      if (!updates_reference(update, k)) continue;
      auto const& variable = body[update.inputs[k].node].name;
      for (std::uint32_t r = 0; r < body.size(); ++r)
        for (std::size_t i = 0; needed[r] && i < body[r].inputs.size(); ++i)
          if (body[body[r].inputs[i].node].name == variable && !updates_reference(body[r], i))
            throw error(code::unimplemented,
                        "a body that reads and updates a variable, here '" + variable + "', has no gradient", node);
    }
}

RILL_INLINE recorded_body body_without_updates(graph& here, std::string const& node, subgraph const& body,
                                               std::size_t arguments, std::vector<value> const& captures,
                                               std::vector<value> const& variables) {
  refuse_updated_reads(body, node);
  std::vector<type> types;
  for (std::size_t i = 0; i < arguments; ++i) types.push_back(body[body.inputs[i]].outputs[0]);
  return record_body(here, "again", types, [&](std::vector<value> given) {
    auto& inner = here.innermost();
    std::vector<value> inside;
    for (auto const& v : captures) given.push_back(inner.inside(v));
    for (auto const& v : variables) inside.push_back(inner.inside(v));
    return record_again(inner, body, given, inside);
  });
}

#endif

}  // namespace rill::detail

#if RILL_RUNTIME
namespace rill {

RILL_INLINE std::vector<value> record_again(graph& here, subgraph const& body, std::vector<value> const& arguments,
                                            std::vector<value> const& variables) {
  detail::replay const again(here, body, arguments, variables);
  std::vector<value> results;
  for (auto e : body.outputs) results.push_back(again.of(e));
  return results;
}

}  // namespace rill
#endif
