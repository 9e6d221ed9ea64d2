// One wait of a suspended kernel (docs/architecture/execution.md, *Waiting is a continuation*).
//
// Either of two threads continues the step: the *caller*, whose call of the kernel returns, or the *resumer*, which
// calls `resume` when the kernel is done. They come in either order, or at the same time. A third thread may *ask* the
// kernel to give up, because the step is to end: at any time, and more than once.
//
//        called ──── the call returns ────> waiting ──── resume ────────────> the resumer continues the step
//           └─────────── resume ──────────> done ─────── the call returns ──> the caller continues the step
//
// 1. The thread that comes second continues the step; the first does nothing more. Each sets its own flag in one atomic
//    word, and reads the other's flag in the same operation, so exactly one of them is second.
// 2. The kernel is asked to give up only while it waits, never within its call, and at most once. A thread that wants
//    this within the call leaves the reason, and the caller asks when the call has returned.
// 3. The first reason to give up counts. The kernel resumes with that reason, or with its result if it was done before.
// 4. The first thread does not touch the suspension after setting its flag, because the second may destroy it.
#pragma once
#include <atomic>
#include <utility>

#include "rill/device/continuation.hpp"

namespace rill {

/// The handshake of one wait. A derived class defines how the step continues.
class suspension : public continuation {
 public:
  /// A request to give up, which is called without a lock because the kernel may resume within it. Copies need no
  /// memory.
  struct request {
    asking ask = {};
    failure why = {};
    explicit operator bool() const { return ask != nullptr; }
    void operator()() const {
      if (ask) (*ask)(why);
    }
  };

  /// Called by the caller when the kernel's call has returned without an exception; without a lock. Returns true if the
  /// kernel waits: then the resumer continues the step. Returns false if it is done: then the caller continues.
  bool returned() {
    request give_up;
    auto seen = flags_.load(std::memory_order_acquire);
    do
      if ((seen & asked) != 0) give_up = {give_up_, reason_};
    while (!flags_.compare_exchange_weak(seen, seen | call_returned, std::memory_order_acq_rel));
    if ((seen & resumed) != 0) return false;
    give_up();
    return true;
  }

  /// Called by the resumer when the kernel is done; `why` is its error, or null.
  void resume(failure why) noexcept final {
    cause_ = std::move(why);
    if ((flags_.fetch_or(resumed, std::memory_order_acq_rel) & call_returned) != 0) continue_step();
  }

  /// Called when the step is to end. Returns a request, perhaps empty, which must be called then, without a lock. The
  /// owner keeps the suspension alive during `give_up`.
  [[nodiscard]] request give_up(failure why) noexcept {
    if ((flags_.fetch_or(reason_taken, std::memory_order_acq_rel) & reason_taken) != 0) return {};
    reason_ = std::move(why);
    auto const seen = flags_.fetch_or(asked, std::memory_order_acq_rel);
    return (seen & (call_returned | resumed)) == call_returned ? request{give_up_, reason_} : request{};
  }

  /// Returns the kernel's error, or null; for the thread that continues the step.
  failure const& cause() const { return cause_; }

 protected:
  ~suspension() override = default;

 private:
  /// Continues the step after the wait, or has another thread continue it.
  virtual void continue_step() noexcept = 0;

  enum : unsigned { call_returned = 1, resumed = 2, reason_taken = 4, asked = 8 };
  std::atomic<unsigned> flags_{0};
  failure cause_, reason_;
};

}  // namespace rill
