// When a step forks, and the counts that it then runs by.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "rill/graph/op_def.hpp"
#include "rill/run/execution.hpp"
#include "rill/run/plan/dependencies.hpp"

namespace rill {

/// Pending counts, and who is told when an instruction has run.
struct fork_schedule {
  std::vector<std::uint32_t> waits;  ///< of each instruction: how many must run first
  std::vector<std::uint32_t> next;   ///< those that wait for instruction i:
  std::vector<std::uint32_t> first;  ///< next[first[i]] … next[first[i + 1])

  fork_schedule() = default;
  explicit fork_schedule(dependencies const& d) : waits(d.size()), first(d.size() + 1) {
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

namespace detail {

// Nanoseconds of one thread, as an ordinary core takes them; only their proportions matter.
inline double estimate(cost const& c) { return 20 + std::max(c.flops / 20, c.bytes / 10); }

}  // namespace detail

/// Nanoseconds that forking would save with so many threads, at the most. Instructions so large that their own loops
/// use all threads save nothing.
inline double fork_gain(dependencies const& d, std::span<cost const> costs, int threads) {
  constexpr double large = 50'000;
  double sum = 0, longest = 0;
  std::vector<double> ends(d.size());
  for (std::uint32_t i = 0; i < d.size(); ++i) {
    double const mine = detail::estimate(costs[i]);
    for (auto b : d.before(i)) ends[i] = std::max(ends[i], ends[b]);
    if (mine < large) ends[i] += mine, sum += mine;
    longest = std::max(longest, ends[i]);
  }
  return sum - std::max(longest, sum / threads);
}

/// Plans of more instructions fork only if they must: what may share memory is a square table.
inline constexpr std::size_t most_forked = 4096;

/// Whether a step can fork at all, or must: of two that wait, the first may wait for the second.
inline bool may_fork(execution wish, std::size_t instructions, int threads, std::size_t waiting) {
  if (wish == execution::sequential) return false;
  return waiting > 1 || (instructions <= most_forked && (wish == execution::parallel || threads > 1));
}

/// Whether forking saves more than it costs. A hand-over to a sleeping thread takes some ten microseconds.
inline bool pays_to_fork(dependencies const& d, std::span<cost const> costs, int threads) {
  constexpr double worth = 50'000;
  return fork_gain(d, costs, threads) > worth;
}

}  // namespace rill
