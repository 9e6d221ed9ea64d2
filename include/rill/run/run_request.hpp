// What a step is asked for.
#pragma once
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "rill/graph/node.hpp"
#include "rill/tensor/tensor.hpp"

namespace rill {

/// A run's signature, and the tensors that are fed.
struct run_request {
  std::vector<endpoint> feeds, fetches;
  std::vector<std::uint32_t> targets;
  std::vector<tensor> with;
  std::unordered_set<std::uint64_t> fed = {};  ///< where there are many feeds: which outputs they are for
};

}  // namespace rill
