// The indices of a plan, a type for each kind.
#pragma once
#include <cstdint>

#include "rill/base/indexed.hpp"

namespace rill {

/// What a plan's arrays are indexed by.
struct plan_ids {
  enum class instruction_id : std::uint32_t {};  ///< a kernel to be called, in the order of the plan
  enum class pointer_id : std::uint32_t {};      ///< a pointer in the array that kernels are called with
  enum class slot_id : std::uint32_t {};         ///< a value of the subgraph, which several nodes may have names for
  enum class block_id : std::uint32_t {};        ///< a stretch of the arena
  enum class constant_id : std::uint32_t {};     ///< a constant of the subgraph
  enum class feed_id : std::uint32_t {};         ///< an input of the subgraph
  enum class owned_id : std::uint32_t {};        ///< a tensor that a kernel allocates (kernel::allocates_outputs)
  enum class output_id : std::uint32_t {};       ///< a tensor that the step hands out, written in place
  enum class held_id : std::uint32_t {};         ///< a tensor of strings, which the instance keeps
  enum class fetch_id : std::uint32_t {};        ///< a result, in the order of the subgraph's outputs
  enum class kept_id : std::uint32_t {};         ///< in tagged execution: a value that is read between instructions
};

}  // namespace rill
