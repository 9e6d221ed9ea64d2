// What each task runs of a step.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "rill/graph/subgraph.hpp"

namespace rill {

/// The tasks that the nodes of a subgraph run on.
struct task_places {
  static constexpr std::uint32_t everywhere = UINT32_MAX;   ///< a constant or a feed: copied to each task that reads it
  static constexpr std::uint32_t several = UINT32_MAX - 1;  ///< a branch or loop whose bodies run on several tasks

  std::vector<std::uint32_t> of;                             ///< of each node its task, or one of these
  std::map<std::uint32_t, std::vector<task_places>> bodies;  ///< of the two bodies of each node on several tasks

  /// Whether a value of `of` is one task.
  static constexpr bool is_task(std::uint32_t at) { return at < several; }
};

/// What one task runs of a step, or of a body.
struct task_share {
  std::uint32_t task = 0;
  subgraph nodes = {};
  std::vector<std::uint32_t> feeds = {};    ///< of each of its inputs, the number among the inputs of the whole
  std::vector<std::uint32_t> results = {};  ///< of each of its outputs, the number among the outputs of the whole
};

/// The shares of a step or a body by their tasks.
using task_shares = std::map<std::uint32_t, task_share>;

}  // namespace rill
