// One run of a plan: its memory, and the walk over its instructions.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rill/base/pool.hpp"
#include "rill/ops/array/box.hpp"
#include "rill/run/arena_pool.hpp"
#include "rill/run/double_buffer.hpp"
#include "rill/run/fiber_call.hpp"
#include "rill/run/plan/deferred_pieces.hpp"
#include "rill/run/plan/plan.hpp"
#include "rill/run/tagged/primitive_region.hpp"
#include "rill/run/waiting_thread.hpp"

namespace rill {

namespace detail {

class tagged_walk;
class tokens;

/// Makes `why` a step's failure if there is none; whether that was so. One that comes from outside, a deadline or a
/// cancellation, is met nowhere yet: the first that fails by it then says where.
inline bool take_failure(failure& first, bool& met_nowhere, failure why) {
  if (first && !(met_nowhere && why->message().ends_with(first->message()))) return false;
  met_nowhere = false;
  return !std::exchange(first, std::move(why));
}

}  // namespace detail

/// The memory of one run of a plan: pointers, arena, outputs. One thread at a time uses it.
class plan_instance {
 public:
  explicit plan_instance(plan const& p) : plan_(&p), owned_(p.owned_slots_.size()), outputs_(p.output_slots_.size()) {
    pointers().resize(p.pointers_);
    for (auto const& s : p.slots_)
      if (s.where == plan::place::constant) point(s, const_cast<void*>(p.constants_[s.index].raw()));
    for (auto s : p.held_slots_) {
      auto const& of = p.slots_[s].of;
      naming(p.slots_[s].first, [&] { held_.emplace_back(of.element, of.shape(), *p.allocator_); });
      point(p.slots_[s], held_.back().mutable_raw());
    }
  }
  plan_instance(plan_instance const&) = delete;
  plan_instance& operator=(plan_instance const&) = delete;
  ~plan_instance() { give_back_arena(); }

  /// Borrows the arena, if there is to be one, until `give_back_arena`; whoever runs it does so. What is not borrowed
  /// is kept.
  void borrow_arena(step_context const& step) {
    if (plan_->memory_.arena != 0 && !arena_) borrow(step);
  }
  void give_back_arena() noexcept {
    if (lender_) std::exchange(lender_, nullptr)->give_back(std::exchange(arena_, {}));
  }

  /// Runs every instruction; kernels may use all threads of `workers`, and so does the step itself where its plan
  /// forks. Without a workers the calling thread does all. An error carries the node's name, and the plan_instance can
  /// be used again.
  void run(std::span<tensor const> fed, pool* workers, step_context& step) {
    borrow_arena(step);
    prepare(fed);
    releasing([&] {
      if (workers && plan_->forks()) fork(*workers, step);
      else walk(workers ? workers->parallel() : parallel{}, step);
    });
  }
  /// The same for bodies whose results bring their extents.
  void run(std::span<tensor const> fed, parallel const& threads, step_context& step) {
    borrow_arena(step);
    prepare(fed);
    for (std::size_t i = 0; i < outputs_.size(); ++i)  // they may have been pointed elsewhere by `result`
      point(plan_->slots_[plan_->output_slots_[i]], outputs_[i].mutable_raw());
    releasing([&] { walk(threads, step); });
  }

  /// What was fetched, in order; `fed` as it was given to `run`.
  tensor result(std::size_t i, std::span<tensor const> fed) const {
    auto const& f = plan_->fetches_[i];
    auto const& s = plan_->slots_[f.slot];
    if (!s.of.is_known()) return owned_[s.index];
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

  /// For other bodies, in the place of `run`: where argument i lies, and where result i goes.
  void argument(std::size_t i, void const* elements) {
    point(plan_->slots_[plan_->fed_slots_[i]], const_cast<void*>(elements));
    auto& all = places_->arguments;
    if (all.empty()) all.resize(plan_->fed_slots_.size());
    all[i] = elements;
  }
  void result(std::size_t i, void* elements) {
    auto const& f = plan_->fetches_[i];
    auto& all = places_->results;
    if (all.empty()) all.resize(plan_->fetches_.size());
    all[i] = elements;
    if (f.direct) point(plan_->slots_[f.slot], elements);
  }
  /// Goes on with another set of such places, which are at first the same as these.
  void flip() { places_.flip(); }
  /// Walks over a body, then copies the results that are not computed where they are wanted.
  void run_body(parallel const& threads, step_context& step) {
    borrow_arena(step);
    releasing([&] { walk(threads, step); });
    auto const& [_, arguments, results] = *places_;
    for (auto const& c : plan_->copies_) {
      auto const& s = plan_->slots_[plan_->fetches_[c.fetch].slot];
      void const* const from = c.same != plan::none            ? results[c.same]
                               : s.where == plan::place::fed   ? arguments[s.index]
                               : s.where == plan::place::owned ? owned_[s.index].raw()
                                                               : plan_->constants_[s.index].raw();
      auto* const to = results.empty() ? nullptr : results[c.fetch];  // no result may be wanted
      if (to && to != from) ops::copy_elements(c.element, to, from, c.count);
    }
  }

  /// Lets go of what the step handed out: snapshots of variables must not outlive it here.
  void release() {
    places_.rest();
    for (auto& t : owned_)
      if (t) t = tensor();
  }

 private:
  std::vector<void*>& pointers() { return places_->pointers; }
  void point(plan::slot const& s, void* to) {
    for (auto p : s.positions) pointers()[p] = to;
  }
  void borrow(step_context const& step) {
    auto const bytes = plan_->memory_.arena;
    naming(plan_->largest_user(),
           [&] { arena_ = step.arenas ? step.arenas->lend(bytes) : buffer::allocate(bytes, *plan_->allocator_); });
    lender_ = step.arenas;
    if (arena_.data() != base_) lay(static_cast<std::byte*>(base_ = arena_.data()));
  }
  // Points to what lies in the arena.
  void lay(std::byte* base) {
    auto const& p = *plan_;
    places_.for_each([&](places& each) {
      for (auto const& s : p.slots_)
        if (s.where == plan::place::arena && s.index < p.blocks_.size())
          for (auto at : s.positions) each.pointers[at] = base + p.blocks_[s.index].offset;
      for (std::size_t i = 0; i < p.instructions_.size(); ++i)
        if (p.scratch_[i] != plan::none) {
          auto const& made = p.lines_[i];
          each.pointers[made.pointers + made.inputs + made.outputs] = base + p.blocks_[p.scratch_[i]].offset;
        }
    });
  }

  // What a kernel brought must be what the plan was made for: extents may be others because a variable's have changed,
  // all else is the kernel's fault.
  void take(plan::slot const& s, tensor& brought) {
    if (!brought)
      throw error(code::internal, "its kernel gave no tensor where a " + s.of.text() +
                                      " was expected: kernel_call::give is to be called for each output");
    auto const given = brought.type();
    if (accepts(s.of, given)) return point(s, brought.mutable_raw());
    bool const other_kind = given.element != s.of.element || (s.of.has_rank() && given.rank != s.of.rank);
    if (other_kind || plan_->assumed_.empty())
      throw error(code::internal, "its kernel gave a " + given.text() + " where a " + s.of.text() + " was expected");
    throw error(code::aborted, "its value is a " + given.text() + " where the step was made for a " + s.of.text() +
                                   ": a variable's extents changed while it ran");
  }

  void prepare(std::span<tensor const> fed) {
    for (std::size_t i = 0; i < fed.size(); ++i)
      point(plan_->slots_[plan_->fed_slots_[i]], const_cast<void*>(fed[i].raw()));
    for (std::size_t i = 0; i < outputs_.size(); ++i) prepare_output(i);
  }
  template <class F> void releasing(F const& f) {
    struct guard {
      plan_instance& of;
      bool failed = true;
      ~guard() {
        if (failed) of.release();
      }
    } running{*this};
    f();
    running.failed = false;
  }

  // Makes room; an error carries the name of the node whose values it is for, most of it at least.
  template <class F> void naming(std::uint32_t at, F const& make_room) const {
    try {
      make_room();
    } catch (error const& e) {
      throw error(e.code(), e.message(), plan_->names_[at]);
    }
  }

  // Last step's output is written again if the caller has let go of it.
  void prepare_output(std::size_t i) {
    auto const& s = plan_->slots_[plan_->output_slots_[i]];
    if (outputs_[i].storage().unique()) return;
    naming(s.first, [&] { outputs_[i] = tensor(s.of.element, s.of.shape(), *plan_->allocator_); });
    point(s, outputs_[i].mutable_raw());
  }

  // For walks with tags: where a kept value lies, and where output o of an instruction.
  friend class detail::tagged_walk;
  friend class detail::tokens;
  void* kept(std::uint32_t k) const { return places_->pointers[plan_->kept_first_ + k]; }
  tensor const& kept_tensor(std::uint32_t k) const { return owned_[plan_->slots_[plan_->kept_[k]].index]; }
  void* output(std::uint32_t at, std::size_t o = 0) const {
    auto const& line = plan_->lines_[at];
    return places_->pointers[line.pointers + line.inputs + o];
  }
  bool brings(std::uint32_t at) const { return plan_->instructions_[at].owned != plan::none; }
  void bring(std::uint32_t at, tensor t) {
    owned_[plan_->instructions_[at].owned] = std::move(t);
    bring(at);
  }

  friend class parallel_walk;
  void fork(pool& workers, step_context& step);

  // Sequential execution: this thread waits with those that wait, or what runs on a fiber does.
  void walk(parallel const& threads, step_context& step) {
    walk(threads, step, [&](std::uint32_t at) {
      auto const begin = now(step);
      if (step.fiber) call_and_wait(detail::fiber_suspendable(step), at, threads, step);
      else call_and_wait(waiting_thread(step), at, threads, step);
      settle(at, begin, step);
      return true;
    });
  }
  template <class Waiting>
  void call_and_wait(Waiting here, std::uint32_t at, parallel const& threads, step_context& step) {
    start(at, threads, step, &here);
    here.wait();
  }
  // Up to the first instruction that `call_waiting` says is not done; of those that may wait it calls each.
  template <class Call> std::uint32_t walk(parallel const& threads, step_context& step, Call const& call_waiting) {
    bool const may_end = step.can_end_early(), plain = !may_end && !step.watch;
    auto drop = plan_->drops_.begin();
    auto* const first = pointers().data();
    kernel_call next{first, 0, 0, threads, step};
    std::uint32_t at = 0;
    try {
      for (auto const count = plan_->lines_.size(); at < count; ++at) {
        if (auto const& line = plan_->lines_[at]; plain && line.plain.run) {
          next.pointers = first + line.pointers;
          next.inputs = line.inputs;
          next.outputs = line.outputs;
          line.plain.run(line.plain.state, next);
          continue;
        }
        if (may_end) step.check();
        if (!plan_->instructions_[at].run.waits) call(at, threads, step);
        else if (!call_waiting(at)) return at;
        for (; drop != plan_->drops_.end() && drop->after == at; ++drop) owned_[drop->owned] = tensor();
      }
    } catch (error const& e) {
      if (detail::placed_errors::holds(e)) throw;
      name_failure(at);
    } catch (...) {
      name_failure(at);
    }
    return at;
  }

  // Runs one instruction that does not wait.
  void call(std::uint32_t at, parallel const& threads, step_context& step) {
    auto const begin = now(step);
    start(at, threads, step, nullptr);
    settle(at, begin, step);
  }
  void start(std::uint32_t at, parallel const& threads, step_context& step, suspendable* from) {
    auto const& i = plan_->instructions_[at];
    auto const& line = plan_->lines_[at];
    kernel_call call{pointers().data() + line.pointers, line.inputs, line.outputs, threads, step};
    if (i.owned != plan::none) {
      call.owned = owned_.data() + i.owned;
      for (std::size_t o = 0; o < line.outputs; ++o)  // of the iteration before
        if (call.owned[o]) call.owned[o] = tensor();
    }
    call.from = from;
    i.run(call);
  }
  // A kernel is done: takes over what it brought, and reports it.
  using time_point = std::chrono::steady_clock::time_point;
  void settle(std::uint32_t at, time_point begin, step_context& step) {
    bring(at);
    if (step.watch)
      step.watch->node_ran(
          {plan_->names_[at], plan_->operations_[at], step.number, begin, std::chrono::steady_clock::now()});
  }
  void bring(std::uint32_t at) {
    auto const& i = plan_->instructions_[at];
    if (i.owned == plan::none) return;
    for (std::size_t o = 0; o < plan_->lines_[at].outputs; ++o)
      take(plan_->slots_[plan_->owned_slots_[i.owned + o]], owned_[i.owned + o]);
  }
  static time_point now(step_context const& step) {
    return step.watch ? std::chrono::steady_clock::now() : time_point();
  }

  [[noreturn]] void name_failure(std::uint32_t at) const {
    std::string const& node = plan_->names_[at];
    try {
      throw;
    } catch (error const& e) {
      auto const& op = plan_->operations_[at];  // some say themselves where in them it was
      if (op == primitive_region_op.name || (op == deferred_piece_op.name && !e.node().empty())) throw;
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
  struct {
    std::vector<std::uint32_t> waits, holders, ready;
  } counts_;  // of parallel execution, kept for the next step
  buffer arena_;
  arena_pool* lender_ = nullptr;  // of the arena; null: it is our own, or there is none
  void* base_ = nullptr;          // of the arena that is pointed to
  // Where everything lies; the arguments and results are those of bodies.
  struct places {
    std::vector<void*> pointers = {};
    std::vector<void const*> arguments = {};
    std::vector<void*> results = {};
  };
  detail::double_buffer<places> places_;
  std::vector<tensor> owned_, outputs_, held_;
};

}  // namespace rill

#include "rill/run/parallel_walk.hpp"
