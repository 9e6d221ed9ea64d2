// What a kernel's object and the emulated driver know of each other. Both include this header.
#pragma once
#include <cstddef>
#include <cstdint>
#include <source_location>

namespace rill::emulated {

/// Numbers of blocks or threads in three directions.
struct extent {
  unsigned x, y, z;
};

/// Where the kernel's thread that runs stands: threadIdx, blockIdx, blockDim and gridDim.
struct kernel_thread {
  extent thread, block, threads, blocks;
};

/// Addresses as a program sees them. Empty: no access was checked yet.
struct memory_range {
  std::uintptr_t begin, bytes;
};

/// The functions that the threads of a warp call together.
enum class warp_function { sync, shuffle, shuffle_up, shuffle_down, shuffle_xor, ballot, any, all };

/// A call of one of them by a thread.
struct warp_call {
  warp_function which;
  unsigned mask;            ///< the lanes that take part
  std::uint64_t value = 0;  ///< the thread's, as bits; for a vote, whether it votes for
  unsigned operand = 0;     ///< of a shuffle: a lane, a distance or bits of a lane
  unsigned width = 32;      ///< of a shuffle: lanes of a group
  unsigned bytes = 0;       ///< of a shuffle: the size of its value
  std::source_location where;
};

class running_block;

/// The driver's functions that a kernel calls. If it may not go on, it ends: they throw through it.
struct host_functions {
  /// Returns the allocation that holds all bytes of an access.
  memory_range (*find)(std::uintptr_t address, std::size_t bytes, std::size_t alignment);
  /// Returns when all threads of the block have called it.
  void (*wait_for_block)(running_block& in, std::source_location where);
  /// Returns the result of a function that the threads of a warp call together.
  std::uint64_t (*call_in_warp)(running_block& in, warp_call const& call);
};

/// What an object keeps for the launch that runs: one at a time, because thread-local variables cost too much.
struct thread_state {
  kernel_thread const* now;
  host_functions const* host;
  running_block* block;   ///< of a kernel whose threads wait for each other
  memory_range seen[16];  ///< allocations of accesses before, each where `slot` says

  /// Arrays that a kernel passes through side by side seldom share one.
  static unsigned slot(std::uintptr_t at) {
    return static_cast<unsigned>((std::uint64_t{at >> 12} * 0x9e3779b97f4a7c15u) >> 60);
  }
};

struct parameter {
  std::size_t bytes, alignment;
};

/// A kernel: how to run it for one thread, and what its parameters and limits are.
struct kernel_entry {
  char const* name;
  void (*run)(void* const* arguments);
  parameter const* parameters;
  std::size_t parameter_count;
  unsigned most_threads;  ///< __launch_bounds__, or 0
  bool waits;             ///< whether threads of a block may wait for each other
};

/// What an object exports, by a function `rill_emulated_object` that returns its address.
struct object_interface {
  kernel_entry const* kernels;
  std::size_t kernel_count;
  thread_state* state;
};

/// Emulated memory is named by addresses with this bit set, which no host's address has.
inline constexpr std::uintptr_t device_bit = std::uintptr_t{1} << 55;

}  // namespace rill::emulated
