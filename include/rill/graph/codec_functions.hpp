// Writes the functions of a graph as bytes and reads them. Whatever follows from a body is not in the bytes, and is
// computed again.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "rill/graph/codec_nodes.hpp"
#include "rill/graph/record_function.hpp"

namespace rill::wire {

inline void save(writer& to, function_definition const& f) {
  to(f.name, f.most.calls);
  save_list(to, f.arguments, [&](type const& t) { save(to, t); });
  save_list(to, f.results, [&](type const& t) { save(to, t); });
  save_list(to, f.like, [&](std::int32_t i) { to(i); });
  save_list(to, f.captures, [&](endpoint e) { to(e.node, e.port); });
  save_list(to, f.references, [&](std::uint32_t v) { to(v); });
  to(f.updates);
  save_list(to, f.waits, [&](std::uint32_t n) { to(n); });
  save(to, *f.body);
}

inline constexpr std::size_t least_function = 12 * sizeof(std::uint64_t);

/// The largest depth limit that untrusted bytes may set: each level of calls takes memory.
inline constexpr std::int64_t deepest_calls = 1000000;

// Reads the signature and the captures. They precede the body because the function's calls of itself are inferred from
// them.
inline function_definition load_signature(reader& from) {
  function_definition f;
  from(f.name, f.most.calls);
  if (f.name.empty() || f.name.find(':') != std::string::npos) fail("a function's name is empty or has a ':'");
  if (f.most.calls < 0 || f.most.calls > deepest_calls) fail("a function's depth limit is out of range");
  load_list(from, 2, [&] { load(from, f.arguments.emplace_back()); });
  load_list(from, 2, [&] { load(from, f.results.emplace_back()); });
  load_list(from, sizeof(std::int32_t), [&] { from(f.like.emplace_back()); });
  load_list(from, 2 * sizeof(std::uint32_t), [&] {
    auto& e = f.captures.emplace_back();
    from(e.node, e.port);
  });
  load_list(from, sizeof(std::uint32_t), [&] { from(f.references.emplace_back()); });
  from(f.updates);
  load_list(from, sizeof(std::uint32_t), [&] { from(f.waits.emplace_back()); });
  if (f.updates < 0 || static_cast<std::uint64_t>(f.updates) > f.references.size())
    fail("a function updates more variables than it has");
  if (!f.like.empty() && f.like.size() != f.results.size())
    fail("a function's results are not as many as its list of like types");
  auto const inputs = f.arguments.size() + f.captures.size();
  for (auto i : f.like)
    if (i < -1 || i >= static_cast<std::int64_t>(inputs))
      fail("a function's result has the type of an input that does not exist");
  return f;
}

// Checks that a body has the inputs and the variables that its function declares.
inline void check_body(function_definition const& f, subgraph const& body) {
  if (body.inputs.size() != f.arguments.size() + f.captures.size()) fail("a function's body has other inputs");
  for (std::size_t i = 0; i < f.arguments.size(); ++i)
    if (body[body.inputs[i]].outputs[0] != f.arguments[i]) fail("a function's body has inputs of other types");
  std::size_t variables = 0;
  for (auto const& n : body.nodes) variables += is_variable(n);
  if (variables != f.references.size()) fail("a function's body has other variables");
  detail::check_results(f, body);
}

inline void load_function(reader& from, graph& g, known_operations& known) {
  auto& f = g.functions().add(load_signature(from));
  if (g.functions().rename(f.name, &f) != nullptr) fail("two functions have one name");
  known.add(f);
  auto body = load_body(from, known);
  check_body(f, *body);
  for (auto const& n : body->nodes) f.effect = std::max(f.effect, n.op->effect);
  f.body = std::move(body);
  detail::survey(f);
  g.functions().define(f);
}

// Whether a subgraph updates a variable, by its name.
inline bool updates_variable(subgraph const& sub, std::string_view name) {
  return std::any_of(sub.nodes.begin(), sub.nodes.end(), [&](node const& n) {
    for (std::size_t k = 0; k < n.inputs.size(); ++k)
      if (updates_reference(n, k) && sub[n.inputs[k].node].name == name) return true;
    return false;
  });
}

/// Checks that the graph, whose nodes have all been read, has the values, nodes and variables that its functions
/// capture. Throws error(data_loss).
inline void check_functions(graph const& g) {
  auto const check = [&](bool ok) {
    if (!ok) fail("a function captures something that its graph does not have");
  };
  for (auto const* f : g.functions().defined()) {
    for (std::size_t i = 0; i < f->captures.size(); ++i) {
      auto const e = f->captures[i];
      check(e.node < g.size() && e.port < g[e.node].outputs.size());
      check(accepts((*f->body)[f->body->inputs[f->arguments.size() + i]].outputs[0], g[e.node].outputs[e.port]));
    }
    for (auto n : f->waits) check(n < g.size());
    for (auto v : f->references) {
      check(v < g.size() && is_variable(g[v]));
      check(std::any_of(f->body->nodes.begin(), f->body->nodes.end(),
                        [&](node const& n) { return is_variable(n) && n.name == g[v].name; }));
    }
    for (std::size_t i = 0; i < f->references.size(); ++i)
      if (updates_variable(*f->body, g[f->references[i]].name) != (i < static_cast<std::size_t>(f->updates)))
        fail("a function updates other variables than it says");
  }
}

// The names of the nodes of nested bodies, innermost last.
using names_around = std::vector<std::unordered_set<std::string_view>>;

// Checks that each node of a body is placed beside an earlier node of that body, or of a body or graph around it.
inline void check_colocation(graph const& g, subgraph const& body, names_around& around) {
  around.emplace_back();
  for (auto const& n : body.nodes) {
    auto const known = [&](auto const& names) { return names.contains(n.colocated); };
    if (!n.colocated.empty() && !g.contains(n.colocated) && std::none_of(around.begin(), around.end(), known))
      throw error(code::invalid_argument,
                  "it is to run beside '" + n.colocated + "', and no earlier node has that name", n.name);
    for_each_body(n, [&](subgraph const& inner) { check_colocation(g, inner, around); });
    around.back().insert(n.name);
  }
  around.pop_back();
}

/// Checks that a node of a body is placed beside a node that exists; nodes of the graph were checked when they were
/// added.
inline void check_colocation(graph const& g) {
  names_around around;
  for (auto const* f : g.functions().defined()) check_colocation(g, *f->body, around);
  for (std::size_t i = 0; i < g.size(); ++i)
    for_each_body(g[i], [&](subgraph const& body) { check_colocation(g, body, around); });
}

}  // namespace rill::wire
