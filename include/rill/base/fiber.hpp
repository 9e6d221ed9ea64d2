// A fiber, which has its own stack. It is a thread that runs only while the resuming thread waits for it.
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>

#include "rill/base/error.hpp"
#include "rill/base/process.hpp"
#include "rill/base/thread.hpp"

namespace rill::detail {

/// A function that can be suspended and resumed. Before a fiber is destroyed it must have ended, or never have been
/// resumed.
class fiber {
 public:
  explicit fiber(std::function<void()> body) : body_(std::move(body)) {}
  fiber(fiber const&) = delete;
  fiber& operator=(fiber const&) = delete;
  ~fiber() { thread_.join(); }

  /// Runs the function until it suspends itself or ends, and returns whether it has ended. Throws the function's
  /// exception, if it ended with one.
  bool resume() {
    auto& [mutex, turn] = *shared_;
    std::unique_lock lock(mutex);
    inside_ = true;
    if (thread_.joinable()) turn.notify_all();
    else start();
    turn.wait(lock, [&] { return !inside_; });
    if (ended_ && failure_) throw error(*std::exchange(failure_, nullptr));
    return ended_;
  }

  /// Called from within the function: returns to the caller of `resume`, until the next `resume`.
  void suspend() {
    auto& [mutex, turn] = *shared_;
    std::unique_lock lock(mutex);
    inside_ = false;
    turn.notify_all();
    turn.wait(lock, [&] { return inside_; });
  }

 private:
  void start() try {
    thread_ = thread([this] {
      failure failed;
      try {
        body_();
      } catch (...) {
        failed = caught_failure();
      }
      auto& [mutex, turn] = *shared_;
      std::lock_guard lock(mutex);
      failure_ = std::move(failed);
      ended_ = true;
      inside_ = false;
      turn.notify_all();
    });
  } catch (error const& e) {
    inside_ = false;
    throw error(e.kind(), "a body that waits runs on its own thread, which could not be started: " + e.message());
  }

  struct handover {
    std::mutex mutex;
    std::condition_variable turn;
  };
  std::function<void()> body_;
  in_process<handover> shared_;
  bool inside_ = false, ended_ = false;
  failure failure_;
  thread thread_;
};

}  // namespace rill::detail
