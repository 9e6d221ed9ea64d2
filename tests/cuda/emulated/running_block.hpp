// Blocks whose threads wait for each other: each thread is a fiber, which runs until it waits or ends.
#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>
#include <source_location>
#include <string>
#include <vector>

#include "order.hpp"
#include "text/interface.hpp"

namespace rill::emulated {

class block_fibers;
class fiber;

/// The blocks of a launch, one after the other.
class running_block {
 public:
  /// Threads run in an order of this seed, and in a new one behind each barrier. `now` says which one runs.
  running_block(kernel_entry const& kernel, void* const* arguments, kernel_thread& now, unsigned long long seed);
  running_block(running_block const&) = delete;
  running_block& operator=(running_block const&) = delete;

  /// Runs all threads of the block `now.block`. Throws kernel_fault.
  void run();
  /// Runs the thread whose turn it is: called by its fiber.
  void run_thread();

  // What kernels call. They may be on the way for ever: nothing on the stack may need a destructor where they wait.
  void wait_for_block(std::source_location where);
  std::uint64_t call_in_warp(warp_call const& call);

 private:
  enum class phase : unsigned char { ready, at_barrier, in_warp, ended };
  struct thread {
    fiber* runs_on;
    extent position;
    phase now;
    warp_call const* call;  // in_warp: on the thread's stack
    std::uint64_t result;   // of its last call
  };
  struct warp {
    unsigned waiting, ended;  // lanes
  };

  void begin_barrier_phase();
  bool complete(std::size_t first, warp_call const& call) const;
  void finish(std::size_t first, warp_call const& call);
  void go_on();
  void end_thread();
  std::string waiting() const;
  [[noreturn]] void refuse(std::string const& why) const;

  kernel_entry const& kernel_;
  void* const* arguments_;
  kernel_thread& now_;
  order order_, lanes_;
  block_fibers& fibers_;

  std::size_t const count_;
  std::size_t current_ = 0, at_barrier_ = 0, ended_ = 0;
  std::source_location barrier_;  // where those at a barrier wait
  std::vector<thread> threads_;
  std::vector<warp> warps_;
  std::vector<unsigned short> ready_;  // a ring of threads that may go on, from first_ up to last_
  std::size_t first_ = 0, last_ = 0;
  std::exception_ptr fault_;
};

}  // namespace rill::emulated
