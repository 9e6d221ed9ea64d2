// What each instruction of a plan waits for: what parallel execution counts down.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "rill/graph/order.hpp"

namespace rill {

/// A relation among instructions, each of which comes after all that it waits for.
class dependencies {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;

  dependencies() = default;
  /// From the edges among nodes: `instruction[n]` runs node n, or is `none` for nodes that nothing runs, which are done
  /// when all that they wait for is.
  dependencies(step_order const& order, std::span<std::uint32_t const> instruction, std::size_t instructions)
      : before_(instructions) {
    std::vector<std::vector<std::uint32_t>> pending(instruction.size());
    for (auto n : order.nodes) {
      auto& mine = pending[n];
      std::sort(mine.begin(), mine.end());
      mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
      auto const at = instruction[n];
      if (at != none) before_[at] = std::exchange(mine, {at});
      for (auto later : order.after[n]) pending[later].insert(pending[later].end(), mine.begin(), mine.end());
      mine = {};
    }
  }

  std::size_t size() const { return before_.size(); }
  /// Which instructions `at` waits for, ascending.
  std::span<std::uint32_t const> before(std::uint32_t at) const { return before_[at]; }
  /// `later` waits for each of these from now on.
  void add(std::span<std::uint32_t const> earlier, std::uint32_t later) {
    auto& list = before_[later];
    list.insert(list.end(), earlier.begin(), earlier.end());
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  void add(std::uint32_t earlier, std::uint32_t later) { add(std::span(&earlier, 1), later); }

 private:
  std::vector<std::vector<std::uint32_t>> before_;
};

/// Whether one instruction always runs before another, whatever the schedule: the dependencies' transitive closure.
class ancestry {
 public:
  explicit ancestry(dependencies const& d) : words_((d.size() + 63) / 64), bits_(d.size() * words_) {
    for (std::uint32_t at = 0; at < d.size(); ++at)
      for (auto b : d.before(at)) {
        for (std::size_t w = 0; w <= b / 64; ++w) bits_[at * words_ + w] |= bits_[b * words_ + w];
        bits_[at * words_ + b / 64] |= std::uint64_t{1} << b % 64;
      }
  }
  bool operator()(std::uint32_t earlier, std::uint32_t later) const {
    return (bits_[later * words_ + earlier / 64] >> earlier % 64 & 1u) != 0;
  }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> bits_;  // a row an instruction
};

}  // namespace rill
