// One wait of a kernel that was suspended (architecture.md, *Waiting is a continuation*).
//
// Two threads decide who goes on with the step: the *caller*, whose call of the kernel returns, and the *resumer*, who
// tells that the kernel is done. They come in either order, or at the same time. A third thread may *ask* the kernel to
// give up, because the step is to end: at any time, and several times.
//
//        called ──── the call returns ────> waiting ──── resume ────────────> the resumer goes on with the step
//           └─────────── resume ──────────> done ─────── the call returns ──> the caller goes on with the step
//
//   1. The one that comes second goes on with the step; the first does nothing more. Each sets its own flag in one
//      atomic word and sees the other's flag by the same operation, so exactly one of them is second.
//   2. The kernel is asked to give up while it waits, never within its call, and at most once. Who would ask it within
//      its call leaves the reason instead, and the caller asks when the call has returned.
//   3. The first reason to give up counts. The kernel resumes with that reason, or as if it had not been asked, if it
//      was served just before.
//   4. Setting the flag is the last that the first of the two does with the suspension: the second may destroy it.
#pragma once
#include <atomic>
#include <utility>

#include "rill/device/continuation.hpp"

namespace rill {

/// The handshake of one wait. Its owner says what it means to go on.
class suspension : public continuation {
 public:
  /// The request to give up. Its caller holds no lock, for the kernel may resume within it. A copy needs no memory.
  struct request {
    asking ask = {};
    failure why = {};
    explicit operator bool() const { return ask != nullptr; }
    void operator()() const {
      if (ask) (*ask)(why);
    }
  };

  /// The kernel's call has returned without an exception. Returns whether the kernel waits, so that its resumer goes
  /// on; otherwise it is done, and the caller goes on. The caller holds no lock.
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

  /// The kernel is done; `why` it failed, or null.
  void resume(failure why) noexcept final {
    cause_ = std::move(why);
    if ((flags_.fetch_or(resumed, std::memory_order_acq_rel) & call_returned) != 0) go_on();
  }

  /// The step is to end. Returns what the caller has to call then, without a lock; it may be empty. The owner keeps the
  /// suspension alive during this call.
  [[nodiscard]] request give_up(failure why) noexcept {
    if ((flags_.fetch_or(reason_taken, std::memory_order_acq_rel) & reason_taken) != 0) return {};
    reason_ = std::move(why);
    auto const seen = flags_.fetch_or(asked, std::memory_order_acq_rel);
    return (seen & (call_returned | resumed)) == call_returned ? request{give_up_, reason_} : request{};
  }

  /// Why the kernel failed; null: it did not. For the thread that goes on.
  failure const& cause() const { return cause_; }

 protected:
  ~suspension() override = default;

 private:
  /// The kernel has waited and is done: goes on with the step, or has another thread do so.
  virtual void go_on() noexcept = 0;

  enum : unsigned { call_returned = 1, resumed = 2, reason_taken = 4, asked = 8 };
  std::atomic<unsigned> flags_{0};
  failure cause_, reason_;
};

}  // namespace rill
