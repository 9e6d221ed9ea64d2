// A fiber with a stack of its own: a thread that runs only while another one waits for it.
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>

#include "rill/base/error.hpp"
#include "rill/base/process.hpp"
#include "rill/base/thread.hpp"

namespace rill::detail {

/// It must have ended, or never have been resumed, when it is destroyed.
class fiber {
 public:
  explicit fiber(std::function<void()> body) : body_(std::move(body)) {}
  fiber(fiber const&) = delete;
  fiber& operator=(fiber const&) = delete;
  ~fiber() { thread_.join(); }

  /// Runs it until it suspends itself, or ends; whether it has ended. Throws what it throws, and then it has.
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

  /// From inside: goes back to whom it was resumed by, until it is resumed again.
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
    throw error(e.code(), "there is no stack of its own for a body that waits: " + e.message());
  }

  struct handing_over {
    std::mutex mutex;
    std::condition_variable turn;
  };
  std::function<void()> body_;
  in_process<handing_over> shared_;
  bool inside_ = false, ended_ = false;
  failure failure_;
  thread thread_;
};

}  // namespace rill::detail
