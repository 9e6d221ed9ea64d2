// An operation as graphs, passes and executors see it: a table of plain functions.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "rill/device/kernel.hpp"
#include "rill/graph/attribute.hpp"

namespace rill {

class graph;
class container;
class variable_state;
class step_context;
struct value;
struct node;
struct gradient;
struct gradient_request;
struct subgraph;
struct pass_options;
struct kernel_request;
class path_finder;

/// For each output of a node the inputs that its derivative reaches.
using path_table = std::vector<std::vector<bool>>;

/// What a call of an operation costs, from its types: read by placement, timelines and microbenchmarks alike.
struct cost {
  double flops = 0;
  double bytes = 0;  ///< read and written
};

/// One plan_instance of a body: where its arguments lie and its results go, and a walk over it. One thread at a time.
class body_run {
 public:
  virtual ~body_run() = default;
  /// Where argument i lies; result i goes to `elements`, which the caller has room for.
  virtual void argument(std::size_t i, void const* elements) = 0;
  virtual void result(std::size_t i, void* elements) = 0;
  /// Goes on with a second set of such places, or again with the first: those of the second are at first the same. So a
  /// loop whose variables take turns between two places says once where they are.
  virtual void flip() = 0;
  virtual void run(rill::parallel const& threads, step_context& step) = 0;
  /// Turns over and runs again while `go_on`, which is one of its results, says so; counts in `step.iteration`. Nobody
  /// watches the step.
  virtual void run_while(bool const& go_on, rill::parallel const& threads, step_context& step) = 0;
  /// Who started it is done with it.
  virtual void give_back() noexcept = 0;
};
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
  /// Runs once. Open extents of its arguments are those of the tensors, and results bring theirs, in memory of their
  /// own.
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

/// How an operation meets what outlives a step.
enum class effect : std::uint8_t {
  none,    ///< a function of its inputs and attributes
  reads,   ///< reads state or draws random numbers: not merged, not folded
  writes,  ///< changes state or the outside world: not merged, folded or dropped
};

/// What a node does at a queue, mutex or the like (op_def::rendezvous).
enum class rendezvous_kind : std::uint8_t {
  gives,    ///< what others wait for: an element, a gradient; it may wait for room
  takes,    ///< waits for what others give
  frees,    ///< takes, and makes room for those that give
  meets,    ///< waits for others, and they for it
  locks,    ///< waits for those that unlock
  unlocks,  ///< lets one that locks go on
};

/// One operation. All instances live for the whole program and are compared by address.
struct op_def {
  std::string_view name;
  std::string_view doc;
  std::int8_t arity = 0;  ///< number of inputs, -1: one or more, -2: any number
  std::uint8_t outputs = 1;
  rill::effect effect = rill::effect::none;
  bool commutes = false;               ///< the order of the two inputs does not matter
  bool aliases_input = false;          ///< output 0 is input 0 with, perhaps, other extents: no kernel
  std::uint32_t updates_in_place = 0;  ///< bit i: output i is input i but for some rows, and may lie in its memory:
                                       ///< kernels look whether it does
  std::uint32_t by_reference = 0;      ///< bit i: input i is a variable, not its value
  bool reference_or_value = false;   ///< what it takes by reference may also be a plain value, such as one that is fed
  std::uint32_t shape_only = 0;      ///< bit i: only the extents of input i matter
  bool waits = false;                ///< its kernel may return before it is done (continuation.hpp)
  std::string_view rendezvous = {};  ///< the attribute that names the queue, mutex or the like at which nodes wait for
                                     ///< each other
  rendezvous_kind rendezvous_role = rendezvous_kind::meets;  ///< and what it does there
  bool back_edge = false;       ///< it belongs to the node of input 1, to which it hands input 0 an iteration later
  bool stops_gradient = false;  ///< its outputs are constants for differentiation
  bool draws_random = false;    ///< its attribute "key" tells the random numbers of one node from those of others
  bool dynamic_output_shape = false;  ///< open extents of its outputs are settled when it runs
  scalar_function const* elementwise = nullptr;
  std::span<std::string_view const> attributes = {};  ///< their names, in the order in which nodes keep them

  /// Appends the attributes in the operation's own struct.
  void (*encode)(void const* attributes, attribute_list& to) = nullptr;
  void (*infer)(attribute_list const&, std::span<type const> inputs, std::vector<type>& outputs) = nullptr;
  rill::cost (*work)(attribute_list const&, std::span<type const> inputs, std::span<type const> outputs) = nullptr;
  std::vector<gradient> (*grad)(gradient_request const&) = nullptr;  ///< null: not differentiable
  /// Of a node whose inputs come from nodes of these names; null: from every output to every input (paths.hpp).
  path_table (*paths)(node const&, std::span<std::string_view const>, path_finder&) = nullptr;
  std::string_view no_gradient = {};  ///< why it is not, and what to do, where the error should say more than its name
  kernel (*cpu)(kernel_request const&) = nullptr;
};

}  // namespace rill
