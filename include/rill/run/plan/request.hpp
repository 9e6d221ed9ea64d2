// What a plan is made for, and what making one needs from the layers above it.
#pragma once
#include <cstdint>
#include <memory>
#include <span>

#include "rill/device/step.hpp"
#include "rill/graph/kernel_request.hpp"
#include "rill/graph/op_def.hpp"
#include "rill/graph/subgraph.hpp"
#include "rill/pass/options.hpp"
#include "rill/run/plan/execution.hpp"
#include "rill/state/container.hpp"
#include "rill/tensor/allocator.hpp"

namespace rill {

/// What a subgraph is planned for.
struct plan_request {
  container& state;                      ///< where variables live
  std::uint64_t seed = 0;                ///< the graph's
  allocator& memory = host_allocator();  ///< of arenas and outputs
  int threads = 1;                       ///< the most that a kernel is given
  rill::execution execution = execution::automatic;
  pass_options passes = {};                 ///< that bodies are rewritten by
  compiled_functions* functions = nullptr;  ///< of the plan around it; null: it has its own
  step_context const* step = nullptr;       ///< that planning ends with; null: no step waits for the plan
};

// A body is a plan again, so what compiles bodies stands above plans.

/// Compiles a body of a node for arguments of the given types.
std::shared_ptr<compiled_body> compile_body(kernel_request const& r, subgraph const& body,
                                            std::span<type const> arguments);
/// Returns the kernel of a loop, a branch or a subgraph of primitives in tagged execution.
kernel tagged_kernel(kernel_request const& r);
/// Whether a node must run in tagged execution, or is to.
bool runs_tagged(node const& n, std::span<type const> inputs, plan_request const& with);
/// Returns an empty set of compiled functions.
std::shared_ptr<compiled_functions> no_functions();

}  // namespace rill
