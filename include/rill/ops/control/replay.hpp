// Bodies in derivatives: a body's nodes are recorded again where its derivative needs their values.
#pragma once
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "rill/graph/body.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/sum/sum.hpp"
#include "rill/ops/table/scatter.hpp"

namespace rill {

/// Records in a graph what a body computes, once more, with `arguments` for its inputs; returns its results. Its
/// variables are found by name among `variables`. It makes no update again: error(unimplemented) if a result needs one.
/// What gradients of operations with bodies are made of.
std::vector<value> record_again(graph& here, subgraph const& body, std::vector<value> const& arguments,
                                std::vector<value> const& variables = {});

}  // namespace rill

namespace rill::detail {

/// The nodes of a body that its results need, recorded again in a graph. Updates are not made again, those in branches,
/// loops and functions neither; a message is not printed again.
class replay {
 public:
  /// `arguments` stand for the body's inputs; its variables are found by name among `variables`. `kept`: the caller
  /// brings what came out of queues and the like; arguments stand for that.
  replay(graph& here, subgraph const& body, std::vector<value> const& arguments, std::vector<value> const& variables,
         bool kept = false);

  /// The value that an output of a node of the body has here; error(unimplemented) if an update makes it.
  value of(endpoint e) const;
  /// The values of a node of the body here, by port; none of a node that is not computed again.
  std::vector<value> const& of(std::uint32_t node) const { return values_[node]; }

 private:
  subgraph const& body_;
  std::vector<std::vector<value>> values_;  // by node and port
};

/// For each x the sum over the y of their derivatives times dy; empty where no y depends on it. Where a dy is empty,
/// its y is passed over.
std::vector<gradient> derivatives_of(gradient_request const& r, std::vector<value> const& y,
                                     std::vector<value> const& dy, std::vector<value> const& x);
/// The same, dense.
std::vector<value> dense_derivatives(gradient_request const& r, std::vector<value> const& y,
                                     std::vector<value> const& dy, std::vector<value> const& x);

/// The values from `first` to before `last`.
inline std::vector<value> between(std::vector<value> const& all, std::size_t first, std::size_t last) {
  return {all.begin() + static_cast<std::ptrdiff_t>(first), all.begin() + static_cast<std::ptrdiff_t>(last)};
}

/// Zeros of a value's type.
inline value zeros_like(value x) { return broadcast_like(zero(x), x); }

/// Records a body of so many arguments again, without its updates; `captures` and `variables` stand for what it takes
/// from outside. error(unimplemented) where that would not be the same: it reads what it updates, or returns what an
/// update returns. `node` is the one that it belongs to.
recorded_body body_without_updates(graph& here, std::string const& node, subgraph const& body, std::size_t arguments,
                                   std::vector<value> const& captures, std::vector<value> const& variables);

/// Refuses a body of which a result needs the value of a variable that it updates: its derivative would read the new
/// one.
void refuse_updated_reads(subgraph const& body, std::string const& node);

#if RILL_RUNTIME

// Of each node, whether a result of the body needs it; what only updates read is none of those.
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
  for (std::uint32_t i = 0; i < body.size(); ++i) {
    auto const& n = body[i];
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
    // A user's rule stays its node's; one that did not travel with the graph is missed where it is needed.
    auto const rule = [&here, number = n.rule](std::vector<value> const& x, value y, value dy) {
      return here.find_rule(number)(x, y, dy);
    };
    auto const made = n.rule < 0 ? record() : here.with_gradient(n.op->name, rule, record);
    for (std::uint32_t o = 0; o < n.outputs.size(); ++o) values_[i].push_back({made.graph, made.node, o});
  }
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
  return r.differentiate(some, x, outer);
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
