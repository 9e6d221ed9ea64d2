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
struct plan {
  enum class slot_id : std::uint32_t {};      ///< a value of the subgraph, which several nodes may have names for
  enum class block_id : std::uint32_t {};     ///< a stretch of the arena
  enum class constant_id : std::uint32_t {};  ///< a constant of the subgraph
  enum class feed_id : std::uint32_t {};      ///< an input of the subgraph
  enum class owned_id : std::uint32_t {};     ///< a tensor that a kernel allocates (kernel::allocates_outputs)
  enum class output_id : std::uint32_t {};    ///< a tensor that the step hands out, written in place
  enum class held_id : std::uint32_t {};      ///< a tensor of strings, which the instance keeps
  enum class fetch_id : std::uint32_t {};     ///< a result, in the order of the subgraph's outputs
  /// The number of an instruction, and of a pointer in the array that kernels are called with.
  using instruction_id = std::uint32_t;
  using pointer_id = std::uint32_t;
  static constexpr instruction_id none = UINT32_MAX;

  /// Where a value lies; monostate: nowhere, because no instruction reads or writes its elements.
  using location = std::variant<std::monostate, block_id, constant_id, feed_id, owned_id, output_id, held_id>;

  struct slot {
    type of;
    location where = {};
    instruction_id first = 0, last = 0;      ///< the instructions between which its elements are needed
    std::vector<pointer_id> positions = {};  ///< the pointers to it
  };
  struct instruction {
    kernel run;
    owned_id owned = no_index<owned_id>;  ///< its first output, if it allocates them
    std::uint32_t node = 0;
  };
  /// What a walk reads of an instruction that has only its kernel to call. It is small because a walk over small nodes
  /// is as fast as this comes from memory.
  struct line {
    kernel::entry plain;      ///< null: there is more to do
    pointer_id pointers = 0;  ///< its first: the inputs', the outputs', the scratch's
    std::uint16_t inputs = 0, outputs = 0;
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

  std::vector<instruction> instructions;
  std::vector<line> lines;                   ///< of each instruction
  std::vector<std::string> names;            ///< of each instruction's node
  std::vector<std::string_view> operations;  ///< of each instruction
  std::vector<block_id> scratch;             ///< of each instruction; `no_index`: it needs none
  indexed<slot_id, slot> slots;
  std::vector<memory_block> blocks;  ///< by block_id
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
  std::size_t pointers = 0;    ///< of all instructions
  std::vector<slot_id> kept;   ///< in the tagged execution: values that are read between instructions
  std::size_t kept_first = 0;  ///< where their pointers begin
  std::size_t waiting = 0;     ///< the number of instructions whose kernels may wait
  memory_report memory;
  rill::allocator* allocator = nullptr;
  assumptions assumed;
  std::shared_ptr<compiled_functions> functions;      ///< null: the enclosing plan has them
  std::vector<std::shared_ptr<keeps_memory>> bodies;  ///< that its kernels run

  /// Whether instructions run as soon as what they wait for has run, rather than one after the other.
  bool forks() const { return !schedule.empty(); }
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
  for (std::size_t i = 0; i < instructions.size(); ++i) s += std::to_string(i) + "  " + names[i] + "\n";
  return s;
}
#endif

}  // namespace rill
