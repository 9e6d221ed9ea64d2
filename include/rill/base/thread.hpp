// A thread that may be missing, because the system starts no more threads or because fork() left it in another process.
#pragma once
#include <concepts>
#include <memory>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "rill/base/error.hpp"
#include "rill/base/process.hpp"

namespace rill::detail {

/// A thread that must be joined before the object is destroyed. A child process of fork() does not have the thread, and
/// joins nothing.
class thread {
 public:
  thread() = default;
  /// Runs `f` on a new thread; throws error(resource_exhausted) if the system starts no more threads.
  template <std::invocable F> explicit thread(F f) try : started_in_(forks()), thread_(std::move(f)) {
  } catch (std::system_error const&) {
    throw error(
        code::resource_exhausted,
        "the system starts no more threads: raise the limits of processes and of memory (ulimit -u, ulimit -v)");
  } catch (std::bad_alloc const&) {
    throw error(code::resource_exhausted, "no memory for another thread");
  }
  thread(thread&& other) noexcept = default;
  /// `*this` must have been joined, or never have started.
  thread& operator=(thread&&) noexcept = default;
  ~thread() { forget_of_another_process(); }

  /// Whether the thread still has to be joined.
  bool joinable() noexcept {
    forget_of_another_process();
    return thread_.joinable();
  }
  /// Waits until the thread has ended.
  void join() {
    if (joinable()) thread_.join();
  }

 private:
  void forget_of_another_process() noexcept {
    if (thread_.joinable() && started_in_ != forks()) std::construct_at(&thread_);
  }

  unsigned started_in_ = 0;
  std::thread thread_;
};

}  // namespace rill::detail
