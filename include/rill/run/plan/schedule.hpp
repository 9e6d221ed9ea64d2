// Decides whether the instructions of a step run in parallel, and has the counts of parallel execution.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rill/graph/op_def.hpp"
#include "rill/run/plan/costs.hpp"
#include "rill/run/plan/dependencies.hpp"
#include "rill/run/plan/execution.hpp"

namespace rill {

/// The counts of parallel execution. Empty: the instructions run one after the other.
struct parallel_schedule {
  using instruction_id = plan_ids::instruction_id;
  using owned_id = plan_ids::owned_id;
  static constexpr std::uint32_t fetched = UINT32_MAX;

  indexed<instruction_id, std::uint32_t> waits;          ///< the number of instructions that must run first
  std::vector<instruction_id> next;                      ///< the instructions that wait for instruction i:
  indexed<instruction_id, std::uint32_t> first;          ///< next[first[i]] … next[first[i + 1])
  indexed<instruction_id, std::vector<owned_id>> holds;  ///< the owned tensors that each instruction uses
  indexed<owned_id, std::uint32_t> holders;  ///< the number of instructions that use it, or `fetched`: it is a result
  bool alone = false;                        ///< no other thread takes part: only waits make it parallel
  bool one_at_a_time = false;  ///< an instruction begins only while no other runs; waiting ones don't count

  parallel_schedule() = default;
  explicit parallel_schedule(dependencies const& d) : waits(d.size()), first(d.size() + 1) {
    for (auto i : d.instructions()) {
      waits[i] = static_cast<std::uint32_t>(d.before(i).size());
      for (auto b : d.before(i)) ++first[rill::next(b)];
    }
    for (auto i : d.instructions()) first[rill::next(i)] += first[i];
    next.resize(first[waits.end_index()]);
    auto end = first;
    for (auto i : d.instructions())
      for (auto b : d.before(i)) next[end[b]++] = i;
  }
  bool empty() const { return waits.empty(); }
  std::span<instruction_id const> after(instruction_id i) const {
    return std::span(next).subspan(first[i], first[rill::next(i)] - first[i]);
  }
};

/// Why a step runs in parallel, or does not.
struct schedule_reason {
  enum reason : std::uint8_t {
    wish,          ///< the session asks for this execution
    body,          ///< one thread goes through a body
    one_thread,    ///< there is only one thread
    too_many,      ///< there are too many instructions for a table of which runs before which
    gain,          ///< what forking saves is worth it, or is not
    several_wait,  ///< of two kernels that wait, the first may wait for the second
    tagged_node,   ///< a loop or branch in it runs in tagged execution
    tokens,        ///< an iteration in tagged execution: tokens order it
  };
  reason why = wish;
  double gain_ns = 0;  ///< the nanoseconds that forking saves, as far as they were estimated
};

/// Nanoseconds that forking would save with so many threads, at the most. Instructions so large that their own loops
/// use all threads save nothing.
inline double fork_gain(dependencies const& d, indexed<plan_ids::instruction_id, cost> const& costs, int threads) {
  double sum = 0, longest = 0;
  indexed<plan_ids::instruction_id, double> ends(d.size());
  for (auto i : d.instructions()) {
    double const mine = costs::nanoseconds(costs[i]);
    for (auto b : d.before(i)) ends[i] = std::max(ends[i], ends[b]);
    if (mine < costs::own_loops) ends[i] += mine, sum += mine;
    longest = std::max(longest, ends[i]);
  }
  return sum - std::max(longest, sum / threads);
}

/// Returns why a step can't fork; nullopt if it can, or must: of two kernels that wait, the first may wait for the
/// second.
inline std::optional<schedule_reason::reason> reason_not_to_fork(execution wish, std::size_t instructions, int threads,
                                                                 std::size_t waiting) {
  if (wish == execution::sequential) return schedule_reason::wish;
  if (waiting > 1) return std::nullopt;
  if (instructions > costs::most_parallel) return schedule_reason::too_many;
  if (wish != execution::parallel && threads <= 1) return schedule_reason::one_thread;
  return std::nullopt;
}

}  // namespace rill
