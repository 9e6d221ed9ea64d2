// What a kernel's object and the emulated driver know of each other. Both include this header.
#pragma once
#include <cstddef>
#include <cstdint>

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

/// The driver's functions that a kernel calls.
struct host_functions {
  /// Returns the allocation that holds all bytes of an access. If none does, the kernel ends: it throws through it.
  memory_range (*find)(std::uintptr_t address, std::size_t bytes, std::size_t alignment);
};

/// What an object keeps for each thread of the host that runs its kernels.
struct thread_state {
  kernel_thread const* now;
  host_functions const* host;
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
};

/// What an object exports, by a function `rill_emulated_object` that returns its address.
struct object_interface {
  kernel_entry const* kernels;
  std::size_t kernel_count;
  thread_state* (*state)();  ///< of the calling thread
};

/// Emulated memory is named by addresses with this bit set, which no host's address has.
inline constexpr std::uintptr_t device_bit = std::uintptr_t{1} << 55;

}  // namespace rill::emulated
