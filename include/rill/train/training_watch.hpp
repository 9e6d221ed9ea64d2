// What a training loop looks out for while it trains: signals, and what a thread of its own sees.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <functional>
#include <mutex>
#include <stop_token>
#include <utility>

#include "rill/base/error.hpp"
#include "rill/base/thread.hpp"

namespace rill::detail {

/// While one exists, the first SIGTERM and the first SIGINT each set a flag. A second signal of the same kind ends the
/// process.
class caught_signals {
 public:
  explicit caught_signals(bool wanted) : wanted_(wanted) {
    if (!wanted_) return;
    auto& h = handlers::all();
    std::lock_guard const lock(h.mutex);
    if (h.users++ != 0) return;
    h.told = false;
    struct sigaction catches = {};
    catches.sa_handler = [](int) { handlers::all().told = true; };
    catches.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
    sigemptyset(&catches.sa_mask);
    sigaction(SIGTERM, &catches, &h.before[0]);
    sigaction(SIGINT, &catches, &h.before[1]);
  }
  ~caught_signals() {
    if (!wanted_) return;
    auto& h = handlers::all();
    std::lock_guard const lock(h.mutex);
    if (--h.users != 0) return;
    sigaction(SIGTERM, &h.before[0], nullptr);
    sigaction(SIGINT, &h.before[1], nullptr);
  }
  caught_signals(caught_signals const&) = delete;
  caught_signals& operator=(caught_signals const&) = delete;
  bool told() const { return wanted_ && handlers::all().told; }

 private:
  struct handlers {
    std::mutex mutex;
    int users = 0;  // loops that catch signals at the same time
    std::atomic<bool> told = false;
    struct sigaction before[2] = {};
    static_assert(std::atomic<bool>::is_always_lock_free);
    // Never destroyed: a signal may come while the program exits.
    static handlers& all() {
      static auto& h = *new handlers;
      return h;
    }
  };
  bool wanted_;
};

/// Calls a function every 50 ms on a thread of its own, until it returns a failure: then requests a stop.
class training_watch {
 public:
  explicit training_watch(std::function<failure()> look)
      : thread_([this, look = std::move(look)] {
          std::unique_lock lock(mutex_);
          while (!ending_) {
            lock.unlock();
            auto why = looked(look);
            lock.lock();
            if (why) {
              why_ = std::move(why);
              lock.unlock();
              stop_.request_stop();
              return;
            }
            changed_.wait_for(lock, std::chrono::milliseconds(50), [&] { return ending_; });
          }
        }) {}
  ~training_watch() {
    {
      std::lock_guard const lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  training_watch(training_watch const&) = delete;
  training_watch& operator=(training_watch const&) = delete;
  std::stop_token token() const { return stop_.get_token(); }
  /// Returns why it has requested a stop; null: it has not.
  failure why() const {
    std::lock_guard const lock(mutex_);
    return why_;
  }

 private:
  static failure looked(std::function<failure()> const& look) noexcept try { return look(); } catch (...) {
    return caught_failure();
  }
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  failure why_;
  std::stop_source stop_;
  thread thread_;  // begins last
};

}  // namespace rill::detail
