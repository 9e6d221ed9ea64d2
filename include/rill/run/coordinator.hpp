// Client threads that work for one purpose, stop together, and hand their errors on.
#pragma once
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "rill/base/deadline.hpp"
#include "rill/device/step.hpp"

namespace rill {

/// Starts threads, and stops them all when one fails or somebody asks. Its end stops them and waits for them: steps
/// that are run with `stop()` end at once, so that a program's end can't hang on them.
class coordinator {
 public:
  coordinator() = default;
  coordinator(coordinator const&) = delete;
  coordinator& operator=(coordinator const&) = delete;
  ~coordinator() {
    request_stop();
    for (auto& t : threads_) t.join();
  }

  /// Runs `f` on a thread of its own. What it throws stops all, and is kept for `join`.
  void start(std::function<void()> f);

  /// Asks all to stop. Of several reasons the first is kept; without one it is no failure.
  void request_stop(std::exception_ptr why = {});
  bool should_stop() const { return stop_.cancelled(); }
  /// Why they stop; null: no stop was asked for, or without a reason.
  std::exception_ptr reason() const {
    std::lock_guard lock(mutex_);
    return failure_;
  }
  /// What steps are run with that are to end when all stop: `s.run(train, c.stop())`.
  cancellation const& stop() const { return stop_; }

  /// Sleeps until a stop is asked for, or the time is over; whether it was asked for.
  bool wait_for(std::chrono::nanoseconds time);

  /// Waits until the threads have ended by themselves, and throws the first failure; error(deadline_exceeded) if they
  /// take longer.
  void join(std::chrono::nanoseconds deadline = std::chrono::hours(24 * 365));

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::thread> threads_;
  std::size_t running_ = 0;
  bool stopped_ = false;
  std::exception_ptr failure_;
  cancellation stop_;
};

#if RILL_RUNTIME

RILL_INLINE void coordinator::start(std::function<void()> f) {
  std::lock_guard lock(mutex_);
  threads_.emplace_back([this, f = std::move(f)] {
    try {
      f();
    } catch (...) {
      request_stop(std::current_exception());
    }
    std::lock_guard done(mutex_);
    --running_;
    changed_.notify_all();
  });
  ++running_;  // it waits for the lock until then
}

RILL_INLINE void coordinator::request_stop(std::exception_ptr why) {
  {
    std::lock_guard lock(mutex_);
    if (!stopped_) failure_ = std::move(why);
    stopped_ = true;
    changed_.notify_all();
  }
  stop_.cancel();
}

RILL_INLINE bool coordinator::wait_for(std::chrono::nanoseconds time) {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline_after(time), [&] { return stopped_; });
}

RILL_INLINE void coordinator::join(std::chrono::nanoseconds deadline) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_until(lock, deadline_after(deadline), [&] { return running_ == 0; }))
    throw error(code::deadline_exceeded, std::to_string(running_) + " threads of a coordinator have not ended");
  if (failure_) std::rethrow_exception(failure_);
}

#endif

}  // namespace rill
