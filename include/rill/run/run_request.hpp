// The request for a step.
#pragma once
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "rill/graph/node.hpp"
#include "rill/tensor/tensor.hpp"

namespace rill {

/// The signature of a step, and the tensors that are fed.
struct run_request {
  std::vector<endpoint> feeds, fetches;
  std::vector<std::uint32_t> targets;
  std::vector<tensor> with;
  std::unordered_set<std::uint64_t> fed = {};  ///< the fed outputs, if there are many feeds; otherwise empty
};

}  // namespace rill
