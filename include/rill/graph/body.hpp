// Records the bodies of loops, branches and functions: a lambda runs, and its nodes become a subgraph.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "rill/device/device_name.hpp"
#include "rill/graph/node_traits.hpp"
#include "rill/graph/prune.hpp"

namespace rill {

/// A recorded body.
struct recorded_body {
  rill::subgraph subgraph;        ///< its inputs are the arguments, then the captures; variables are nodes in it
  std::vector<value> captures;    ///< values from outside
  std::vector<value> references;  ///< variables from outside
  std::vector<bool> updated;      ///< whether the body updates each of the variables
  std::vector<operation> waits;   ///< nodes outside that must run before it
  rill::effect effect = rill::effect::none;  ///< the strongest effect of its nodes

  /// Makes `all`, which must contain the body's captures, its captures; additional ones become unused inputs.
  void align(std::size_t arguments, std::vector<value> const& all);
};

namespace detail {

/// Adds to what a node asks for what the node beside which it runs asks for, while that one is gone. `gone` returns the
/// node of a name if it is; null: it stays. Throws error(invalid_argument) if they ask for different devices.
template <class F> void ask_for_gone_neighbours(node& n, F const& gone) {
  while (!n.colocated.empty()) {
    node const* const beside = gone(n.colocated);
    if (beside == nullptr) return;
    auto both = common(device_name::parse(n.device), device_name::parse(beside->device));
    if (!both)
      throw error(code::invalid_argument,
                  "it asks for '" + n.device + "', and must lie together with '" + beside->name +
                      "', which asks for '" + beside->device + "': change a constraint",
                  n.name);
    n.device = both->text();
    n.colocated = beside->colocated;
  }
}

/// Returns the nodes of a body's graph that its results and its updates need; updates keep the order of recording.
/// These ask for what the others asked for beside which they run.
recorded_body extract(graph& body, std::vector<value> const& arguments, std::vector<value> const& results);

}  // namespace detail

/// Records a body within `g`: calls `f` with arguments of these types, and `f` returns the results. `f` may append
/// further arguments to its parameter: nodes from `graph::argument`, or values of the body that are then given instead
/// of computed.
template <class F>
recorded_body record_body(graph& g, std::string_view name, std::vector<type> const& arguments, F&& f) {
  auto& outside = g.innermost();
  auto& body = outside.open_body(name);
  struct closing {
    graph& g;
    ~closing() { g.close_body(); }
  } const guard{outside};
  std::vector<value> given;
  for (auto const& t : arguments) given.push_back(body.argument(t, "argument"));
  return detail::extract(body, given, f(given));
}

#if RILL_RUNTIME

namespace detail {

// Whether a node of a subgraph, or of a body in it, runs beside another.
inline bool has_neighbours(subgraph const& sub) {
  return std::any_of(sub.nodes.begin(), sub.nodes.end(), [](node const& n) {
    bool found = !n.colocated.empty();
    for_each_body(n, [&](subgraph const& inner) { found = found || has_neighbours(inner); });
    return found;
  });
}
template <class F> void ask_for_gone_neighbours(subgraph& sub, F const& gone) {
  for (auto& n : sub.nodes) {
    ask_for_gone_neighbours(n, gone);
    for (auto& [_, a] : n.attributes)
      if (auto* const body = std::get_if<std::shared_ptr<subgraph const>>(&a); body && has_neighbours(**body)) {
        auto copy = **body;
        ask_for_gone_neighbours(copy, gone);
        *body = std::make_shared<subgraph const>(std::move(copy));
      }
  }
}
inline void ask_for_gone_neighbours(graph const& body, subgraph& kept) {
  if (!has_neighbours(kept)) return;
  std::unordered_set<std::string_view> names;
  for (auto const& n : kept.nodes) names.insert(n.name);
  auto const gone = [&](std::string const& name) -> node const* {
    auto const* const n = names.contains(name) ? nullptr : body.find_node(name);
    return n && n->op != &fed_op && !is_variable(*n) ? n : nullptr;
  };
  ask_for_gone_neighbours(kept, gone);
}

}  // namespace detail

RILL_INLINE recorded_body detail::extract(graph& body, std::vector<value> const& arguments,
                                          std::vector<value> const& results) {
  recorded_body made;
  std::vector<endpoint> fed, fetched;
  std::vector<std::uint32_t> updates;
  for (auto const& v : results) fetched.push_back(body.inside(v).endpoint());
  for (auto const& v : arguments) fed.push_back(v.endpoint());
  for (std::uint32_t i = 0; i < body.size(); ++i)
    if (body[i].op->effect == effect::writes) updates.push_back(i);
  auto const reads = [&, needed = needed(body, {body, fed}, fetched, updates)](std::uint32_t n) {
    return std::binary_search(needed.begin(), needed.end(), n);
  };
  for (auto const& c : body.captures())  // captures that no needed node reads need not be computed outside
    if (reads(c.inside.node)) fed.push_back(c.inside.endpoint()), made.captures.push_back(c.outside);
  made.subgraph = prune(body, fed, fetched, updates);
  ask_for_gone_neighbours(body, made.subgraph);
  for (auto const& w : body.waits_outside())
    if (reads(w.inside)) made.waits.push_back(w.outside);

  std::uint32_t last = UINT32_MAX;
  for (std::uint32_t i = 0; i < made.subgraph.size(); ++i) {
    auto& n = made.subgraph[i];
    made.effect = std::max(made.effect, n.op->effect);
    if (n.op->effect != effect::writes) continue;
    if (last != UINT32_MAX && std::find(n.controls.begin(), n.controls.end(), last) == n.controls.end())
      n.controls.push_back(last);
    last = i;
  }
  for (auto const& c : body.references()) {
    if (!reads(c.inside.node)) continue;
    made.references.push_back(c.outside);
    bool updated = false;
    for (auto const& n : made.subgraph.nodes)
      for (std::size_t k = 0; k < n.inputs.size(); ++k)
        updated =
            updated || (updates_reference(n, k) && made.subgraph[n.inputs[k].node].name == c.inside.origin().name);
    made.updated.push_back(updated);
  }
  return made;
}

RILL_INLINE void recorded_body::align(std::size_t arguments, std::vector<value> const& all) {
  std::vector<std::uint32_t> inputs(subgraph.inputs.begin(),
                                    subgraph.inputs.begin() + static_cast<std::ptrdiff_t>(arguments));
  for (auto const& v : all) {
    auto const at =
        std::find_if(captures.begin(), captures.end(), [&](value const& c) { return c.endpoint() == v.endpoint(); });
    if (at != captures.end()) {
      inputs.push_back(subgraph.inputs[arguments + static_cast<std::size_t>(at - captures.begin())]);
      continue;
    }
    node n;  // an input that this body does not read
    n.op = &fed_op;
    n.name = v.origin().name;
    n.outputs = {v.type()};
    inputs.push_back(static_cast<std::uint32_t>(subgraph.size()));
    subgraph.nodes.push_back(std::move(n));
    subgraph.origin.push_back(0);
  }
  subgraph.inputs = std::move(inputs);
  captures = all;
}

#endif

}  // namespace rill
