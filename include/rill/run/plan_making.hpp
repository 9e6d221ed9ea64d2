// How a part becomes a plan: slots for its values, kernels for its nodes, places in memory.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rill/run/aside.hpp"
#include "rill/run/can_lower.hpp"
#include "rill/run/open_rows.hpp"
#include "rill/run/plan.hpp"
#include "rill/run/region.hpp"

namespace rill {

#if RILL_RUNTIME
RILL_INLINE plan::plan(subgraph const& part, container& state, std::uint64_t seed, allocator& memory, int threads,
                       gear wish, pass_options const& passes, compiled_functions* functions)
    : functions_(functions ? nullptr : no_functions()), allocator_(&memory) {
  auto const sequence = order(part);
  order_ = sequence.nodes;
  make_slots(part);
  make_instructions(part, nodes_to_compute(part), state, seed, threads, wish, passes,
                    functions ? functions : functions_.get());
  mark_outputs(part);
  auto const forked = fork(part, sequence, wish, threads);
  take_over(part, forked.get());
  place_values(part, forked.get());
  lay_pointers(part);
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
  make_instructions(iteration, computed, state, seed, threads, gear::automatic, passes, functions);
  mark_outputs(iteration);
  place_apart();
  for (auto e : kept) kept_.push_back(slot_of(e));
  lay_pointers(iteration);
  slots_of_.clear();
}

// A slot for each output; what passes through shares the slot of what came in.
RILL_INLINE void plan::make_slots(subgraph const& part) {
  slots_of_.resize(part.size());
  for (std::uint32_t i = 0; i < part.size(); ++i) {
    auto const& n = part[i];
    for (std::uint32_t port = 0; port < n.outputs.size(); ++port) {
      if (n.op->passes_through && port == 0) {
        slots_of_[i].push_back(slot_of(n.inputs[0]));
        continue;
      }
      if (!n.outputs[port].is_known() && n.op->name != "variable" &&  // which may be taken by reference alone
          !(frame_ && n.op == &fed_op) &&                             // of which rows are taken alone
          !detail::is_settled_late(part, {i, port}))
        throw error(code::unimplemented,
                    "the extents of its output, " + n.outputs[port].text() + ", are not known before the step runs",
                    n.name);
      slots_of_[i].push_back(static_cast<std::uint32_t>(slots_.size()));
      slots_.emplace_back().of = n.outputs[port];
    }
  }
  for (auto i : part.inputs) {
    auto& s = slots_[slots_of_[i][0]];
    s.where = place::fed;
    s.index = static_cast<std::uint32_t>(fed_.size());
    fed_.push_back(s.of);
    fed_slots_.push_back(slots_of_[i][0]);
  }
}

namespace detail {

/// Whether a node must, or is to, run with tags.
inline bool runs_with_tags(node const& n, gear wish, std::span<type const> inputs, container& state,
                           pass_options const& passes) {
  if (is_region(n)) return true;
  if (wish == gear::straight || !is_lowered(n)) return false;
  return (wish == gear::tagged || may_wait(n)) && can_lower(n, inputs, state, passes);
}

}  // namespace detail

RILL_INLINE void plan::make_instructions(subgraph const& part, std::vector<bool> const& computed, container& state,
                                         std::uint64_t seed, int threads, gear wish, pass_options const& passes,
                                         compiled_functions* functions) {
  std::vector<type> inputs;
  for (auto i : order_) {
    auto const& n = part[i];
    if (n.op == &fed_op || n.op->passes_through) continue;
    if (!computed[i]) {
      for (auto s : slots_of_[i]) slots_[s].index = none;
      continue;
    }
    if (n.op->name == "variable") assume(n, state);
    if (n.op->name == "constant") {
      auto& s = slots_[slots_of_[i][0]];
      s.where = place::constant;
      s.index = static_cast<std::uint32_t>(constants_.size());
      constants_.push_back(std::get<tensor>(n.attributes[0].second));
      memory_.held += constants_.back().bytes();
      continue;
    }
    if (n.op->cpu == nullptr && !is_region(n))
      throw error(code::unimplemented, "the operation " + std::string(n.op->name) + " has no kernel for this device",
                  n.name);
    inputs.clear();
    std::vector<std::shared_ptr<variable_state>> variables(n.inputs.size());
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      inputs.push_back(part.type_of(n.inputs[k]));
      auto const& from = part[n.inputs[k].node];
      if (!takes_reference(n, k)) continue;
      if (from.op->name == "variable") {
        variables[k] = state.variable(from.name, std::get<type>(from.attributes[0].second));
        if (!means_variable(n, k)) assume(from, state);
      } else if (n.op->effect == effect::writes)
        throw error(code::invalid_argument, "input " + std::to_string(k) + " must be a variable", n.name);
    }
    assume_bodies(n, state);
    instruction made;
    try {
      kernel_request const request{n,       inputs,     n.outputs, variables,    state,     seed,
                                   threads, allocator_, &passes,   compile_body, functions, &bodies_};
      bool const with_tags = detail::runs_with_tags(n, wish, inputs, state, passes);
      made.run = with_tags ? tagged_kernel(request) : n.op->cpu(request);
      if (wish != gear::straight && !made.run.waits && may_wait(n)) made.run = detail::aside(std::move(made.run));
      tagged_ = tagged_ || with_tags;
    } catch (error const& e) {
      throw error(e.code(), (e.node().empty() ? "" : "in a body, node '" + e.node() + "': ") + e.message(), n.name);
    }
    for (std::uint32_t k = 0; n.op->overwrites >> k != 0; ++k)
      if (n.op->overwrites >> k & 1) made.run.overwrites.push_back({k, k});
    std::erase_if(made.run.overwrites, [&](auto const& pair) {  // it reads the same as another input, too
      auto const same = [&](endpoint e) { return slot_of(e) == slot_of(n.inputs[pair.input]); };
      return std::count_if(n.inputs.begin(), n.inputs.end(), same) > 1;
    });
    made.run.may_share.insert(made.run.may_share.end(), made.run.overwrites.begin(), made.run.overwrites.end());
    waiting_ += made.run.waits;
    made.node = i;
    lines_.push_back(
        {{}, 0, static_cast<std::uint16_t>(n.inputs.size()), static_cast<std::uint16_t>(n.outputs.size())});
    auto const at = static_cast<std::uint32_t>(instructions_.size());
    for (auto s : slots_of_[i]) slots_[s].first = slots_[s].last = at;
    for (std::size_t k = 0; k < n.inputs.size(); ++k)
      if (!variables[k]) {
        auto& s = slots_[slot_of(n.inputs[k])];
        s.used = true;
        if (!reads_extents_alone(n, k)) s.last = std::max(s.last, at);
      }
    instructions_.push_back(std::move(made));
    names_.push_back(n.name);
    operations_.push_back(n.op->name);
  }
}

// All but those of which nobody reads the elements: others read their extents alone, or take a variable by reference.
RILL_INLINE std::vector<bool> plan::nodes_to_compute(subgraph const& part) const {
  std::vector<bool> wanted(part.size());
  auto const run = [&](std::uint32_t i) { wanted[i] = wanted[i] || part[i].op->name != "variable"; };
  for (auto e : part.outputs) wanted[e.node] = true;
  for (auto t : part.targets) run(t);
  for (auto i = order_.rbegin(); i != order_.rend(); ++i) {
    auto const& n = part[*i];
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
  v->inspect([](tensor const&) {});  // refuses one without a value
  auto const& bound = n.outputs[0];
  auto const extents = bound.is_known() ? bound.shape() : v->read().shape();
  assumed_.emplace_back(std::move(v), extents);
}

// So are those that a node's bodies read, which are compiled for them.
RILL_INLINE void plan::assume_bodies(node const& n, container& state) {
  for_each_body(n, [&](subgraph const& body) { assume_part(body, state); });
  auto const* const f = called_by(n);
  if (!f || std::find(assumed_functions_.begin(), assumed_functions_.end(), f) != assumed_functions_.end()) return;
  assumed_functions_.push_back(f);
  assume_part(*f->body, state);
}
RILL_INLINE void plan::assume_part(subgraph const& body, container& state) {
  for (auto const& inner : body.nodes) {
    for (std::size_t k = 0; k < inner.inputs.size(); ++k)
      if (auto const& from = body[inner.inputs[k].node]; from.op->name == "variable" && !means_variable(inner, k))
        assume(from, state);
    assume_bodies(inner, state);
  }
  for (auto e : body.outputs)
    if (body[e.node].op->name == "variable") assume(body[e.node], state);
}

RILL_INLINE bool plan::holds() const {
  for (auto const& [v, extents] : assumed_)
    if (!v->initialized() || v->read().shape() != extents) return false;
  return true;
}

RILL_INLINE void plan::mark_outputs(subgraph const& part) {
  for (auto& made : instructions_)
    if (made.run.owns_outputs) {
      made.owned = static_cast<std::uint32_t>(owned_slots_.size());
      for (auto s : slots_of_[made.node]) {
        slots_[s].where = place::owned;
        slots_[s].index = static_cast<std::uint32_t>(owned_slots_.size());
        owned_slots_.push_back(s);
      }
    }
  auto const end = static_cast<std::uint32_t>(instructions_.size());
  for (auto e : part.outputs) {
    auto const s = slot_of(e);
    auto& from = slots_[s];
    from.last = end;
    if (!from.of.is_known()) {
      fetches_.push_back({s, {}, false});
      continue;
    }
    if (from.where == place::arena) {
      from.where = place::output;
      from.index = static_cast<std::uint32_t>(output_slots_.size());
      output_slots_.push_back(s);
    }
    auto const number = static_cast<std::uint32_t>(fetches_.size());
    auto const before = std::find_if(fetches_.begin(), fetches_.end(), [&](fetch const& f) { return f.slot == s; });
    bool const twice = before != fetches_.end() && from.where == place::output;
    bool const direct = !twice && from.where == place::output;
    if (!direct)
      copies_.push_back({number, twice ? static_cast<std::uint32_t>(before - fetches_.begin()) : none, from.of.element,
                         static_cast<std::size_t>(elements(from.of.shape()))});
    fetches_.push_back({s, part.type_of(e).shape(), direct, from.where == place::fed ? from.index : std::int64_t{-1}});
  }
  for (auto s : owned_slots_)
    if (slots_[s].last < end) drops_.push_back({slots_[s].last, slots_[s].index});
  std::sort(drops_.begin(), drops_.end(), [](drop const& a, drop const& b) { return a.after < b.after; });
}

// Nothing if the straight gear is the better one.
RILL_INLINE std::unique_ptr<plan::forking> plan::fork(subgraph const& part, step_order const& sequence, gear wish,
                                                      int threads) {
  if (!may_fork(wish, instructions_.size(), threads, waiting_)) return nullptr;
  std::vector<std::uint32_t> instruction_of(part.size(), none);
  std::vector<cost> costs;
  std::vector<type> inputs;
  for (std::uint32_t at = 0; at < instructions_.size(); ++at) {
    auto const& n = part[instructions_[at].node];
    instruction_of[instructions_[at].node] = at;
    inputs.clear();
    for (auto e : n.inputs) inputs.push_back(part.type_of(e));
    costs.push_back(n.op->work(n.attributes, inputs, n.outputs));
  }
  dependencies waits(sequence, instruction_of, instructions_.size());
  if (wish != gear::forked && !pays_to_fork(waits, costs, threads)) {
    if (waiting_ < 2 && !tagged_) return nullptr;
    alone_ = !tagged_;
  }

  std::vector<std::vector<std::uint32_t>> users(slots_.size());
  for (std::uint32_t at = 0; at < instructions_.size(); ++at) {
    auto const& n = part[instructions_[at].node];
    for (auto s : slots_of_[instructions_[at].node]) users[s].push_back(at);
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      auto& list = users[slot_of(n.inputs[k])];
      if (takes_reference(n, k) && part[n.inputs[k].node].op->name == "variable") {
        // An update waits for those that use the snapshot and come before it: then it need not copy.
        if (updates_reference(n, k))
          for (auto user : list)
            if (user != at) waits.add(user, at);
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
  auto before = instructions_.size() <= most_forked ? std::optional<ancestry>(waits) : std::nullopt;
  return std::make_unique<forking>(forking{std::move(users), std::move(before)});
}

// Where results are made by writing over values again and again, those lie where the result is to be; and if the first
// of them came from outside, the caller may want the result in its place.
RILL_INLINE void plan::take_over(subgraph const& part, forking* forked) {
  for (auto at = static_cast<std::uint32_t>(instructions_.size()); at-- > 0;) {
    auto const& n = part[instructions_[at].node];
    for (auto const& pair : instructions_[at].run.overwrites) {
      auto const out = slots_of_[instructions_[at].node][pair.output], in = slot_of(n.inputs[pair.input]);
      auto& from = slots_[in];
      if (slots_[out].where != place::output || from.last != at || from.of != slots_[out].of) continue;
      if (forked && !std::all_of(forked->users[in].begin(), forked->users[in].end(),
                                 [&](auto user) { return user == at || forked->before(user, at); }))
        continue;
      if (from.where == place::fed) {
        for (auto& f : fetches_)
          if (f.slot == out && f.direct) f.over = from.index;
      } else if (from.where == place::arena) {
        slots_[out].first = from.first;
        for (auto& list : slots_of_) std::replace(list.begin(), list.end(), in, out);
        from.index = none;
        if (forked) {
          auto& users = forked->users[out];
          users.insert(users.end(), forked->users[in].begin(), forked->users[in].end());
        }
      }
    }
  }
}

// Blocks of the arena; an output takes over the block of an input that ends here where the kernel allows it. In the
// forked gear values share memory only where one is always done with before the other is made.
RILL_INLINE void plan::place_values(subgraph const& part, forking const* forked) {
  std::vector<std::vector<std::uint32_t>> users;  // of each block, in the forked gear
  auto const ended_before = [&](std::vector<std::uint32_t> const& list, std::uint32_t at) {
    return std::all_of(list.begin(), list.end(), [&](auto user) { return forked->before(user, at); });
  };
  auto const bytes = [&](slot const& s) { return s.of.bytes(); };
  for (std::uint32_t at = 0; at < instructions_.size(); ++at) {
    auto const& made = instructions_[at];
    auto const& n = part[made.node];
    std::vector<std::uint32_t> taken;
    for (std::uint32_t o = 0; o < lines_[at].outputs; ++o) {
      auto& s = slots_[slots_of_[made.node][o]];
      if (s.where != place::arena) continue;
      if (s.of.element == dtype::string) {
        s.where = place::held;
        s.index = static_cast<std::uint32_t>(held_slots_.size());
        held_slots_.push_back(slots_of_[made.node][o]);
        continue;
      }
      s.index = none;
      for (auto const& pair : made.run.may_share) {
        if (pair.output != o) continue;
        auto const& in = slots_[slot_of(n.inputs[pair.input])];
        if (in.where != place::arena || in.last != at || bytes(in) != bytes(s)) continue;
        if (std::find(taken.begin(), taken.end(), in.index) != taken.end()) continue;
        if (forked && !std::all_of(users[in.index].begin(), users[in.index].end(),
                                   [&](auto user) { return user == at || forked->before(user, at); }))
          continue;
        s.index = in.index;
        taken.push_back(in.index);
        blocks_[s.index].last = s.last;
        if (forked) {
          auto const& more = forked->users[slots_of_[made.node][o]];
          users[s.index].insert(users[s.index].end(), more.begin(), more.end());
        }
        break;
      }
      if (s.index != none) continue;
      s.index = static_cast<std::uint32_t>(blocks_.size());
      blocks_.push_back({bytes(s), at, s.last, 0});
      if (forked) users.push_back(forked->users[slots_of_[made.node][o]]);
    }
    scratch_.push_back(none);
    if (made.run.scratch() != 0) {
      scratch_.back() = static_cast<std::uint32_t>(blocks_.size());
      blocks_.push_back({made.run.scratch(), at, at, 0});
      if (forked) users.push_back({at});
    }
  }
  memory_.arena = forked ? detail::place_by_size(blocks_,
                                                 [&](auto a, auto b) {
                                                   return !ended_before(users[a], blocks_[b].first) &&
                                                          !ended_before(users[b], blocks_[a].first);
                                                 })
                         : plan_memory(blocks_);
  std::vector<std::size_t> change(instructions_.size() + 2);
  for (auto const& b : blocks_) change[b.first] += b.bytes, change[b.last + 1] -= b.bytes;
  for (std::size_t i = 0, alive = 0; i < change.size(); ++i)
    memory_.least = std::max(memory_.least, alive += change[i]);
}

RILL_INLINE void plan::place_apart() {
  for (std::uint32_t at = 0; at < instructions_.size(); ++at) {
    auto const& made = instructions_[at];
    auto const block = [&](std::size_t size) {
      blocks_.push_back({size, at, at, memory_.arena});
      memory_.arena += detail::aligned_bytes(blocks_.back());
      return static_cast<std::uint32_t>(blocks_.size() - 1);
    };
    for (auto number : slots_of_[made.node]) {
      auto& s = slots_[number];
      if (s.where != place::arena) continue;
      bool const apart = s.of.element == dtype::string;
      s.where = apart ? place::held : place::arena;
      s.index = apart ? static_cast<std::uint32_t>(held_slots_.size()) : block(s.of.bytes());
      if (apart) held_slots_.push_back(number);
    }
    scratch_.push_back(made.run.scratch() != 0 ? block(made.run.scratch()) : none);
  }
}

RILL_INLINE void plan::lay_pointers(subgraph const& part) {
  for (std::size_t at = 0; at < instructions_.size(); ++at) {
    lines_[at].pointers = static_cast<std::uint32_t>(pointers_);
    auto const add = [&](std::uint32_t s) { slots_[s].positions.push_back(static_cast<std::uint32_t>(pointers_++)); };
    for (auto e : part[instructions_[at].node].inputs) {
      if (part[e.node].op->name == "variable" && slots_[slot_of(e)].where != place::owned)
        ++pointers_;  // by reference alone
      else add(slot_of(e));
    }
    for (auto s : slots_of_[instructions_[at].node]) add(s);
    ++pointers_;  // the scratch
  }
  kept_first_ = pointers_;
  for (auto s : kept_) slots_[s].positions.push_back(static_cast<std::uint32_t>(pointers_++));
}

RILL_INLINE void plan::trim() {
  for (auto const& body : bodies_) body->trim();
  if (functions_) functions_->trim();
}

RILL_INLINE void plan::mark_plain() {
  std::vector<bool> more(instructions_.size());
  for (auto const& d : drops_) more[d.after] = true;
  for (std::size_t at = 0; at < instructions_.size(); ++at) {
    auto const& made = instructions_[at];
    if (!more[at] && !made.run.waits && made.owned == none) lines_[at].plain = made.run.called();
  }
}

RILL_INLINE std::string plan::text() const {
  std::string s;
  if (forks()) s = "in the forked gear\n";
  for (std::size_t i = 0; i < instructions_.size(); ++i) s += std::to_string(i) + "  " + names_[i] + "\n";
  return s;
}
#endif

}  // namespace rill
