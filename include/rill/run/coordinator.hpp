// A group of a program's threads, which stop together.
#pragma once
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "rill/base/deadline.hpp"
#include "rill/base/process.hpp"
#include "rill/base/thread.hpp"

namespace rill {

/// Starts threads, and stops them all when one fails or `request_stop` is called. Its destructor stops them and waits
/// for them. Steps that are run with `stop()` end at once then, so that the destructor does not hang.
class coordinator {
 public:
  coordinator() = default;
  coordinator(coordinator const&) = delete;
  coordinator& operator=(coordinator const&) = delete;
  ~coordinator();

  /// Runs `f` on a new thread. If `f` throws, all threads are asked to stop, and `join` throws the exception. Throws
  /// error(resource_exhausted) if the system can't start a thread.
  void start(std::function<void()> f);

  /// Asks all threads to stop. The first call's reason is kept for `join`; null means that there is no failure.
  void request_stop(std::exception_ptr why = {});
  bool should_stop() const { return here_->stop.stop_requested(); }
  /// Returns the reason of the first stop request; null: there was no request, or no reason.
  std::exception_ptr reason() const {
    std::lock_guard lock(here_->mutex);
    return here_->failure;
  }
  /// Returns a token for steps that are to end when the threads stop: `s.run(train, c.stop())`.
  std::stop_token stop() const { return here_->stop.get_token(); }

  /// Waits until a stop is requested or the time is over. Returns whether a stop was requested.
  bool wait_for(std::chrono::nanoseconds time);

  /// Waits until the threads have ended, and throws the first failure. Throws error(deadline_exceeded) if they take
  /// longer.
  void join(std::chrono::nanoseconds deadline = std::chrono::hours(24 * 365));

 private:
  // The threads and the state that they share. A child process of fork() gets an empty group.
  struct group {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<detail::thread> threads;
    std::size_t running = 0;
    bool stopped = false;
    std::exception_ptr failure;
    std::stop_source stop;

    void request_stop(std::exception_ptr why);
  };
  mutable detail::in_process<group> here_;
};

#if RILL_RUNTIME

RILL_INLINE coordinator::~coordinator() {
  request_stop();
  for (auto& t : here_->threads) t.join();
}

RILL_INLINE void coordinator::start(std::function<void()> f) {
  auto& here = *here_;
  std::lock_guard lock(here.mutex);
  only_errors([&] {
    here.threads.emplace_back([&here, f = std::move(f)] {
      try {
        f();
      } catch (...) {
        here.request_stop(std::current_exception());
      }
      std::lock_guard done(here.mutex);
      --here.running;
      here.changed.notify_all();
    });
  });
  ++here.running;  // the thread can't end before, because it waits for the lock
}

RILL_INLINE void coordinator::request_stop(std::exception_ptr why) { here_->request_stop(std::move(why)); }
RILL_INLINE void coordinator::group::request_stop(std::exception_ptr why) {
  {
    std::lock_guard lock(mutex);
    if (!stopped) failure = std::move(why);
    stopped = true;
    changed.notify_all();
  }
  stop.request_stop();
}

RILL_INLINE bool coordinator::wait_for(std::chrono::nanoseconds time) {
  auto& here = *here_;
  std::unique_lock lock(here.mutex);
  return here.changed.wait_until(lock, deadline_after(time), [&] { return here.stopped; });
}

RILL_INLINE void coordinator::join(std::chrono::nanoseconds deadline) {
  auto& here = *here_;
  std::unique_lock lock(here.mutex);
  if (!here.changed.wait_until(lock, deadline_after(deadline), [&] { return here.running == 0; }))
    throw error(code::deadline_exceeded, std::to_string(here.running) + " threads of a coordinator are still running");
  if (here.failure) std::rethrow_exception(here.failure);
}

#endif

}  // namespace rill
