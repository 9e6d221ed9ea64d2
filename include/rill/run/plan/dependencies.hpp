// The instructions that each instruction of a plan waits for, which parallel execution counts down.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "rill/graph/order.hpp"
#include "rill/run/plan/ids.hpp"

namespace rill {

/// For each instruction the earlier instructions that it waits for.
class dependencies {
 public:
  using instruction_id = plan_ids::instruction_id;

  dependencies() = default;
  /// From the edges among nodes: `instruction[n]` runs node n, or is `no_index` for nodes that nothing runs, which are
  /// done when all that they wait for is.
  dependencies(step_order const& order, std::span<instruction_id const> instruction, std::size_t instructions)
      : before_(instructions) {
    std::vector<std::vector<instruction_id>> pending(instruction.size());
    for (auto n : order.nodes) {
      auto& mine = pending[n];
      std::sort(mine.begin(), mine.end());
      mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
      auto const at = instruction[n];
      if (at != no_index<instruction_id>) before_[at] = std::exchange(mine, {at});
      for (auto later : order.after[n]) pending[later].insert(pending[later].end(), mine.begin(), mine.end());
      mine = {};
    }
  }

  std::size_t size() const { return before_.size(); }
  index_range<instruction_id> instructions() const { return before_.indices(); }
  /// Which instructions `at` waits for, ascending.
  std::span<instruction_id const> before(instruction_id at) const { return before_[at]; }
  /// `later` waits for each of these from now on.
  void add(std::span<instruction_id const> earlier, instruction_id later) {
    auto& list = before_[later];
    list.insert(list.end(), earlier.begin(), earlier.end());
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  void add(instruction_id earlier, instruction_id later) { add(std::span(&earlier, 1), later); }

 private:
  indexed<instruction_id, std::vector<instruction_id>> before_;
};

/// The transitive closure of dependencies: whether one instruction always runs before another, whatever the schedule.
class ancestry {
 public:
  explicit ancestry(dependencies const& d) : words_((d.size() + 63) / 64), bits_(d.size() * words_) {
    for (auto at : d.instructions())
      for (auto earlier : d.before(at)) {
        auto const b = as_integer(earlier);
        auto *const mine = row(at), *const its = row(earlier);
        for (std::size_t w = 0; w <= b / 64; ++w) mine[w] |= its[w];
        mine[b / 64] |= std::uint64_t{1} << b % 64;
      }
  }
  bool operator()(plan_ids::instruction_id earlier, plan_ids::instruction_id later) const {
    auto const b = as_integer(earlier);
    return (bits_[as_integer(later) * words_ + b / 64] >> b % 64 & 1u) != 0;
  }

 private:
  std::uint64_t* row(plan_ids::instruction_id at) { return bits_.data() + as_integer(at) * words_; }

  std::size_t words_;
  std::vector<std::uint64_t> bits_;  // a row for each instruction
};

}  // namespace rill
