// The request from which an operation makes a kernel, and the compiled bodies that a kernel may run.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rill/device/kernel.hpp"
#include "rill/graph/node.hpp"

namespace rill {

class container;
class device;
class session_devices;
class task;
class variable_state;
struct subgraph;
struct pass_options;
struct function_definition;
struct kernel_request;
enum class stages : unsigned;
struct plan;

/// One run of a compiled body: holds the addresses of arguments and results, and the memory. One thread at a time uses
/// it.
class body_run {
 public:
  virtual ~body_run() = default;
  /// Sets the address of argument i.
  virtual void argument(std::size_t i, void const* elements) = 0;
  /// Sets the address to which result i is written.
  virtual void result(std::size_t i, void* elements) = 0;
  /// Switches to a second set of addresses, or back to the first. The second set begins as a copy of the first. So a
  /// loop whose variables alternate between two places sets each address once.
  virtual void flip() = 0;
  virtual void run(rill::parallel const& threads, step_context& step) = 0;
  /// Calls `flip` and runs again while `go_on`, which is one of the results, is true; counts the runs in
  /// `step.iteration`. The step must have no observer.
  virtual void run_while(bool const& go_on, rill::parallel const& threads, step_context& step) = 0;
  /// Returns the run to its body, for the next user.
  virtual void give_back() noexcept = 0;
};
/// Deleter of a run: returns the run to its body.
struct giving_back {
  void operator()(body_run* r) const noexcept { r->give_back(); }
};

/// An object that keeps memory for its next run.
class keeps_memory {
 public:
  virtual ~keeps_memory() = default;
  /// Frees the memory that no run uses now.
  virtual void trim() {}
  /// Returns stages of its plan as text (session::explain).
  virtual std::string explain(stages) const { return {}; }
  /// Returns its plan; null: it has none, or makes it when it runs.
  virtual plan const* planned() const { return nullptr; }
};

/// A body that is compiled for the types of its arguments. Many threads may start runs of it.
class compiled_body : public keeps_memory {
 public:
  /// Whether extents in it, or of its arguments or results, are known only when it runs. Then only `run` may be called,
  /// not `start`.
  virtual bool open() const = 0;
  /// Returns an unused run.
  virtual std::unique_ptr<body_run, giving_back> start() = 0;
  /// Runs once and returns the results in new tensors. Unknown extents of the arguments' types may have any value.
  virtual std::vector<tensor> run(std::span<tensor const> arguments, rill::parallel const& threads,
                                  step_context& step) = 0;
  /// Returns the argument in whose memory result i may be computed, or which result i is; -1: none.
  virtual std::int64_t overwritten(std::size_t) const { return -1; }
  /// Whether variables with open extents still have the extents that it was compiled for.
  virtual bool holds() const { return true; }
};

/// A cache of compiled functions; it compiles a function when it is first asked for.
class compiled_functions : public keeps_memory {
 public:
  /// Returns the function compiled for arguments and captures of these types. A recursive function is asked for while
  /// it is being compiled.
  virtual compiled_body* find(kernel_request const& r, function_definition const& f,
                              std::span<type const> arguments) = 0;
  /// Returns a cache for a subgraph that is compiled while a step runs. It looks functions up when they are called,
  /// because it may be dropped before the step's plan.
  virtual std::shared_ptr<compiled_functions> at_run() = 0;
};

/// The request from which an operation makes a CPU kernel.
struct kernel_request {
  node const& at;
  std::span<type const> inputs, outputs;                          ///< with all extents known
  std::vector<std::shared_ptr<variable_state>> const& variables;  ///< of inputs taken by reference, else null
  container& state;                                               ///< where variables live
  std::uint64_t seed;                                             ///< the graph's
  int threads = 1;                                                ///< the most that a call gets; scratch depends on it
  allocator* memory = nullptr;                                    ///< of the step
  pass_options const* passes = nullptr;                           ///< for rewriting bodies
  /// Compiles a body for arguments of these types, whose extents may be open. A pointer, so that operations need not
  /// include plans.
  std::shared_ptr<compiled_body> (*compile)(kernel_request const&, subgraph const& body,
                                            std::span<type const> arguments) = nullptr;
  /// The compiled functions of the step; they live as long as the step's plan.
  compiled_functions* functions = nullptr;
  /// The plan's list of the bodies that its kernels run.
  std::vector<std::shared_ptr<keeps_memory>>* bodies = nullptr;
  /// Whether bodies are compiled only when they run, because the step may change the extents of variables that they
  /// read.
  bool defer_bodies = false;
  /// The step that waits for the kernel, and may be cancelled; null: no step waits.
  step_context const* step = nullptr;
  /// The session's devices; null: it has none beside the host.
  session_devices* devices = nullptr;
  /// The device that the kernel is for; null: the host.
  device const* on = nullptr;
  /// The tasks that a step is split over; null: it runs in this process alone.
  std::vector<std::shared_ptr<task>> const* tasks = nullptr;
};

}  // namespace rill
