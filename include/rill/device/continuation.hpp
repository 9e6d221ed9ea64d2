// How a kernel waits without holding a thread (docs/architecture/execution.md).
#pragma once
#include <functional>
#include <memory>
#include <utility>

#include "rill/base/error.hpp"

namespace rill {

/// By which a kernel that waits tells its step that it is done.
class continuation {
 public:
  virtual ~continuation() = default;
  /// The outputs are in place, or not, and why. Once, by any thread; the kernel touches nothing of the step
  /// after it.
  virtual void resume(failure why) noexcept = 0;
  /// `f` is called soon, by a thread that works on the step: for kernels with work of their own to go on with after a
  /// wait, or to share.
  virtual void offer(std::function<void()> f) { f(); }
  /// Sets how the step asks the kernel to give up, for the reason it is handed: then, or when it was done just before,
  /// the kernel resumes. To be set before it may resume. `f` may be called when the kernel has resumed, so it keeps
  /// alive, or watches, what it touches.
  void on_give_up(std::function<void(failure why)> f) {
    give_up_ = std::make_shared<std::function<void(failure why)> const>(std::move(f));
  }

  /// How a kernel is asked to give up; copies need no memory, so that a step without any can still end.
  using asking = std::shared_ptr<std::function<void(failure why)> const>;

 protected:
  asking give_up_;
};

/// What a kernel that may wait is called from. One that can be done at once just returns; one that can't asks for a
/// continuation, once, and may return before it is done. A kernel that throws has not waited, and does not resume.
class suspendable {
 public:
  virtual continuation& suspend() = 0;
  /// Whether the thread that calls will sleep until the kernel is done: then the kernel may as well hold it.
  virtual bool sleeps() const { return false; }

 protected:
  ~suspendable() = default;
};

}  // namespace rill
