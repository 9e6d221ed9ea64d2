// The request for a plan, and the functions that planning calls in the headers above it.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rill/device/step.hpp"
#include "rill/graph/kernel_request.hpp"
#include "rill/graph/op_def.hpp"
#include "rill/graph/subgraph.hpp"
#include "rill/pass/options.hpp"
#include "rill/run/plan/execution.hpp"
#include "rill/state/container.hpp"
#include "rill/tensor/allocator.hpp"

namespace rill {

/// The request for a plan.
struct plan_request {
  container& state;                      ///< where variables live
  std::uint64_t seed = 0;                ///< the graph's
  allocator& memory = host_allocator();  ///< of arenas and outputs
  int threads = 1;                       ///< the most that a kernel gets
  rill::execution execution = execution::automatic;
  pass_options passes = {};                 ///< that bodies are rewritten by
  compiled_functions* functions = nullptr;  ///< of the plan around it; null: it has its own
  step_context const* step = nullptr;       ///< that planning ends with; null: no step waits for the plan
  session_devices* devices = nullptr;       ///< that nodes may be placed on; null or empty: the host alone
  device const* on = nullptr;               ///< that all of it runs on; null: the host
  std::vector<std::shared_ptr<task>> const* tasks = nullptr;  ///< that a step is split over; null: none
  std::uint64_t salt = 0;    ///< of random numbers, but for those in first values; 0: none
  std::uint32_t worker = 0;  ///< the session's number among those that train together
};

// A body is a plan too, so the function that compiles bodies is defined above plans.

/// Compiles a body of a node for arguments of the given types.
std::shared_ptr<compiled_body> compile_body(kernel_request const& r, subgraph const& body,
                                            std::span<type const> arguments);
/// Returns the kernel of a loop, a branch or a subgraph of primitives in tagged execution.
kernel tagged_kernel(kernel_request const& r);
/// Whether a node runs in tagged execution: it must, or the request asks for it and the node can.
bool runs_tagged(node const& n, std::span<type const> inputs, plan_request const& with);
/// Returns an empty set of compiled functions.
std::shared_ptr<compiled_functions> no_functions();

}  // namespace rill
