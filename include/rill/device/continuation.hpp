// How a kernel waits without holding a thread (architecture.md, idea 9).
#pragma once
#include <exception>
#include <functional>
#include <utility>

namespace rill {

/// By which a kernel that waits tells its step that it is done: `kernel::waits` kernels are called with one, and may
/// return before. A kernel that throws has not waited, and does not resume.
class continuation {
 public:
  virtual ~continuation() = default;
  /// The outputs are in place, or `failure` says why not. Once, by any thread; the kernel touches nothing of the step
  /// after it.
  virtual void resume(std::exception_ptr failure) noexcept = 0;
  /// Sets how the step asks the kernel to give up, for the reason it is handed: then, or when it was done just before,
  /// the kernel resumes. To be set before it may resume.
  void on_give_up(std::function<void(std::exception_ptr why)> f) { give_up_ = std::move(f); }

 protected:
  std::function<void(std::exception_ptr)> give_up_;
};

}  // namespace rill
