// A step, compiled: flat arrays of kernels and pointers, every value's place settled (architecture.md, idea 6).
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "rill/device/step.hpp"
#include "rill/graph/subgraph.hpp"
#include "rill/run/memory.hpp"
#include "rill/run/observer.hpp"
#include "rill/run/order.hpp"
#include "rill/state/container.hpp"

namespace rill {

/// A part of a graph as flat arrays. It never changes; what a step writes is in its `activation`.
class plan {
 public:
  /// `part` must be bound: all extents known. Its kernels are made for at most so many threads.
  plan(subgraph const& part, container& state, std::uint64_t seed, allocator& memory = host_allocator(),
       int threads = 1);

  struct memory_report {
    std::size_t arena = 0;  ///< bytes of the arena of one activation
    std::size_t least = 0;  ///< the most bytes of arena values that are alive at one instruction
    std::size_t held = 0;   ///< bytes of constants
  };
  memory_report const& memory() const { return memory_; }
  std::size_t instructions() const { return instructions_.size(); }
  std::vector<type> const& fed() const { return fed_; }
  /// Whether variables of open extents still have those that the plan was made for.
  bool holds() const;
  /// The plan as text, an instruction a line.
  std::string text() const;

  friend class activation;

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  enum class place : std::uint8_t { arena, constant, fed, owned, output, held };
  struct slot {
    place where = place::arena;
    type of;
    std::uint32_t index = 0;            // of the block, constant, feed, owned tensor, output or held tensor
    std::uint32_t first = 0, last = 0;  // instructions
    bool used = false;
    std::vector<std::uint32_t> positions;  // among the pointers
  };
  struct instruction {
    kernel run;
    std::uint32_t pointers = 0;  // where its pointers start
    std::uint16_t inputs = 0, outputs = 0;
    std::uint32_t owned = none;  // its first owned output
    std::uint32_t node = 0;
  };
  struct fetch {
    std::uint32_t slot;
    rill::shape shape;
  };
  struct drop {
    std::uint32_t after, owned;
  };

  void make_slots(subgraph const&);
  void make_instructions(subgraph const&, container&, std::uint64_t seed, int threads);
  void assume(node const&, container&);
  void mark_outputs(subgraph const&);
  void place_values(subgraph const&);
  void lay_pointers(subgraph const&);
  std::uint32_t slot_of(endpoint e) const { return slots_of_[e.node][e.port]; }

  std::vector<instruction> instructions_;
  std::vector<std::string> names_;  // of each instruction's node
  std::vector<std::string_view> operations_;
  std::vector<slot> slots_;
  std::vector<std::vector<std::uint32_t>> slots_of_;  // by node and port; emptied when the plan is made
  std::vector<std::uint32_t> order_;
  std::vector<memory_block> blocks_;
  std::vector<std::uint32_t> scratch_;  // block of each instruction's scratch
  std::vector<tensor> constants_;
  std::vector<type> fed_;
  std::vector<std::uint32_t> fed_slots_, owned_slots_, output_slots_, held_slots_;
  std::vector<fetch> fetches_;
  std::vector<std::pair<std::shared_ptr<variable_state>, rill::shape>> assumed_;
  std::vector<drop> drops_;  // by instruction
  std::size_t pointers_ = 0;
  allocator* allocator_;
  memory_report memory_;
};

/// The memory of one run of a plan: pointers, arena, outputs. One thread at a time uses it.
class activation {
 public:
  explicit activation(plan const& p)
      : plan_(&p), pointers_(p.pointers_), owned_(p.owned_slots_.size()), outputs_(p.output_slots_.size()) {
    if (p.memory_.arena != 0) arena_ = buffer::allocate(p.memory_.arena, *p.allocator_);
    auto* base = static_cast<std::byte*>(arena_.data());
    for (auto const& s : p.slots_) {
      if (s.where == plan::place::arena && s.index < p.blocks_.size()) point(s, base + p.blocks_[s.index].offset);
      if (s.where == plan::place::constant) point(s, const_cast<void*>(p.constants_[s.index].raw()));
    }
    for (auto s : p.held_slots_) {
      held_.emplace_back(p.slots_[s].of.element, p.slots_[s].of.shape());
      point(p.slots_[s], held_.back().mutable_raw());
    }
    for (std::size_t i = 0; i < p.instructions_.size(); ++i)
      if (p.scratch_[i] != plan::none) {
        auto const& made = p.instructions_[i];
        pointers_[made.pointers + made.inputs + made.outputs] = base + p.blocks_[p.scratch_[i]].offset;
      }
  }

  /// Runs every instruction on the calling thread; kernels may use `threads`. An error carries the node's name, and the
  /// activation can be used again.
  void run(std::span<tensor const> fed, parallel const& threads, step_context& step) {
    for (std::size_t i = 0; i < fed.size(); ++i)
      point(plan_->slots_[plan_->fed_slots_[i]], const_cast<void*>(fed[i].raw()));
    for (std::size_t i = 0; i < outputs_.size(); ++i) prepare_output(i);
    std::size_t at = 0;
    try {
      walk(at, threads, step);
    } catch (...) {
      for (auto& t : owned_) t = tensor();
      name_failure(at);
    }
  }

  /// What was fetched, in order; `fed` as it was given to `run`.
  tensor result(std::size_t i, std::span<tensor const> fed) const {
    auto const& f = plan_->fetches_[i];
    auto const& s = plan_->slots_[f.slot];
    switch (s.where) {
      case plan::place::output:
        return outputs_[s.index].reshaped(f.shape);
      case plan::place::owned:
        return owned_[s.index].reshaped(f.shape);
      case plan::place::fed:
        return fed[s.index].clone().reshaped(f.shape);
      default:
        return plan_->constants_[s.index].clone().reshaped(f.shape);
    }
  }
  std::size_t results() const { return plan_->fetches_.size(); }

  /// Lets go of what the step handed out: snapshots of variables must not outlive it here.
  void release() {
    for (auto& t : owned_)
      if (t) t = tensor();
  }

 private:
  void point(plan::slot const& s, void* to) {
    for (auto p : s.positions) pointers_[p] = to;
  }

  // What a kernel brought must be what the plan was made for.
  void take(plan::slot const& s, tensor& brought) {
    if (brought.shape() != s.of.shape())
      throw error(code::aborted, "its value is a " + brought.type().text() + " where the step was made for a " +
                                     s.of.text() + ": a variable's extents changed while it ran");
    point(s, brought.mutable_raw());
  }

  // Last step's output is written again if the caller has let go of it.
  void prepare_output(std::size_t i) {
    auto const& s = plan_->slots_[plan_->output_slots_[i]];
    if (outputs_[i].storage().unique()) return;
    outputs_[i] = tensor(s.of.element, s.of.shape(), *plan_->allocator_);
    point(s, outputs_[i].mutable_raw());
  }

  void walk(std::size_t& at, parallel const& threads, step_context& step) {
    bool const may_end = step.can_end_early();
    auto drop = plan_->drops_.begin();
    for (auto const count = plan_->instructions_.size(); at < count; ++at) {
      auto const& i = plan_->instructions_[at];
      if (may_end) step.check();
      auto const begin = step.watch ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
      kernel_call call{pointers_.data() + i.pointers, i.inputs, i.outputs, threads, step};
      if (i.owned != plan::none) {
        call.owned = owned_.data() + i.owned;
        i.run(call);
        for (std::size_t o = 0; o < i.outputs; ++o)
          take(plan_->slots_[plan_->owned_slots_[i.owned + o]], call.owned[o]);
      } else i.run(call);
      if (step.watch)
        step.watch->node_ran(
            {plan_->names_[at], plan_->operations_[at], step.number, begin, std::chrono::steady_clock::now()});
      for (; drop != plan_->drops_.end() && drop->after == at; ++drop) owned_[drop->owned] = tensor();
    }
  }

  [[noreturn]] void name_failure(std::size_t at) const {
    std::string const node = at < plan_->names_.size() ? plan_->names_[at] : "";
    try {
      throw;
    } catch (error const& e) {
      throw error(e.code(), e.message(), node);
    } catch (std::bad_alloc const&) {
      throw error(code::resource_exhausted, "no memory", node);
    } catch (std::exception const& e) {
      throw error(code::internal, std::string("a kernel threw: ") + e.what(), node);
    } catch (...) {
      throw error(code::internal, "a kernel threw something that is no exception", node);
    }
  }

  plan const* plan_;
  buffer arena_;
  std::vector<void*> pointers_;
  std::vector<tensor> owned_, outputs_, held_;
};

#if RILL_RUNTIME
RILL_INLINE plan::plan(subgraph const& part, container& state, std::uint64_t seed, allocator& memory, int threads)
    : allocator_(&memory) {
  order_ = order(part).nodes;
  make_slots(part);
  make_instructions(part, state, seed, threads);
  mark_outputs(part);
  place_values(part);
  lay_pointers(part);
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
      if (!n.outputs[port].is_known() && n.op->name != "variable")  // which may be taken by reference alone
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

RILL_INLINE void plan::make_instructions(subgraph const& part, container& state, std::uint64_t seed, int threads) {
  std::vector<bool> read(part.size());  // variables that somebody reads by value
  for (auto const& n : part.nodes)
    for (std::size_t k = 0; k < n.inputs.size(); ++k)
      if (!takes_reference(n, k)) read[n.inputs[k].node] = true;
  for (auto e : part.outputs) read[e.node] = true;
  std::vector<type> inputs;
  for (auto i : order_) {
    auto const& n = part[i];
    if (n.op == &fed_op || n.op->passes_through) continue;
    if (n.op->name == "variable") {
      if (!read[i]) continue;
      assume(n, state);
    }
    if (n.op->name == "constant") {
      auto& s = slots_[slots_of_[i][0]];
      s.where = place::constant;
      s.index = static_cast<std::uint32_t>(constants_.size());
      constants_.push_back(std::get<tensor>(n.attributes[0].second));
      memory_.held += constants_.back().bytes();
      continue;
    }
    if (n.op->cpu == nullptr)
      throw error(code::unimplemented, "the operation " + std::string(n.op->name) + " has no kernel for this device",
                  n.name);
    inputs.clear();
    std::vector<std::shared_ptr<variable_state>> variables(n.inputs.size());
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      inputs.push_back(part.type_of(n.inputs[k]));
      auto const& from = part[n.inputs[k].node];
      if (!takes_reference(n, k)) continue;
      if (from.op->name == "variable")
        variables[k] = state.variable(from.name, std::get<type>(from.attributes[0].second));
      else if (n.op->effect == effect::writes)
        throw error(code::invalid_argument, "input " + std::to_string(k) + " must be a variable", n.name);
    }
    instruction made;
    try {
      made.run = n.op->cpu({n, inputs, n.outputs, variables, state, seed, threads});
    } catch (error const& e) {
      throw error(e.code(), e.message(), n.name);
    }
    made.node = i;
    made.inputs = static_cast<std::uint16_t>(n.inputs.size());
    made.outputs = static_cast<std::uint16_t>(n.outputs.size());
    auto const at = static_cast<std::uint32_t>(instructions_.size());
    for (auto s : slots_of_[i]) slots_[s].first = slots_[s].last = at;
    for (std::size_t k = 0; k < n.inputs.size(); ++k)
      if (!variables[k]) {
        auto& s = slots_[slot_of(n.inputs[k])];
        s.used = true;
        if (k >= 32 || (n.op->shape_only >> k & 1u) == 0) s.last = std::max(s.last, at);
      }
    instructions_.push_back(std::move(made));
    names_.push_back(n.name);
    operations_.push_back(n.op->name);
  }
}

// A variable whose declared extents are open is read with those that it has now.
RILL_INLINE void plan::assume(node const& n, container& state) {
  auto const& declared = std::get<type>(n.attributes[0].second);
  if (declared.is_known()) return;
  auto v = state.variable(n.name, declared);
  v->inspect([](tensor const&) {});  // refuses one without a value
  assumed_.emplace_back(std::move(v), n.outputs[0].shape());
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
    if (from.where == place::arena) {
      from.where = place::output;
      from.index = static_cast<std::uint32_t>(output_slots_.size());
      output_slots_.push_back(s);
    }
    fetches_.push_back({s, part.type_of(e).shape()});
  }
  for (auto s : owned_slots_)
    if (slots_[s].last < end) drops_.push_back({slots_[s].last, slots_[s].index});
  std::sort(drops_.begin(), drops_.end(), [](drop const& a, drop const& b) { return a.after < b.after; });
}

// Blocks of the arena; an output takes over the block of an input that ends here where the kernel allows it.
RILL_INLINE void plan::place_values(subgraph const& part) {
  auto const bytes = [&](slot const& s) {
    return static_cast<std::size_t>(elements(s.of.shape())) * size_of(s.of.element);
  };
  for (std::uint32_t at = 0; at < instructions_.size(); ++at) {
    auto const& made = instructions_[at];
    auto const& n = part[made.node];
    std::vector<std::uint32_t> taken;
    for (std::uint32_t o = 0; o < made.outputs; ++o) {
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
        s.index = in.index;
        taken.push_back(in.index);
        blocks_[s.index].last = s.last;
        break;
      }
      if (s.index != none) continue;
      s.index = static_cast<std::uint32_t>(blocks_.size());
      blocks_.push_back({bytes(s), at, s.last, 0});
    }
    scratch_.push_back(none);
    if (made.run.scratch() != 0) {
      scratch_.back() = static_cast<std::uint32_t>(blocks_.size());
      blocks_.push_back({made.run.scratch(), at, at, 0});
    }
  }
  memory_.arena = plan_memory(blocks_);
  std::vector<std::size_t> change(instructions_.size() + 2);
  for (auto const& b : blocks_) change[b.first] += b.bytes, change[b.last + 1] -= b.bytes;
  for (std::size_t i = 0, alive = 0; i < change.size(); ++i)
    memory_.least = std::max(memory_.least, alive += change[i]);
}

RILL_INLINE void plan::lay_pointers(subgraph const& part) {
  for (std::size_t at = 0; at < instructions_.size(); ++at) {
    auto& made = instructions_[at];
    made.pointers = static_cast<std::uint32_t>(pointers_);
    auto const add = [&](std::uint32_t s) { slots_[s].positions.push_back(static_cast<std::uint32_t>(pointers_++)); };
    for (auto e : part[made.node].inputs) {
      if (part[e.node].op->name == "variable" && slots_[slot_of(e)].where != place::owned)
        ++pointers_;  // by reference alone
      else add(slot_of(e));
    }
    for (auto s : slots_of_[made.node]) add(s);
    ++pointers_;  // the scratch
  }
}

RILL_INLINE std::string plan::text() const {
  std::string s;
  for (std::size_t i = 0; i < instructions_.size(); ++i) s += std::to_string(i) + "  " + names_[i] + "\n";
  return s;
}
#endif

}  // namespace rill
