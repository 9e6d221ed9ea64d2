// One run of a plan: its memory, and calls of its instructions. Walks call them in some order (sequential_walk.hpp,
// parallel_walk.hpp, tagged/walk.hpp).
#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "rill/device/observer.hpp"
#include "rill/device/running_node.hpp"
#include "rill/run/plan/arena_pool.hpp"
#include "rill/run/plan/deferred_pieces.hpp"
#include "rill/run/plan/double_buffer.hpp"
#include "rill/run/plan/plan.hpp"
#include "rill/run/plan/primitive_region.hpp"
#include "rill/tensor/elements.hpp"

namespace rill {

namespace detail {

/// Makes `why` a step's failure if it has none yet, and returns whether it had none. A deadline or cancellation comes
/// from outside and names no node; the first kernel that fails by it replaces it and names the node.
inline bool take_failure(failure& first, bool& met_nowhere, failure why) {
  bool const from_outside = std::exchange(met_nowhere, false);
  bool const follows = first && why->cause() == cause::asked_for && why->code() == first->code();
  if (first && !(from_outside && follows)) return false;
  return !std::exchange(first, std::move(why));
}

}  // namespace detail

/// The memory of one run of a plan: pointers, arena, outputs. One thread at a time uses it, but walks may call several
/// instructions at once.
class plan_instance {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  using instruction_id = rill::plan::instruction_id;
  /// The counts of parallel execution, kept for the next step.
  struct counts {
    indexed<instruction_id, std::uint32_t> waits;
    indexed<rill::plan::owned_id, std::uint32_t> holders;
    std::vector<instruction_id> ready, to_enqueue;
  };

  explicit plan_instance(rill::plan const& p)
      : plan_(&p), owned_(p.owned_slots.size()), outputs_(p.output_slots.size()) {
    pointers().resize(p.pointed.size());
    for (auto const& s : p.all_slots)
      if (auto const* const c = std::get_if<rill::plan::constant_id>(&s.where))
        point(s, const_cast<void*>(p.constants[*c].raw()));
    for (auto id : p.held_slots) {
      auto const& s = p.all_slots[id];
      naming(s.first, [&] { held_.emplace_back(s.of.element, s.of.shape(), *p.allocator); });
      point(s, held_.back().mutable_raw());
    }
  }
  plan_instance(plan_instance const&) = delete;
  plan_instance& operator=(plan_instance const&) = delete;
  ~plan_instance() { give_back_arena(); }

  rill::plan const& plan() const { return *plan_; }

  // Memory.

  /// Borrows the arena, if there is to be one, until `give_back_arena`.
  void borrow_arena(step_context const& step) {
    if (plan_->memory.arena != 0 && !arena_) borrow(step);
  }
  void give_back_arena() noexcept {
    if (lender_) std::exchange(lender_, nullptr)->give_back(std::exchange(arena_, {}));
  }
  /// Points to what is fed and to the outputs, of which there are new ones where the caller still has last step's.
  void prepare(std::span<tensor const> fed) {
    std::size_t i = 0;
    for (auto s : plan_->fed_slots) point(plan_->all_slots[s], const_cast<void*>(fed[i++].raw()));
    for (auto id : plan_->output_slots.indices()) prepare_output(id);
  }
  /// Does the same for a body, whose results may have been pointed elsewhere by `result`.
  void prepare_body(std::span<tensor const> fed) {
    prepare(fed);
    for (auto id : plan_->output_slots.indices())
      point(plan_->all_slots[plan_->output_slots[id]], outputs_[id].mutable_raw());
  }
  /// Prepares a walk: the arena, the feeds and the outputs.
  void begin(std::span<tensor const> fed, step_context const& step) {
    borrow_arena(step);
    prepare(fed);
  }
  /// Drops the tensors that kernels allocated, because snapshots of variables must not outlive the step.
  void release() {
    places_.rest();
    for (auto& t : owned_)
      if (t) t = tensor();
  }
  /// Drops the outputs, which are kept for the next step otherwise.
  void drop_outputs() {
    for (auto& t : outputs_)
      if (t) t = tensor();
  }
  void drop(rill::plan::owned_id id) { owned_[id] = tensor(); }
  /// Returns the first tensor that is dropped after instruction `at`, or later.
  auto first_drop(instruction_id at) const {
    return std::partition_point(plan_->drops.begin(), plan_->drops.end(), [&](auto const& d) { return d.after < at; });
  }
  /// Drops the tensors that no instruction uses after this one.
  void drop_after(instruction_id at) {
    for (auto d = first_drop(at); d != plan_->drops.end() && d->after == at; ++d) drop(d->owned);
  }

  /// Returns result i; `fed` are the feeds that `prepare` was called with.
  tensor result(std::size_t i, std::span<tensor const> fed) const {
    using p = rill::plan;
    auto const& f = plan_->fetches.all()[i];
    auto const& s = plan_->all_slots[f.slot];
    if (auto const* const id = std::get_if<p::output_id>(&s.where)) return outputs_[*id].reshaped(f.shape);
    if (auto const* const id = std::get_if<p::owned_id>(&s.where))
      return s.of.is_known() ? owned_[*id].reshaped(f.shape) : owned_[*id];
    auto const* const id = std::get_if<p::feed_id>(&s.where);
    auto const& same = id ? fed[as_integer(*id)] : plan_->constants[std::get<p::constant_id>(s.where)];
    // What a region is fed is borrowed by its address, and lies in the device's memory as the result does.
    if (auto* const there = plan_->allocator->space(); id && there && !same.space()) {
      tensor made(same.element(), same.shape(), *plan_->allocator);
      copy_bytes(there, made.storage().data(), there, same.raw(), same.bytes());
      return made.reshaped(f.shape);
    }
    return same.clone(*plan_->allocator).reshaped(f.shape);
  }
  std::size_t results() const { return plan_->fetches.size(); }

  // Bodies. In place of `prepare`, the caller sets the addresses of argument i and of result i.

  void argument(std::size_t i, void const* elements) {
    point(plan_->all_slots[plan_->fed_slots.all()[i]], const_cast<void*>(elements));
    auto& all = places_->arguments;
    if (all.empty()) all.resize(plan_->fed_slots.size());
    all[i] = elements;
  }
  void result(std::size_t i, void* elements) {
    auto const& f = plan_->fetches.all()[i];
    auto& all = places_->results;
    if (all.empty()) all.resize(plan_->fetches.size());
    all[i] = elements;
    if (f.direct) point(plan_->all_slots[f.slot], elements);
  }
  /// Switches to another set of addresses, which begins as a copy of this one.
  void flip() { places_.flip(); }
  /// Copies the results that no kernel writes to the caller's memory.
  void copy_results() {
    auto const& [_, arguments, results] = *places_;
    for (auto const& c : plan_->copies) {
      auto* const to = results.empty() ? nullptr : results[as_integer(c.to)];  // no result may be wanted
      if (!to) continue;
      auto const* const from = c.from != no_index<rill::plan::fetch_id>
                                   ? results[as_integer(c.from)]
                                   : elements_of(plan_->all_slots[plan_->fetches[c.to].slot].where, arguments);
      if (to != from) copy_elements(c.element, to, from, c.count);
    }
  }

  // Calls. An instruction is called between `now` and `finish`; `call` is both, for kernels that don't wait.

  static time_point now(step_context const& step) {
    return step.watch ? std::chrono::steady_clock::now() : time_point();
  }
  /// Calls an instruction's kernel, which may wait by `from` and leave a failure in `carried`.
  void start(instruction_id at, parallel const& threads, step_context& step, suspendable* from,
             failure* carried = nullptr) {
    auto const& i = plan_->instructions[at];
    auto const& line = plan_->lines[at];
    kernel_call call{first_pointer() + as_integer(line.pointers), line.inputs, line.outputs, threads, step};
    if (i.owned != no_index<rill::plan::owned_id>) {
      call.owned = &owned_[i.owned];
      for (std::size_t o = 0; o < line.outputs; ++o)  // of the iteration before
        if (call.owned[o]) call.owned[o] = tensor();
    }
    call.from = from;
    call.carried = carried;
    if (!step.progress) return run(i, line, call);
    detail::running_node::scope const now(step.progress, plan_->name(at));
    run(i, line, call);
  }
  /// Takes the outputs of a kernel that is done, and reports the call to the observer.
  void finish(instruction_id at, time_point begin, step_context& step) {
    take_owned(at);
    if (step.watch)
      step.watch->node_ran(
          {plan_->name(at), plan_->operations[at], step.number, begin, std::chrono::steady_clock::now()});
  }
  void call(instruction_id at, parallel const& threads, step_context& step) {
    auto const begin = now(step);
    start(at, threads, step, nullptr);
    finish(at, begin, step);
  }
  /// Calls a kernel that carries failures. Returns the failure that it has left; null: it is done.
  failure call_carrying(instruction_id at, parallel const& threads, step_context& step) {
    auto const begin = now(step);
    failure left;
    start(at, threads, step, nullptr, &left);
    if (!left) finish(at, begin, step);
    return left;
  }
  void** first_pointer() { return pointers().all().data(); }

  /// Rethrows what an instruction threw, as an error that names its node.
  [[noreturn]] void name_failure(instruction_id at) const {
    std::string const& node = plan_->name(at);
    try {
      throw;
    } catch (error const& e) {
      auto const& op = plan_->operations[at];  // some say themselves where in them it was
      if (plan_->instructions[at].run.names_nodes && !e.node().empty()) throw;
      if (op == primitive_region_op.name || (op == deferred_piece_op.name && !e.node().empty())) throw;
      throw error(e.kind(), e.message(), node, e.device());
    } catch (std::bad_alloc const&) {
      throw error(code::resource_exhausted, "no memory", node);
    } catch (std::system_error const& e) {
      throw error(code::internal, "a kernel threw: " + system_text(e), node);
    } catch (std::exception const& e) {
      throw error(code::internal, std::string("a kernel threw: ") + e.what(), node);
    } catch (...) {
      throw error(code::internal, "a kernel threw an object that is not a std::exception", node);
    }
  }

  /// Returns what `f`, a part of an instruction, throws, with the node's name; null: nothing.
  template <class F> failure caught(instruction_id at, F const& f) const {
    try {
      try {
        f();
      } catch (...) {
        name_failure(at);
      }
    } catch (...) {
      return caught_failure();
    }
    return nullptr;
  }

  // Tagged execution.

  /// Returns where a kept value lies.
  void* kept(rill::plan::kept_id k) const { return places_->pointers[plan_->read[k]]; }
  tensor const& kept_tensor(rill::plan::kept_id k) const {
    return owned_[std::get<rill::plan::owned_id>(plan_->all_slots[plan_->kept[k]].where)];
  }
  /// Returns where output o of an instruction lies.
  void* output(instruction_id at, std::size_t o = 0) const { return places_->pointers[plan_->lines[at].output(o)]; }
  /// Whether an instruction allocates its outputs.
  bool allocates(instruction_id at) const { return plan_->instructions[at].owned != no_index<rill::plan::owned_id>; }
  /// Makes `t` the first output of an instruction, as if its kernel had given it.
  void give(instruction_id at, tensor t) {
    owned_[plan_->instructions[at].owned] = std::move(t);
    take_owned(at);
  }
  counts& parallel_counts() { return counts_; }

 private:
  // All addresses. Arguments and results are used by bodies only.
  struct places {
    indexed<rill::plan::pointer_id, void*> pointers = {};
    std::vector<void const*> arguments = {};
    std::vector<void*> results = {};
  };

  void run(rill::plan::instruction const& i, rill::plan::line const& line, kernel_call& call) const {
    if (i.run.keeps_input) return start_keeping(i, line, call);
    i.run(call);
  }
  // Calls a kernel that keeps its input. An arena that belongs to a pool may be kept longer than the step: the pool
  // gets it back only when nobody else has it.
  void start_keeping(rill::plan::instruction const& i, rill::plan::line const& line, kernel_call& call) const {
    tensor kept;
    auto const& s = plan_->all_slots[plan_->pointed[line.input(0)]];
    if (auto const* const id = std::get_if<rill::plan::owned_id>(&s.where)) kept = owned_[*id];
    else if (auto const* const b = std::get_if<rill::plan::block_id>(&s.where); b && lender_)
      kept = tensor(s.of.element, s.of.shape(), arena_, plan_->blocks[*b].offset);
    if (kept) call.kept = &kept;
    i.run(call);
  }
  indexed<rill::plan::pointer_id, void*>& pointers() { return places_->pointers; }
  void point(rill::plan::slot const& s, void* to) {
    for (auto p : s.positions) pointers()[p] = to;
  }
  void const* elements_of(rill::plan::location const& where, std::vector<void const*> const& arguments) const {
    if (auto const* const id = std::get_if<rill::plan::feed_id>(&where)) return arguments[as_integer(*id)];
    if (auto const* const id = std::get_if<rill::plan::owned_id>(&where)) return owned_[*id].raw();
    return plan_->constants[std::get<rill::plan::constant_id>(where)].raw();
  }

  void borrow(step_context const& step) {
    auto const bytes = plan_->memory.arena;
    naming(largest_user(),
           [&] { arena_ = step.arenas ? step.arenas->lend(bytes) : buffer::allocate(bytes, *plan_->allocator); });
    lender_ = step.arenas;
    if (auto* const base = arena_.data(); base != base_) lay(static_cast<std::byte*>(detail::reached(base_ = base)));
  }
  // The instruction that needs the most of the arena.
  instruction_id largest_user() const {
    auto const& all = plan_->blocks;
    return std::max_element(all.begin(), all.end(), [](auto const& a, auto const& b) { return a.bytes < b.bytes; })
        ->first;
  }
  // Sets the pointers to the values in the arena.
  void lay(std::byte* base) {
    auto const& p = *plan_;
    auto const at = [&](rill::plan::block_id b) { return base + p.blocks[b].offset; };
    places_.for_each([&](places& each) {
      for (auto const& s : p.all_slots)
        if (auto const* const b = std::get_if<rill::plan::block_id>(&s.where))
          for (auto position : s.positions) each.pointers[position] = at(*b);
      for (auto i : p.instructions.indices())
        if (auto const scratch = p.scratch[i]; scratch != no_index<rill::plan::block_id>)
          each.pointers[p.lines[i].scratch()] = at(scratch);
    });
  }

  // Reuses the last step's output if the caller has released it, and allocates a new one otherwise.
  void prepare_output(rill::plan::output_id id) {
    auto const& s = plan_->all_slots[plan_->output_slots[id]];
    if (outputs_[id].storage().unique()) return;
    naming(s.first, [&] { outputs_[id] = tensor(s.of.element, s.of.shape(), *plan_->allocator); });
    point(s, outputs_[id].mutable_raw());
  }
  void take_owned(instruction_id at) {
    auto const owned = plan_->instructions[at].owned;
    if (owned == no_index<rill::plan::owned_id>) return;
    for (std::uint32_t o = 0; o < plan_->lines[at].outputs; ++o) {
      auto const id = as_index<rill::plan::owned_id>(as_integer(owned) + o);
      take(plan_->all_slots[plan_->owned_slots[id]], owned_[id]);
    }
  }
  // Takes a tensor that a kernel allocated, and checks its type. Other extents may come from a variable that has
  // changed meanwhile; any other difference is the kernel's fault.
  void take(rill::plan::slot const& s, tensor& brought) {
    if (!brought)
      throw error(code::internal, "its kernel gave no tensor where " + with_article(s.of) +
                                      " was expected: call kernel_call::give for each output");
    auto const given = brought.type();
    if (accepts(s.of, given)) return point(s, brought.mutable_raw());
    bool const other_kind = given.element != s.of.element || (s.of.has_rank() && given.rank != s.of.rank);
    if (other_kind || plan_->assumed.empty())
      throw error(code::internal,
                  "its kernel gave " + with_article(given) + " where " + with_article(s.of) + " was expected");
    throw error(code::aborted, "its value is " + with_article(given) + " where the step was made for " +
                                   with_article(s.of) + ": a variable's extents changed while it ran");
  }
  // Calls `make_room`; an error names the node of an instruction for which memory is needed.
  template <class F> void naming(instruction_id at, F const& make_room) const {
    try {
      make_room();
    } catch (error const& e) {
      throw error(e.kind(), e.message(), plan_->name(at), e.device());
    }
  }

  rill::plan const* plan_;
  counts counts_;
  buffer arena_;
  arena_pool* lender_ = nullptr;  // the pool of the arena; null: the instance owns the arena, or has none
  void* base_ = nullptr;          // the address of the arena that the pointers are set for
  detail::double_buffer<places> places_;
  indexed<rill::plan::owned_id, tensor> owned_;
  indexed<rill::plan::output_id, tensor> outputs_;
  std::vector<tensor> held_;
};

}  // namespace rill
