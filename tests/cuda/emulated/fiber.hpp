// Fibers: functions with stacks of their own, of which one at a time runs on a thread of the host.
#pragma once
#include <cstddef>

namespace rill::emulated {

/// A fiber stays on the thread of the host that made it.
class fiber {
 public:
  /// The calling thread itself, with its own stack.
  fiber();
  /// A fiber that calls `run(argument)` when something switches to it. `run` never returns or throws. Fibers that run
  /// one after the other should have different numbers: their stacks meet in the processor's cache otherwise. Throws
  /// std::bad_alloc.
  fiber(std::size_t number, void (*run)(void*), void* argument);
  fiber(fiber const&) = delete;
  fiber& operator=(fiber const&) = delete;
  ~fiber();

  /// Goes on with `next`, until something switches back to this fiber, which is the one that runs now.
  void switch_to(fiber& next);
  /// Makes a fiber that does not run now begin anew. What lies on its stack is dropped: no destructor runs.
  void drop();

 private:
  friend void run_fiber(fiber&);
  void prepare();
  void forget();

  std::byte* mapped_ = nullptr;
  void* waiting_ = nullptr;  // where it goes on: the top of its stack, or a ucontext_t
  std::size_t number_ = 0;
  void (*run_)(void*) = nullptr;
  void* argument_ = nullptr;

  void const* bottom_ = nullptr;  // of its stack
  std::size_t bytes_ = 0;
  void* sanitizer_ = nullptr;  // a sanitizer's own
};

}  // namespace rill::emulated
