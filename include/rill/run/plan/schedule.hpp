// When the instructions of a step run in parallel, and the counts that they then run by.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "rill/graph/op_def.hpp"
#include "rill/run/plan/costs.hpp"
#include "rill/run/plan/dependencies.hpp"
#include "rill/run/plan/execution.hpp"

namespace rill {

/// What parallel execution counts down. Empty: the instructions run one after the other.
struct parallel_schedule {
  std::vector<std::uint32_t> waits;  ///< of each instruction: the number of instructions that must run first
  std::vector<std::uint32_t> next;   ///< the instructions that wait for instruction i:
  std::vector<std::uint32_t> first;  ///< next[first[i]] … next[first[i + 1])
  std::vector<std::vector<std::uint32_t>> holds;  ///< the owned tensors that each instruction uses
  std::vector<std::uint32_t> holders;  ///< of each owned tensor: the number of users; UINT32_MAX: it is fetched
  bool alone = false;                  ///< no other thread takes part: only waits make it parallel
  bool one_at_a_time = false;          ///< an instruction begins only while no other runs; waiting ones don't count

  parallel_schedule() = default;
  explicit parallel_schedule(dependencies const& d) : waits(d.size()), first(d.size() + 1) {
    for (std::uint32_t i = 0; i < d.size(); ++i) {
      waits[i] = static_cast<std::uint32_t>(d.before(i).size());
      for (auto b : d.before(i)) ++first[b + 1];
    }
    for (std::size_t i = 0; i < d.size(); ++i) first[i + 1] += first[i];
    next.resize(first.back());
    auto end = first;
    for (std::uint32_t i = 0; i < d.size(); ++i)
      for (auto b : d.before(i)) next[end[b]++] = i;
  }
  bool empty() const { return waits.empty(); }
  std::span<std::uint32_t const> after(std::uint32_t i) const {
    return std::span(next).subspan(first[i], first[i + 1] - first[i]);
  }
};

/// Nanoseconds that forking would save with so many threads, at the most. Instructions so large that their own loops
/// use all threads save nothing.
inline double fork_gain(dependencies const& d, std::span<cost const> costs, int threads) {
  double sum = 0, longest = 0;
  std::vector<double> ends(d.size());
  for (std::uint32_t i = 0; i < d.size(); ++i) {
    double const mine = costs::nanoseconds(costs[i]);
    for (auto b : d.before(i)) ends[i] = std::max(ends[i], ends[b]);
    if (mine < costs::own_loops) ends[i] += mine, sum += mine;
    longest = std::max(longest, ends[i]);
  }
  return sum - std::max(longest, sum / threads);
}

/// Whether a step can fork at all, or must: of two that wait, the first may wait for the second.
inline bool may_fork(execution wish, std::size_t instructions, int threads, std::size_t waiting) {
  if (wish == execution::sequential) return false;
  return waiting > 1 || (instructions <= costs::most_parallel && (wish == execution::parallel || threads > 1));
}

/// Whether forking saves more than it costs.
inline bool pays_to_fork(dependencies const& d, std::span<cost const> costs, int threads) {
  return fork_gain(d, costs, threads) > costs::least_parallel_gain;
}

}  // namespace rill
