// A coroutine with a stack of its own: a thread that runs only while another one waits for it.
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "rill/base/error.hpp"

namespace rill::detail {

/// It must have ended, or never have been resumed, when it is destroyed.
class coroutine {
 public:
  explicit coroutine(std::function<void()> body) : body_(std::move(body)) {}
  coroutine(coroutine const&) = delete;
  coroutine& operator=(coroutine const&) = delete;
  ~coroutine() {
    if (thread_.joinable()) thread_.join();
  }

  /// Runs it until it suspends itself, or ends; whether it has ended. Throws what it throws, and then it has.
  bool resume() {
    std::unique_lock lock(mutex_);
    inside_ = true;
    if (thread_.joinable()) turn_.notify_all();
    else start();
    turn_.wait(lock, [&] { return !inside_; });
    if (ended_ && failure_) throw error(*std::exchange(failure_, nullptr));
    return ended_;
  }

  /// From inside: goes back to whom it was resumed by, until it is resumed again.
  void suspend() {
    std::unique_lock lock(mutex_);
    inside_ = false;
    turn_.notify_all();
    turn_.wait(lock, [&] { return inside_; });
  }

 private:
  void start() try {
    thread_ = std::thread([this] {
      failure failed;
      try {
        body_();
      } catch (...) {
        failed = caught_failure();
      }
      std::lock_guard lock(mutex_);
      failure_ = std::move(failed);
      ended_ = true;
      inside_ = false;
      turn_.notify_all();
    });
  } catch (std::system_error const&) {
    inside_ = false;
    throw error(code::resource_exhausted, "there is no thread for a stack of its own");
  }

  std::function<void()> body_;
  std::mutex mutex_;
  std::condition_variable turn_;
  bool inside_ = false, ended_ = false;
  failure failure_;
  std::thread thread_;
};

}  // namespace rill::detail
