// What a kernel is prepared from, and the bodies that it may run.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rill/device/kernel.hpp"
#include "rill/graph/node.hpp"

namespace rill {

class container;
class variable_state;
struct subgraph;
struct pass_options;
struct function_definition;
struct kernel_request;

/// One plan_instance of a body: where its arguments lie and its results go, and a walk over it. One thread at a time.
class body_run {
 public:
  virtual ~body_run() = default;
  /// Where argument i lies; result i goes to `elements`, which the caller has room for.
  virtual void argument(std::size_t i, void const* elements) = 0;
  virtual void result(std::size_t i, void* elements) = 0;
  /// Switches to a second set of places, or back to the first. The second set begins as a copy of the first. A loop
  /// whose variables alternate between two places therefore sets each place once.
  virtual void flip() = 0;
  virtual void run(rill::parallel const& threads, step_context& step) = 0;
  /// Turns over and runs again while `go_on`, which is one of its results, says so; counts in `step.iteration`. Nobody
  /// watches the step.
  virtual void run_while(bool const& go_on, rill::parallel const& threads, step_context& step) = 0;
  /// Who started it is done with it.
  virtual void give_back() noexcept = 0;
};
/// Gives a run back rather than delete it.
struct giving_back {
  void operator()(body_run* r) const noexcept { r->give_back(); }
};

/// What keeps memory for its next run.
class keeps_memory {
 public:
  virtual ~keeps_memory() = default;
  /// Gives the memory of runs that are over back.
  virtual void trim() {}
};

/// A body that is compiled for the types of its arguments. Many threads may start runs of it.
class compiled_body : public keeps_memory {
 public:
  /// Whether extents in it, or of its arguments and results, are settled when it runs: then it can only be `run`.
  virtual bool open() const = 0;
  virtual std::unique_ptr<body_run, giving_back> start() = 0;
  /// Runs once. Arguments may have any extents that their types leave open. Returns the results in new tensors.
  virtual std::vector<tensor> run(std::span<tensor const> arguments, rill::parallel const& threads,
                                  step_context& step) = 0;
  /// The argument in whose place result i may be computed, or which it is; -1: none.
  virtual std::int64_t overwritten(std::size_t) const { return -1; }
  /// Whether variables of open extents still have those that it was compiled for.
  virtual bool holds() const { return true; }
};

/// Functions that were compiled, and are when they are asked for.
class compiled_functions : public keeps_memory {
 public:
  /// The function for arguments and captures of these types; one that calls itself is asked for while it is compiled.
  virtual compiled_body* find(kernel_request const& r, function_definition const& f,
                              std::span<type const> arguments) = 0;
  /// The functions for a subgraph that is compiled while a step runs, and may be forgotten before the step's plan is:
  /// they are looked for when they are called.
  virtual std::shared_ptr<compiled_functions> at_run() = 0;
};

/// What a CPU kernel is prepared from.
struct kernel_request {
  node const& at;
  std::span<type const> inputs, outputs;                          ///< all extents known
  std::vector<std::shared_ptr<variable_state>> const& variables;  ///< of inputs taken by reference, else null
  container& state;                                               ///< where variables live
  std::uint64_t seed;                                             ///< the graph's
  int threads = 1;                       ///< the most that a call will be given: scratch depends on it
  allocator* memory = nullptr;           ///< of the step
  pass_options const* passes = nullptr;  ///< that bodies are rewritten by
  /// Compiles a body for arguments of these types, of which extents may be open; handed in so that operations stay
  /// below plans.
  std::shared_ptr<compiled_body> (*compile)(kernel_request const&, subgraph const& body,
                                            std::span<type const> arguments) = nullptr;
  /// The functions of a step that were compiled so far, each once for arguments of the same types; they live as long as
  /// the step's plan.
  compiled_functions* functions = nullptr;
  /// Where the plan remembers what its kernels run.
  std::vector<std::shared_ptr<keeps_memory>>* bodies = nullptr;
  /// Bodies are compiled when they run: the step may change the extents of variables that they read.
  bool defer_bodies = false;
  /// What it is made for, and ends with; null: no step waits.
  step_context const* step = nullptr;
};

}  // namespace rill
