// A stream that is a thread of its own.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

#include "rill/base/error.hpp"
#include "rill/base/thread.hpp"
#include "rill/device/stream.hpp"
#include "rill/tensor/memory_space.hpp"

namespace rill {

/// Runs one piece of work, and returns when the device has finished it.
using work_runner = std::function<void(stream_work&)>;

/// A stream whose work runs on one thread, which starts with the first work and sleeps while there is none. It counts
/// the seconds that its work has at the device's set speed: a clock of its own, whatever the wall's says.
class thread_stream final : public stream {
 public:
  /// `touch`: the emulated memory that the thread may touch. `paced`: each piece of work takes its seconds, or longer.
  explicit thread_stream(detail::touchable_range touch = {}, bool paced = false) : touch_(touch), paced_(paced) {}
  /// Calls `runner` for each piece of work, on the stream's thread.
  explicit thread_stream(work_runner runner) : paced_(false), runner_(std::move(runner)) {}
  /// Waits until all work is done.
  ~thread_stream();

  void submit(stream_work& work) override;
  bool withdraw(stream_work& work) override;
  /// Fails all work from now on, and `submit`, with `why`; null: works again.
  void fail(failure why);
  /// Begins no work until it is called with false.
  void stall(bool stalled);
  /// Fails the n-th piece of work from now on, 1 the next; 0: none. `lasting`: and all after it, like `fail`.
  void fail_at(std::uint64_t n, failure why, bool lasting = false);
  /// Begins no work from the n-th piece from now on, 1 the next, until `stall(false)`; 0: goes on.
  void stall_at(std::uint64_t n);
  /// Returns the seconds of the work that it has done.
  double seconds() const noexcept { return seconds_.load(std::memory_order_relaxed); }

 private:
  void serve();
  void sleep(std::unique_lock<std::mutex>& lock);
  void wake(std::unique_lock<std::mutex>& lock);
  bool has_turn() const { return (first_ && !stalled_) || (ending_ && !first_); }
  failure run(stream_work& work);

  detail::touchable_range const touch_ = {};
  bool const paced_;
  work_runner const runner_;        // empty: the work's own `run` is called
  std::atomic<double> seconds_{0};  // written by the thread alone
  std::mutex mutex_;
  stream_work *first_ = nullptr, *last_ = nullptr;
  failure failure_, planned_;
  // Pieces of work from now on; 0: none is to fail, or to stall.
  std::uint64_t planned_at_ = 0, stalls_at_ = 0;
  bool lasting_ = false, stalled_ = false, ending_ = false;
  // 1 while the thread sleeps. It waits for this number rather than for a condition variable, behind which a mutex
  // costs a system call more (glibc takes the mutex as one for which others wait).
  std::atomic<int> asleep_{0};
  detail::thread thread_;
};

}  // namespace rill

#if RILL_RUNTIME
#include <chrono>
#include <thread>

#include "rill/base/float_environment.hpp"

namespace rill {

RILL_INLINE thread_stream::~thread_stream() {
  {
    std::unique_lock lock(mutex_);
    ending_ = true;
    stalled_ = false;
    stalls_at_ = 0;
    wake(lock);
  }
  if (thread_.joinable()) thread_.join();
}

RILL_INLINE void thread_stream::submit(stream_work& work) {
  std::unique_lock lock(mutex_);
  if (failure_) throw error(*failure_);
  if (!thread_.joinable()) thread_ = detail::thread([this] { serve(); });
  work.next = nullptr;
  (first_ ? last_->next : first_) = &work;
  last_ = &work;
  wake(lock);
}

RILL_INLINE void thread_stream::sleep(std::unique_lock<std::mutex>& lock) {
  asleep_.store(1, std::memory_order_relaxed);
  lock.unlock();
  asleep_.wait(1);
  lock.lock();
}
// Wakes the thread, and releases the lock before, or the thread would wake only to wait for it.
RILL_INLINE void thread_stream::wake(std::unique_lock<std::mutex>& lock) {
  bool const wakes = asleep_.exchange(0) != 0;
  lock.unlock();
  if (wakes) asleep_.notify_one();
}

RILL_INLINE bool thread_stream::withdraw(stream_work& work) {
  std::lock_guard lock(mutex_);
  stream_work* before = nullptr;
  for (auto* each = first_; each; before = std::exchange(each, each->next))
    if (each == &work) {
      (before ? before->next : first_) = work.next;
      if (last_ == &work) last_ = before;
      return true;
    }
  return false;
}

RILL_INLINE void thread_stream::fail(failure why) {
  std::lock_guard lock(mutex_);
  failure_ = std::move(why);
}
RILL_INLINE void thread_stream::stall(bool stalled) {
  std::unique_lock lock(mutex_);
  stalled_ = stalled;
  wake(lock);
}
RILL_INLINE void thread_stream::fail_at(std::uint64_t n, failure why, bool lasting) {
  std::lock_guard lock(mutex_);
  planned_at_ = n;
  planned_ = std::move(why);
  lasting_ = lasting;
}
RILL_INLINE void thread_stream::stall_at(std::uint64_t n) {
  std::lock_guard lock(mutex_);
  stalls_at_ = n;
}

RILL_INLINE void thread_stream::serve() {
  detail::touch(touch_);
  std::unique_lock lock(mutex_);
  for (;;) {
    while (!has_turn()) sleep(lock);
    if (!first_) return;
    if (stalls_at_ != 0 && --stalls_at_ == 0) {
      stalled_ = true;
      continue;
    }
    auto& work = *first_;
    first_ = work.next;
    auto why = failure_;
    if (planned_at_ != 0 && --planned_at_ == 0) {
      why = std::exchange(planned_, nullptr);
      if (lasting_) failure_ = why;
    }
    lock.unlock();
    if (!why) why = run(work);
    work.done(std::move(why));
    lock.lock();
  }
}

RILL_INLINE failure thread_stream::run(stream_work& work) {
  using clock = std::chrono::steady_clock;
  bool const sleeps = paced_ && work.seconds > 0;
  auto const begin = sleeps ? clock::now() : clock::time_point();
  detail::default_float_environment const environment;
  try {
    if (runner_) runner_(work);
    else work.run();
  } catch (...) {
    return caught_failure();
  }
  seconds_.store(seconds() + work.seconds, std::memory_order_relaxed);
  if (sleeps) std::this_thread::sleep_until(begin + std::chrono::duration<double>(work.seconds));
  return nullptr;
}

}  // namespace rill
#endif
