// Client threads that work for one purpose, stop together, and hand their errors on.
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

/// Starts threads, and stops them all when one fails or somebody asks. Its end stops them and waits for them: steps
/// that are run with `stop()` end at once, so that a program's end can't hang on them.
class coordinator {
 public:
  coordinator() = default;
  coordinator(coordinator const&) = delete;
  coordinator& operator=(coordinator const&) = delete;
  ~coordinator();

  /// Runs `f` on a thread of its own. What it throws stops all, and is kept for `join`. error(resource_exhausted) if
  /// the system starts no more threads.
  void start(std::function<void()> f);

  /// Asks all to stop. Of several reasons the first is kept; without one it is no failure.
  void request_stop(std::exception_ptr why = {});
  bool should_stop() const { return here_->stop.stop_requested(); }
  /// Why they stop; null: no stop was asked for, or without a reason.
  std::exception_ptr reason() const {
    std::lock_guard lock(here_->mutex);
    return here_->failure;
  }
  /// What steps are run with that are to end when all stop: `s.run(train, c.stop())`.
  std::stop_token stop() const { return here_->stop.get_token(); }

  /// Sleeps until a stop is asked for, or the time is over; whether it was asked for.
  bool wait_for(std::chrono::nanoseconds time);

  /// Waits until the threads have ended by themselves, and throws the first failure; error(deadline_exceeded) if they
  /// take longer.
  void join(std::chrono::nanoseconds deadline = std::chrono::hours(24 * 365));

 private:
  // The threads, and what they share. In a child process that fork() made there are none.
  struct company {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<detail::thread> threads;
    std::size_t running = 0;
    bool stopped = false;
    std::exception_ptr failure;
    std::stop_source stop;

    void request_stop(std::exception_ptr why);
  };
  mutable detail::in_process<company> here_;
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
  ++here.running;  // it waits for the lock until then
}

RILL_INLINE void coordinator::request_stop(std::exception_ptr why) { here_->request_stop(std::move(why)); }
RILL_INLINE void coordinator::company::request_stop(std::exception_ptr why) {
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
    throw error(code::deadline_exceeded, std::to_string(here.running) + " threads of a coordinator have not ended");
  if (here.failure) std::rethrow_exception(here.failure);
}

#endif

}  // namespace rill
