// A step, compiled: flat arrays of kernels and pointers, every value's place settled (architecture.md, *A step is
// compiled once*).
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rill/device/step.hpp"
#include "rill/graph/order.hpp"
#include "rill/graph/subgraph.hpp"
#include "rill/pass/options.hpp"
#include "rill/run/observer.hpp"
#include "rill/run/plan/arena.hpp"
#include "rill/run/plan/fork.hpp"
#include "rill/state/container.hpp"

namespace rill {

/// Compiles a body of a node for arguments of the given types.
std::shared_ptr<compiled_body> compile_body(kernel_request const& r, subgraph const& body,
                                            std::span<type const> arguments);

/// The kernel of a loop, a branch or a part of primitives in tagged execution.
kernel tagged_kernel(kernel_request const& r);
/// No functions yet.
std::shared_ptr<compiled_functions> no_functions();

/// A part of a graph as flat arrays. It never changes; what a step writes is in its `plan_instance`.
class plan {
 public:
  /// `subgraph` must be bound: all extents known. Its kernels are made for at most so many threads. A body's plan
  /// shares the compiled functions of the plan that it is part of. Ends with `step`, if it is for one.
  plan(subgraph const& sub, container& state, std::uint64_t seed, allocator& memory = host_allocator(), int threads = 1,
       execution wish = execution::automatic, pass_options const& passes = {}, compiled_functions* functions = nullptr,
       step_context const* step = nullptr);

  /// For one iteration of a frame in tagged execution, whose walk orders it: values share no memory, and those that are
  /// kept can be read when they are made.
  plan(subgraph const& iteration, std::vector<endpoint> const& kept, container& state, std::uint64_t seed,
       allocator& memory, int threads, pass_options const& passes, compiled_functions* functions);

  struct memory_report {
    std::size_t arena = 0;  ///< bytes of the arena of one plan_instance
    std::size_t least = 0;  ///< the most bytes of arena values that are alive at one instruction
    std::size_t held = 0;   ///< bytes of constants
  };
  memory_report const& memory() const { return memory_; }
  std::size_t instructions() const { return instructions_.size(); }
  /// Whether instructions run as soon as what they wait for has run, rather than one after the other.
  bool forks() const { return !fork_.empty(); }
  std::vector<type> const& fed() const { return fed_; }
  /// The feed in whose place fetch i may be computed, for nobody reads it any more when that is written, or which it
  /// is; -1: none.
  std::int64_t overwritten(std::size_t i) const { return fetches_[i].over; }
  /// Whether variables of open extents still have those that the plan was made for.
  bool holds() const;
  /// Gives back the memory that its bodies and functions keep for their next runs.
  void trim();
  /// The plan as text, an instruction a line.
  std::string text() const;

  /// The instruction of each node of the subgraph, of which there are so many; UINT32_MAX: none.
  std::vector<std::uint32_t> instructions_of(std::size_t nodes) const {
    std::vector<std::uint32_t> all(nodes, none);
    for (std::uint32_t at = 0; at < instructions_.size(); ++at) all[instructions_[at].node] = at;
    return all;
  }
  bool waits(std::uint32_t at) const { return instructions_[at].run.waits; }

  friend class plan_instance;
  friend class parallel_walk;

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  enum class place : std::uint8_t { arena, constant, fed, owned, output, held };
  struct slot {
    place where = place::arena;
    type of;
    std::uint32_t index = 0;            // of the block, constant, feed, owned tensor, output or held tensor
    std::uint32_t first = 0, last = 0;  // instructions
    bool used = false;
    std::vector<std::uint32_t> positions;  // among the pointers
  };
  struct instruction {
    kernel run;
    std::uint32_t owned = none;  // its first owned output
    std::uint32_t node = 0;
  };
  // What a walk reads of an instruction where nothing is to be done but to call its kernel; no more, for walks over
  // small nodes are as fast as this comes from memory.
  struct line {
    kernel::entry plain;         // none: there is more to do
    std::uint32_t pointers = 0;  // where its pointers start
    std::uint16_t inputs = 0, outputs = 0;
  };
  struct fetch {
    std::uint32_t slot;
    rill::shape shape;
    bool direct;             // a body computes it where its caller wants it
    std::int64_t over = -1;  // the feed that it may take the place of
  };
  // A result that is not computed where a body's caller wants it: of another result, or from where its slot is.
  struct copy {
    std::uint32_t fetch, same;
    dtype element;
    std::size_t count;  // of elements
  };
  struct drop {
    std::uint32_t after, owned;
  };

  // What a plan that forks is laid out by: who uses each slot, and who always runs before whom, where instructions run
  // at the same time or one at a time.
  struct forking {
    std::vector<std::vector<std::uint32_t>> users;
    std::optional<ancestry> ancestors = {};
    std::optional<rill::arrivals> arrivals = {};
    bool before(std::uint32_t earlier, std::uint32_t later) const {
      return arrivals ? (*arrivals)(earlier, later) : (*ancestors)(earlier, later);
    }
  };

  // What all kernels of a plan are made with.
  struct making {
    container& state;
    std::uint64_t seed;
    int threads;
    execution wish;
    pass_options const& passes;
    compiled_functions* functions;
    step_context const* step = nullptr;
  };
  // What a node takes: the types of its inputs, and of references the variables.
  struct taking {
    std::vector<type> types;
    std::vector<std::shared_ptr<variable_state>> variables;
  };

  void make_slots(subgraph const&);
  std::vector<bool> nodes_to_compute(subgraph const&) const;
  void make_instructions(subgraph const&, std::vector<bool> const& computed, making const&);
  taking inputs_of(subgraph const&, node const&, std::vector<bool> const& resized, container&);
  kernel make_kernel(node const&, taking const&, bool defer_bodies, making const&);
  void add_instruction(std::uint32_t, node const&, taking const&, kernel);
  std::unique_ptr<forking> fork(subgraph const&, step_order const&, execution wish, int threads);
  void assume(node const&, container&);
  void assume_bodies(node const&, container&);
  void assume_subgraph(subgraph const&, container&);
  void mark_outputs(subgraph const&);
  void take_over(subgraph const&, forking*);
  void place_values(subgraph const&, forking*, step_context const*);
  void place_apart();
  void lay_pointers(subgraph const&);
  void mark_plain();
  void keep_unread(std::vector<kernel::shared_memory>& pairs, node const& n) const;
  // The instruction that needs the most of the arena.
  std::uint32_t largest_user() const {
    return std::max_element(blocks_.begin(), blocks_.end(),
                            [](auto const& a, auto const& b) { return a.bytes < b.bytes; })
        ->first;
  }
  std::uint32_t slot_of(endpoint e) const { return slots_of_[e.node][e.port]; }

  std::shared_ptr<compiled_functions> functions_;      // null: those of the plan around it
  std::vector<std::shared_ptr<keeps_memory>> bodies_;  // that its kernels run
  std::vector<function_definition const*> assumed_functions_;
  std::vector<instruction> instructions_;
  std::vector<line> lines_;         // of each instruction
  std::vector<std::string> names_;  // of each instruction's node
  std::vector<std::string_view> operations_;
  std::vector<slot> slots_;
  std::vector<std::vector<std::uint32_t>> slots_of_;  // by node and port; emptied when the plan is made
  std::vector<std::uint32_t> order_;
  std::vector<memory_block> blocks_;
  std::vector<std::uint32_t> scratch_;  // block of each instruction's scratch
  std::vector<tensor> constants_;
  std::vector<type> fed_;
  std::vector<std::uint32_t> fed_slots_, owned_slots_, output_slots_, held_slots_;
  std::vector<fetch> fetches_;
  std::vector<copy> copies_;
  std::vector<std::pair<std::shared_ptr<variable_state>, rill::shape>> assumed_;
  std::vector<drop> drops_;                        // by instruction
  fork_schedule fork_;                             // empty in sequential execution
  std::vector<std::vector<std::uint32_t>> holds_;  // in parallel execution: the owned tensors that an instruction uses
  std::vector<std::uint32_t> holders_;             // and how many use each; none: it is fetched
  std::size_t pointers_ = 0, waiting_ = 0;         // instructions that wait
  std::vector<std::uint32_t> kept_;                // slots
  std::size_t kept_first_ = 0;                     // where their pointers start
  bool frame_ = false;                             // of an iteration in tagged execution
  bool tagged_ = false;                            // a node runs in tagged execution
  bool alone_ = false;                             // it forks for those alone: no other thread is woken
  bool one_at_a_time_ = false;  // no instruction is begun while another runs, but for those that wait
  allocator* allocator_;
  memory_report memory_;
};

}  // namespace rill

#include "rill/run/plan/making.hpp"
#include "rill/run/plan/memory.hpp"
