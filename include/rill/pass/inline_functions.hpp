// Replaces calls of functions by the functions' bodies, where that costs no more than the call. Passes then rewrite the
// body together with its surroundings, and a derivative shares values with the forward call.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "rill/device/device_name.hpp"
#include "rill/ops/array/as.hpp"
#include "rill/pass/bind.hpp"
#include "rill/pass/rewriter.hpp"

namespace rill {

/// Inlines functions in a bound subgraph, and in the inlined bodies. Nodes keep the devices that they ask for, in the
/// bodies of branches and loops too; what they leave open is filled in from the call's constraint. Returns whether
/// it changed the subgraph. Throws if `step`, which may be null, is cancelled or late.
bool inline_functions(subgraph& sub, container& state, pass_report* report, step_context const* step = nullptr);

#if RILL_RUNTIME
namespace detail {

/// A call in a subgraph, and the number of calls of the same function there.
struct call_site {
  node const& call;
  function_definition const& function;
  std::size_t calls;
};

struct inlining_rule {
  std::string_view name;
  bool (*holds)(call_site const&);
};

/// Reasons to inline a call: one is enough.
inline constexpr inlining_rule inlining_rules[] = {
    {"small", [](call_site const& s) { return s.function.nodes <= 32; }},
    {"called once", [](call_site const& s) { return s.calls == 1; }},
    {"has deferred extents", [](call_site const& s) { return !all_known(s.call.outputs); }},
};

/// Finds the functions that draw random numbers. They are not inlined, because each call has a random stream of its
/// own.
class draw_finder {
 public:
  bool of(function_definition const& f) {
    if (f.recursive) return true;
    auto const [at, fresh] = known_.try_emplace(&f, true);
    if (fresh) {
      bool const found = in(*f.body);
      known_[&f] = found;
      return found;
    }
    return at->second;
  }

 private:
  bool in(subgraph const& sub) {
    return std::any_of(sub.nodes.begin(), sub.nodes.end(), [&](node const& n) {
      if (n.op->effect == effect::none) return false;
      if (auto const* f = called_by(n)) return of(*f);
      bool found = false;
      for_each_body(n, [&](subgraph const& body) { found = found || in(body); });
      return found || (draws_random(n) && !has_bodies(n));
    });
  }
  std::map<function_definition const*, bool> known_;
};

// Replaces the axis names of a body by extents, because each call may bind a name differently. Throws
// error(unimplemented) if an extent is not known yet: then the call is not inlined.
inline void replace_names(subgraph& body) {
  for (auto& n : body.nodes) {
    if (is_variable(n) || n.outputs.size() != 1 || !declares_type(n)) continue;
    auto declared = declared_type(n);
    if (!declared.has_rank() || declared.rank != n.outputs[0].rank) continue;
    for (std::size_t i = 0; i < declared.rank; ++i) {
      if (!declared[i].named()) continue;
      if (!n.outputs[0][i].known())
        throw error(code::unimplemented, "an axis name whose extent is known only in the step", n.name);
      declared[i] = n.outputs[0][i];
    }
    set_declared_type(n, declared);
  }
}

// Throws error(unimplemented) if extents that the signature declares can be checked only in the step: then the call,
// which checks them, is not inlined.
inline void check_signature(function_definition const& f, std::vector<type> const& given, subgraph const& body) {
  auto const check = [&](type const& declared, type const& made) {
    if (!made.is_known() && merged(declared, made) != made)
      throw error(code::unimplemented, "extents in its signature are checked in the step", f.name);
  };
  std::span<type const> const arguments(given.data(), f.arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) check(f.arguments[i], given[i]);
  for (std::size_t o = 0; f.has_results && o < f.results.size(); ++o)
    check(type_in_call(f.results[o], f.arguments, arguments), body.type_of(body.outputs[o]));
}

/// Replaces one call by its function's body.
class inliner {
 public:
  inliner(rewriter& r, std::uint32_t at, function_definition const& f, container& state)
      : r_(r), at_(at), body_(*f.body), place_(body_.size()) {
    auto const& call = r.subgraph()[at];
    std::vector<type> given;
    for (auto i = f.references.size(); i < call.inputs.size(); ++i)
      given.push_back(r.subgraph().type_of(call.inputs[i]));
    bind_extents(body_, given, state);
    replace_names(body_);
    check_signature(f, given, body_);
  }

  void run(std::string_view rule) {
    auto const call = r_.subgraph()[at_];
    auto const own = call.inputs.size() - body_.inputs.size();
    for (std::size_t i = 0; i < body_.inputs.size(); ++i) place_[body_.inputs[i]] = call.inputs[own + i];
    for (std::uint32_t i = 0; i < body_.size(); ++i) place(i, call, own);
    for (std::uint32_t o = 0; o < body_.outputs.size(); ++o) r_.replace({at_, o}, resolve(body_.outputs[o]), rule);
  }

 private:
  endpoint resolve(endpoint e) const {
    auto const& at = place_[e.node];
    return body_[e.node].op == &fed_op ? at : endpoint{at.node, e.port};
  }
  void place(std::uint32_t i, node const& call, std::size_t own) {
    auto n = body_[i];
    if (n.op == &fed_op) return;
    if (is_variable(n)) {
      for (std::size_t k = 0; k < own; ++k)
        if (r_.subgraph()[call.inputs[k].node].name == n.name) place_[i] = call.inputs[k];
      return;
    }
    for (auto& e : n.inputs) e = resolve(e);
    std::erase_if(n.controls, [&](auto c) { return body_[c].op == &fed_op || is_variable(body_[c]); });
    for (auto& c : n.controls) c = place_[c].node;
    n.name = fresh_name(call, n);
    ask(n, call);
    place_[i] = {r_.add(std::move(n), r_.subgraph().origin[at_]), 0};
  }

  // Nodes of a body may differ in their scopes alone.
  std::string fresh_name(node const& call, node const& n) {
    auto const name = call.name + "/" + n.name.substr(n.name.rfind('/') + 1);
    auto const [at, fresh] = names_.try_emplace(name, 0);
    return fresh ? name : name + "_" + std::to_string(++at->second);
  }
  // Has a node, and the nodes in its bodies, ask for what the call leaves them.
  void ask(node& n, node const& call) {
    n.device = device_in(call, n);
    n.colocated = neighbour_of(n, call);
    if (!asks_for_place(call)) return;
    for (auto& [_, a] : n.attributes)
      if (auto* const body = std::get_if<std::shared_ptr<subgraph const>>(&a)) {
        auto copy = **body;
        for (auto& inner : copy.nodes)
          if (inner.op != &fed_op && !is_variable(inner)) ask(inner, call);
        *body = std::make_shared<subgraph const>(std::move(copy));
      }
  }
  // A node recorded by `near` ignores the constraint around the call.
  static std::string device_in(node const& call, node const& n) {
    if (!n.colocated.empty()) return n.device;
    if (call.device.empty() || n.device.empty()) return n.device.empty() ? call.device : n.device;
    return nested(device_name::parse(call.device), device_name::parse(n.device)).text();
  }
  // The node beside which a node of the body runs, as it is called here.
  std::string neighbour_of(node const& n, node const& call) {
    if (n.colocated.empty()) return call.colocated;
    if (numbers_.empty())
      for (std::uint32_t i = 0; i < body_.size(); ++i) numbers_.emplace(body_[i].name, i);
    auto const at = numbers_.find(n.colocated);
    return at == numbers_.end() ? n.colocated : r_.subgraph()[place_[at->second].node].name;
  }

  rewriter& r_;
  std::uint32_t at_;
  subgraph body_;
  std::map<std::string, int> names_;                   // of nodes that were put in the place of the call
  std::map<std::string_view, std::uint32_t> numbers_;  // of the body's nodes, if names are asked for
  std::vector<endpoint> place_;                        // of each node of the body in the subgraph
};

/// Inlines the calls of a subgraph, then the calls in the inlined bodies.
class call_inliner {
 public:
  call_inliner(subgraph& sub, container& state, pass_report* report, step_context const* step)
      : subgraph_(sub), state_(state), step_(step), r_(sub, "functions", report), updated_(sub.size()) {
    for (auto const& n : sub.nodes)
      for (std::size_t k = 0; k < n.inputs.size(); ++k)
        if (updates_reference(n, k)) updated_[n.inputs[k].node] = true;
  }

  bool run() {
    for (std::uint32_t first = 0; first < subgraph_.size();) {
      auto const end = static_cast<std::uint32_t>(subgraph_.size());
      std::vector<std::uint32_t> found;
      for (auto i = first; i < end; ++i)
        if (auto const* const f = called_by(subgraph_[i])) ++calls_[f], found.push_back(i);
      std::vector<function_definition const*> gone;
      for (auto i : found)
        if (auto const* const f = called_by(subgraph_[i]); replace(i, *f)) gone.push_back(f);
      for (auto const* f : gone) --calls_[f];
      first = end;
    }
    return r_.finish();
  }

 private:
  bool replace(std::uint32_t i, function_definition const& f) {
    check(step_);
    r_.refresh(i);
    call_site const site{subgraph_[i], f, calls_[&f]};
    if (!can_inline(site)) return false;
    for (auto const& rule : inlining_rules) {
      if (!rule.holds(site)) continue;
      try {
        inliner(r_, i, f, state_).run(rule.name);
        return true;
      } catch (error const&) {  // the call stays, and its plan gives a better error
      }
      break;
    }
    return false;
  }
  bool can_inline(call_site const& s) {
    auto const& f = s.function;
    return f.body && !f.recursive && f.effect != effect::writes && s.call.controls.empty() && !s.call.outputs.empty() &&
           f.body->targets.empty() && !reads_what_is_updated(s.call) && !draws_.of(f);
  }
  // Whether a call reads a variable that the subgraph updates: then the body must read it when the call runs.
  bool reads_what_is_updated(node const& call) const {
    for (std::size_t i = 0; i < call.inputs.size() && takes_reference(call, i); ++i)
      if (auto const v = call.inputs[i].node; v < updated_.size() && updated_[v]) return true;
    return false;
  }

  subgraph& subgraph_;
  container& state_;
  step_context const* step_;
  rewriter r_;
  std::vector<bool> updated_;  // of each node, whether it is a variable that the subgraph updates
  std::map<function_definition const*, std::size_t> calls_;
  draw_finder draws_;
};

}  // namespace detail

RILL_INLINE bool inline_functions(subgraph& sub, container& state, pass_report* report, step_context const* step) {
  bool changed = false;
  while (detail::call_inliner(sub, state, report, step).run()) changed = true;
  if (changed) bind_open_extents(sub);  // a body's results may have more specific types than the call's
  return changed;
}
#endif

}  // namespace rill
