// Sequential execution: calls one instruction after the other.
#pragma once
#include <cstdint>
#include <utility>

#include "rill/run/plan/plan_instance.hpp"
#include "rill/run/wait/fiber_call.hpp"
#include "rill/run/wait/waiting_thread.hpp"

namespace rill {

namespace detail {

/// Calls the instructions from `at` on in their order, up to the first for which `call_waiting` returns false: it is
/// asked to call those that may wait, and says whether they are done. Returns that instruction, or the index
/// after the last. A failure that is left where `step.carried` points ends the walk, too; the caller looks there.
template <class Call>
plan::instruction_id walk_in_order(plan_instance& on, plan::instruction_id at, parallel const& threads,
                                   step_context& step, Call const& call_waiting) {
  auto const& p = on.plan();
  auto* const carried = std::exchange(step.carried, nullptr);
  bool const may_end = step.can_end_early(), plain = !may_end && !step.watch;
  auto drop = at == plan::instruction_id{} ? p.drops.begin() : on.first_drop(at);
  auto* const first = on.first_pointer();
  kernel_call next{first, 0, 0, threads, step};
  try {
    for (auto const end = p.lines.end_index(); at != end; at = rill::next(at)) {
      if (auto const& line = p.lines[at]; plain && line.plain.run) {
        next.pointers = first + as_integer(line.pointers);
        next.inputs = line.inputs;
        next.outputs = line.outputs;
        line.plain.run(line.plain.state, next);
        continue;
      }
      if (may_end) step.check();
      if (auto const& run = p.instructions[at].run; run.waits) {
        if (!call_waiting(at)) return at;
      } else if (!run.carries_failures) {
        on.call(at, threads, step);
      } else if (auto left = on.call_carrying(at, threads, step)) {
        if (!carried) throw error(*left);
        *carried = std::move(left);
        return at;
      }
      for (; drop != p.drops.end() && drop->after == at; ++drop) on.drop(drop->owned);
    }
  } catch (error const& e) {
    if (placed_errors::holds(e)) throw;
    on.name_failure(at);
  } catch (...) {
    on.name_failure(at);
  }
  return at;
}

}  // namespace detail

/// Runs all instructions. If a kernel waits, the calling thread or fiber waits too.
inline void run_sequentially(plan_instance& on, parallel const& threads, step_context& step) {
  auto const call_and_wait = [&](auto here, plan::instruction_id at) {
    on.start(at, threads, step, &here);
    here.wait();
  };
  detail::walk_in_order(on, {}, threads, step, [&](plan::instruction_id at) {
    auto const begin = plan_instance::now(step);
    if (step.fiber) call_and_wait(detail::fiber_wait(step), at);
    else call_and_wait(waiting_thread(step), at);
    on.finish(at, begin, step);
    return true;
  });
}

}  // namespace rill
