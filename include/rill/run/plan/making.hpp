// How a subgraph becomes a plan: slots for its values, kernels for its nodes, and who waits for whom where it forks.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rill/run/fiber_call.hpp"
#include "rill/run/plan/deferred_pieces.hpp"
#include "rill/run/plan/open_rows.hpp"
#include "rill/run/plan/plan.hpp"
#include "rill/run/tagged/can_lower.hpp"
#include "rill/run/tagged/primitive_region.hpp"

namespace rill {

#if RILL_RUNTIME
RILL_INLINE plan::plan(subgraph const& sub, container& state, std::uint64_t seed, allocator& memory, int threads,
                       execution wish, pass_options const& passes, compiled_functions* functions,
                       step_context const* step)
    : functions_(functions ? nullptr : no_functions()), allocator_(&memory) {
  auto const sequence = order(sub, step);
  order_ = sequence.nodes;
  make_slots(sub);
  make_instructions(sub, nodes_to_compute(sub),
                    {state, seed, threads, wish, passes, functions ? functions : functions_.get(), step});
  mark_outputs(sub);
  auto const forked = fork(sub, sequence, wish, threads);
  take_over(sub, forked.get());
  place_values(sub, forked.get(), step);
  lay_pointers(sub);
  mark_plain();
  slots_of_.clear();
}

RILL_INLINE plan::plan(subgraph const& iteration, std::vector<endpoint> const& kept, container& state,
                       std::uint64_t seed, allocator& memory, int threads, pass_options const& passes,
                       compiled_functions* functions)
    : frame_(true), allocator_(&memory) {
  for (std::uint32_t i = 0; i < iteration.size(); ++i) order_.push_back(i);
  make_slots(iteration);
  std::vector<bool> computed(iteration.size());
  for (std::uint32_t i = 0; i < iteration.size(); ++i) {
    auto const& n = iteration[i];
    computed[i] = computed[i] || n.op->name != "variable";
    for (std::size_t k = 0; k < n.inputs.size(); ++k)
      if (!takes_reference(n, k)) computed[n.inputs[k].node] = true;
  }
  for (auto e : kept) computed[e.node] = true;
  make_instructions(iteration, computed, {state, seed, threads, execution::automatic, passes, functions});
  mark_outputs(iteration);
  place_apart();
  for (auto e : kept) kept_.push_back(slot_of(e));
  lay_pointers(iteration);
  slots_of_.clear();
}

// A slot for each output; what passes through shares the slot of what came in.
RILL_INLINE void plan::make_slots(subgraph const& sub) {
  slots_of_.resize(sub.size());
  for (std::uint32_t i = 0; i < sub.size(); ++i) {
    auto const& n = sub[i];
    for (std::uint32_t port = 0; port < n.outputs.size(); ++port) {
      if (n.op->aliases_input && port == 0) {
        slots_of_[i].push_back(slot_of(n.inputs[0]));
        continue;
      }
      if (!n.outputs[port].is_known() && n.op->name != "variable" &&  // which may be taken by reference alone
          !(frame_ && n.op == &fed_op) &&                             // of which rows are taken alone
          !detail::has_deferred_shape(sub, {i, port}))
        throw error(code::unimplemented,
                    "the extents of its output, " + n.outputs[port].text() + ", are not known before the step runs",
                    n.name);
      slots_of_[i].push_back(static_cast<std::uint32_t>(slots_.size()));
      slots_.emplace_back().of = n.outputs[port];
    }
  }
  for (auto i : sub.inputs) {
    auto& s = slots_[slots_of_[i][0]];
    s.where = place::fed;
    s.index = static_cast<std::uint32_t>(fed_.size());
    fed_.push_back(s.of);
    fed_slots_.push_back(slots_of_[i][0]);
  }
}

namespace detail {

/// Whether a node's bodies are compiled when they run: the subgraph that it is in may change the extents of variables
/// that they read.
inline bool defers_bodies(node const& n, std::vector<bool> const& resized) {
  for (std::size_t k = 0; k < n.inputs.size(); ++k)
    if (resized[n.inputs[k].node] && means_variable(n, k)) return has_bodies(n);
  return false;
}

/// Whether a node must, or is to, run with tags.
inline bool runs_with_tags(node const& n, execution wish, std::span<type const> inputs, container& state,
                           pass_options const& passes) {
  if (is_primitive_region(n)) return true;
  if (wish == execution::sequential || !is_lowered(n)) return false;
  return (wish == execution::tagged || may_wait(n)) && can_lower(n, inputs, state, passes);
}

}  // namespace detail

RILL_INLINE void plan::make_instructions(subgraph const& sub, std::vector<bool> const& computed, making const& with) {
  auto const resized = nodes_resized(sub);
  for (auto i : order_) {
    if (i % checked_each == 0 || has_bodies(sub[i])) check(with.step);
    auto const& n = sub[i];
    if (n.op == &fed_op || n.op->aliases_input) continue;
    if (!computed[i]) {
      for (auto s : slots_of_[i]) slots_[s].index = none;
      continue;
    }
    if (n.op->name == "variable") assume(n, with.state);
    if (n.op->name == "constant") {
      auto& s = slots_[slots_of_[i][0]];
      s.where = place::constant;
      s.index = static_cast<std::uint32_t>(constants_.size());
      constants_.push_back(std::get<tensor>(n.attributes[0].second));
      memory_.held += constants_.back().bytes();
      continue;
    }
    taking const takes = inputs_of(sub, n, resized, with.state);
    bool const defer_bodies = detail::defers_bodies(n, resized);
    if (!defer_bodies) assume_bodies(n, with.state);
    add_instruction(i, n, takes, make_kernel(n, takes, defer_bodies, with));
  }
}

RILL_INLINE plan::taking plan::inputs_of(subgraph const& sub, node const& n, std::vector<bool> const& resized,
                                         container& state) {
  taking takes;
  takes.variables.resize(n.inputs.size());
  for (std::size_t k = 0; k < n.inputs.size(); ++k) {
    takes.types.push_back(sub.type_of(n.inputs[k]));
    auto const& from = sub[n.inputs[k].node];
    if (!takes_reference(n, k)) continue;
    if (from.op->name == "variable") {
      takes.variables[k] = state.variable(from.name, std::get<type>(from.attributes[0].second));
      if (detail::meets_present(n, k, resized)) assume(from, state);
      else if (n.op->reference_or_value) takes.types.back() = declared_type(from);
    } else if (n.op->effect == effect::writes)
      throw error(code::invalid_argument, "input " + std::to_string(k) + " must be a variable", n.name);
  }
  return takes;
}

RILL_INLINE kernel plan::make_kernel(node const& n, taking const& takes, bool defer_bodies, making const& with) {
  if (n.op->cpu == nullptr && !is_primitive_region(n))
    throw error(code::unimplemented, "the operation " + std::string(n.op->name) + " has no kernel for this device",
                n.name);
  kernel made;
  try {
    kernel_request const request{
        n,          takes.types,  n.outputs,    takes.variables, with.state, with.seed,    with.threads,
        allocator_, &with.passes, compile_body, with.functions,  &bodies_,   defer_bodies, with.step};
    bool const with_tags = !defer_bodies && detail::runs_with_tags(n, with.wish, takes.types, with.state, with.passes);
    made = with_tags ? tagged_kernel(request) : n.op->cpu(request);
    if (with.wish != execution::sequential && !made.waits && may_wait(n)) made = detail::on_fiber(std::move(made));
    tagged_ = tagged_ || with_tags;
  } catch (error const& e) {
    if (is_primitive_region(n) || (is_deferred_piece(n) && !e.node().empty()))
      throw;  // it names a node that somebody wrote
    auto const where = has_bodies(n) ? "in a body, node '" : "'";
    throw error(e.code(), (e.node().empty() ? "" : where + e.node() + "': ") + e.message(), n.name);
  }
  for (std::uint32_t k = 0; n.op->updates_in_place >> k != 0; ++k)
    if (n.op->updates_in_place >> k & 1) made.updates_in_place.push_back({k, k});
  keep_unread(made.updates_in_place, n);
  keep_unread(made.input_output_aliases, n);
  made.input_output_aliases.insert(made.input_output_aliases.end(), made.updates_in_place.begin(),
                                   made.updates_in_place.end());
  return made;
}

RILL_INLINE void plan::add_instruction(std::uint32_t i, node const& n, taking const& takes, kernel run) {
  waiting_ += run.waits;
  lines_.push_back({{}, 0, static_cast<std::uint16_t>(n.inputs.size()), static_cast<std::uint16_t>(n.outputs.size())});
  auto const at = static_cast<std::uint32_t>(instructions_.size());
  for (auto s : slots_of_[i]) slots_[s].first = slots_[s].last = at;
  for (std::size_t k = 0; k < n.inputs.size(); ++k)
    if (!takes.variables[k]) {
      auto& s = slots_[slot_of(n.inputs[k])];
      s.used = true;
      if (!reads_extents_alone(n, k)) s.last = std::max(s.last, at);
    }
  auto& made = instructions_.emplace_back();
  made.run = std::move(run);
  made.node = i;
  names_.push_back(n.name);
  operations_.push_back(n.op->name);
}

// A place that a kernel reads by two names, a value's and its reshape's, is written only if either may be.
RILL_INLINE void plan::keep_unread(std::vector<kernel::shared_memory>& pairs, node const& n) const {
  std::vector<std::uint32_t> read;
  for (auto e : n.inputs) read.push_back(slot_of(e));
  auto sorted = read;
  std::sort(sorted.begin(), sorted.end());
  if (pairs.empty() || std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end()) return;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<std::uint32_t>> written;  // by slot and output: the inputs
  for (auto const& pair : pairs) written[{read[pair.input], pair.output}].insert(pair.input);
  std::erase_if(pairs, [&](auto const& pair) {
    auto const mine = read[pair.input];
    auto const names = std::equal_range(sorted.begin(), sorted.end(), mine);
    return written[{mine, pair.output}].size() != static_cast<std::size_t>(names.second - names.first);
  });
}

// All but those of which nobody reads the elements: others read their extents alone, or take a variable by reference.
RILL_INLINE std::vector<bool> plan::nodes_to_compute(subgraph const& sub) const {
  std::vector<bool> wanted(sub.size());
  auto const run = [&](std::uint32_t i) { wanted[i] = wanted[i] || sub[i].op->name != "variable"; };
  for (auto e : sub.outputs) wanted[e.node] = true;
  for (auto t : sub.targets) run(t);
  for (auto i = order_.rbegin(); i != order_.rend(); ++i) {
    auto const& n = sub[*i];
    wanted[*i] = wanted[*i] || n.op == &fed_op || n.op->effect == effect::writes;
    if (!wanted[*i]) continue;
    for (std::size_t k = 0; k < n.inputs.size(); ++k)
      if (!takes_reference(n, k) && !reads_extents_alone(n, k)) wanted[n.inputs[k].node] = true;
    for (auto c : n.controls) run(c);
  }
  return wanted;
}

// A variable whose declared extents are open is read with those that it has now.
RILL_INLINE void plan::assume(node const& n, container& state) {
  auto const& declared = std::get<type>(n.attributes[0].second);
  if (declared.is_known()) return;
  auto v = state.variable(n.name, declared);
  v->expect_value();
  auto const& bound = n.outputs[0];
  auto const extents = bound.is_known() ? bound.shape() : v->read().shape();
  assumed_.emplace_back(std::move(v), extents);
}

// So are those that a node's bodies read, which are compiled for them.
RILL_INLINE void plan::assume_bodies(node const& n, container& state) {
  for_each_body(n, [&](subgraph const& body) { assume_subgraph(body, state); });
  auto const* const f = called_by(n);
  if (!f || std::find(assumed_functions_.begin(), assumed_functions_.end(), f) != assumed_functions_.end()) return;
  assumed_functions_.push_back(f);
  assume_subgraph(*f->body, state);
}
RILL_INLINE void plan::assume_subgraph(subgraph const& body, container& state) {
  auto const resized = nodes_resized(body);
  for (auto const& inner : body.nodes) {
    for (std::size_t k = 0; k < inner.inputs.size(); ++k)
      if (auto const& from = body[inner.inputs[k].node];
          from.op->name == "variable" && detail::meets_present(inner, k, resized))
        assume(from, state);
    if (!detail::defers_bodies(inner, resized)) assume_bodies(inner, state);
  }
  for (auto e : body.outputs)
    if (body[e.node].op->name == "variable") assume(body[e.node], state);
}

RILL_INLINE bool plan::holds() const {
  for (auto const& [v, extents] : assumed_)
    if (v->value_extents() != extents) return false;
  return true;
}

// Nothing if sequential execution is the better one.
RILL_INLINE std::unique_ptr<plan::forking> plan::fork(subgraph const& sub, step_order const& sequence, execution wish,
                                                      int threads) {
  if (!may_fork(wish, instructions_.size(), threads, waiting_)) return nullptr;
  std::vector<std::uint32_t> instruction_of(sub.size(), none);
  std::vector<cost> costs;
  std::vector<type> inputs;
  for (std::uint32_t at = 0; at < instructions_.size(); ++at) {
    auto const& n = sub[instructions_[at].node];
    instruction_of[instructions_[at].node] = at;
    inputs.clear();
    for (auto e : n.inputs) inputs.push_back(sub.type_of(e));
    costs.push_back(n.op->work(n.attributes, inputs, n.outputs));
  }
  dependencies waits(sequence, instruction_of, instructions_.size());
  if (wish != execution::parallel && !pays_to_fork(waits, costs, threads)) {
    if (waiting_ < 2 && !tagged_) return nullptr;
    one_at_a_time_ = alone_ = !tagged_;
  }
  if (instructions_.size() > most_forked) one_at_a_time_ = true, alone_ = !tagged_;

  std::vector<std::vector<std::uint32_t>> users(slots_.size());
  std::vector<std::uint32_t> settled(slots_.size());  // of a variable's users, how many come before an update
  for (std::uint32_t at = 0; at < instructions_.size(); ++at) {
    auto const& n = sub[instructions_[at].node];
    for (auto s : slots_of_[instructions_[at].node]) users[s].push_back(at);
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      auto& list = users[slot_of(n.inputs[k])];
      if (takes_reference(n, k) && sub[n.inputs[k].node].op->name == "variable") {
        // An update waits for those that use the snapshot and come before it: then it need not copy.
        if (!updates_reference(n, k)) continue;
        auto& first = settled[slot_of(n.inputs[k])];
        std::vector<std::uint32_t> users_before;
        std::copy_if(list.begin() + first, list.end(), std::back_inserter(users_before), [&](auto user) {
          return user != at && sequence.may_wait_for(instructions_[user].node, instructions_[at].node);
        });
        waits.add(users_before, at);
        if (!n.may_race) first = static_cast<std::uint32_t>(list.size());
      } else if (!reads_extents_alone(n, k) && (list.empty() || list.back() != at)) list.push_back(at);
    }
  }
  holds_.resize(instructions_.size());
  for (auto s : owned_slots_) {
    bool const fetched = slots_[s].last == instructions_.size();
    holders_.push_back(fetched ? none : static_cast<std::uint32_t>(users[s].size()));
    if (!fetched)
      for (auto at : users[s]) holds_[at].push_back(slots_[s].index);
  }
  fork_ = fork_schedule(waits);
  auto made = std::make_unique<forking>(forking{std::move(users)});
  if (one_at_a_time_) {
    std::vector<bool> may_wait;
    for (auto const& i : instructions_) may_wait.push_back(i.run.waits);
    made->arrivals.emplace(waits, may_wait);
  } else made->ancestors.emplace(waits);
  return made;
}

RILL_INLINE void plan::trim() {
  for (auto const& body : bodies_) body->trim();
  if (functions_) functions_->trim();
}

RILL_INLINE std::string plan::text() const {
  std::string s;
  if (forks()) s = "in parallel execution\n";
  for (std::size_t i = 0; i < instructions_.size(); ++i) s += std::to_string(i) + "  " + names_[i] + "\n";
  return s;
}
#endif

}  // namespace rill
