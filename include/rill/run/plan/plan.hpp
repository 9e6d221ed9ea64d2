// A step, compiled: flat arrays of kernels and pointers, every value's place known (docs/architecture/steps.md).
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "rill/base/indexed.hpp"
#include "rill/device/kernel.hpp"
#include "rill/graph/kernel_request.hpp"
#include "rill/graph/op_def.hpp"
#include "rill/run/plan/arena.hpp"
#include "rill/run/plan/assumptions.hpp"
#include "rill/run/plan/schedule.hpp"

namespace rill {

/// A subgraph as flat arrays. Stages make it (make_plan.hpp), executors read it; what a step writes is in its
/// `plan_instance`.
struct plan : plan_ids {
  /// Where a value lies; monostate: nowhere, because no instruction reads or writes its elements.
  using location = std::variant<std::monostate, block_id, constant_id, feed_id, owned_id, output_id, held_id>;

  struct slot {
    type of;
    location where = {};
    instruction_id first = {}, last = {};    ///< the instructions between which its elements are needed
    std::vector<pointer_id> positions = {};  ///< the pointers to it
    endpoint value = {};                     ///< the output of the subgraph's node that it was laid out for
  };
  struct instruction {
    kernel run;
    owned_id owned = no_index<owned_id>;  ///< its first output, if it allocates them
    std::uint32_t node = 0;
    bool shares_variables = false;  ///< its outputs may be the values of variables, and need no memory
  };
  /// What a walk reads of an instruction that has only its kernel to call. It is small because a walk over small nodes
  /// is as fast as this comes from memory.
  struct line {
    kernel::entry plain;       ///< null: there is more to do
    pointer_id pointers = {};  ///< its first: the inputs', the outputs', the scratch's
    std::uint16_t inputs = 0, outputs = 0;

    pointer_id input(std::size_t k) const { return as_index<pointer_id>(as_integer(pointers) + k); }
    pointer_id output(std::size_t o) const { return input(inputs + o); }
    pointer_id scratch() const { return output(outputs); }
  };
  struct fetch {
    slot_id slot;
    rill::shape shape;
    bool direct;             ///< a body computes it where its caller wants it
    std::int64_t over = -1;  ///< the feed that it may overwrite, or is; -1: none
  };
  /// A result of a body that is not computed where its caller wants it.
  struct copy {
    fetch_id to;
    fetch_id from;  ///< the result of the same value; `no_index`: it lies where its slot says
    dtype element;
    std::size_t count;  ///< of elements
  };
  struct drop {
    instruction_id after;
    owned_id owned;
  };
  struct memory_report {
    std::size_t arena = 0;  ///< bytes of the arena of one instance
    std::size_t least = 0;  ///< the most bytes of arena values alive at one instruction
    std::size_t held = 0;   ///< bytes of constants
  };

  indexed<instruction_id, instruction> instructions;
  indexed<instruction_id, line> lines;
  std::vector<std::string> nodes;  ///< the names of the subgraph's nodes
  indexed<instruction_id, std::string_view> operations;
  indexed<instruction_id, block_id> scratch;  ///< `no_index`: it needs none
  indexed<slot_id, slot> all_slots;
  indexed<pointer_id, slot_id> pointed;  ///< what each pointer points to; `no_index`: scratch memory
  indexed<block_id, memory_block> blocks;
  indexed<constant_id, tensor> constants;
  indexed<feed_id, type> fed;
  indexed<feed_id, slot_id> fed_slots;
  indexed<owned_id, slot_id> owned_slots;
  indexed<output_id, slot_id> output_slots;
  indexed<held_id, slot_id> held_slots;
  indexed<fetch_id, fetch> fetches;
  std::vector<copy> copies;
  std::vector<drop> drops;  ///< by instruction
  parallel_schedule schedule;
  schedule_reason why;                ///< the schedule is that one, or empty
  indexed<kept_id, slot_id> kept;     ///< in the tagged execution
  indexed<kept_id, pointer_id> read;  ///< the pointers to them
  std::size_t waiting = 0;            ///< the number of instructions whose kernels may wait
  memory_report memory;
  rill::allocator* allocator = nullptr;
  assumptions assumed;
  std::shared_ptr<compiled_functions> functions;      ///< null: the enclosing plan has them
  std::vector<std::shared_ptr<keeps_memory>> bodies;  ///< that its kernels run
  std::vector<instruction_id> body_of;                ///< of each body: the instruction whose kernel runs it
  std::vector<std::string> devices;                   ///< the full names of the session's, besides its host

  /// Whether instructions run as soon as what they wait for has run, rather than one after the other.
  bool forks() const { return !schedule.empty(); }
  /// Returns the name of an instruction's node.
  std::string const& name(instruction_id at) const { return nodes[instructions[at].node]; }
  /// Returns the feed that fetch i may overwrite, because no instruction reads it any more, or which it is; -1: none.
  std::int64_t overwritten(std::size_t i) const { return fetches.all()[i].over; }
  /// Whether variables of open extents still have the extents that the plan was made for.
  bool holds() const { return assumed.hold(); }
  /// Gives back the memory that its bodies and functions keep for their next runs.
  void trim();
  /// Returns the plan as text, an instruction a line.
  std::string text() const;
};

#if RILL_RUNTIME
RILL_INLINE void plan::trim() {
  for (auto const& body : bodies) body->trim();
  if (functions) functions->trim();
}

RILL_INLINE std::string plan::text() const {
  std::string s;
  if (forks()) s = "in parallel execution\n";
  for (auto at : instructions.indices()) s += std::to_string(as_integer(at)) + "  " + name(at) + "\n";
  return s;
}
#endif

}  // namespace rill
