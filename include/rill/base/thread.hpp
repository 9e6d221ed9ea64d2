// A thread that may not be there: because the system has none to give, or because fork() left it in another process.
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

/// A thread that is joined before this ends. A child process that fork() made does not have it, and has
/// nothing to wait for.
class thread {
 public:
  thread() = default;
  /// Runs `f` on a new thread; error(resource_exhausted) if the system has none.
  template <std::invocable F> explicit thread(F f) try : started_in_(forks()), thread_(std::move(f)) {
  } catch (std::system_error const&) {
    throw error(code::resource_exhausted,
                "the system starts no more threads: see the limits of its users and of memory (ulimit -u, ulimit -v)");
  } catch (std::bad_alloc const&) {
    throw error(code::resource_exhausted, "no memory for another thread");
  }
  thread(thread&& other) noexcept = default;
  /// This must have been joined, or never have run.
  thread& operator=(thread&&) noexcept = default;
  ~thread() { forget_of_another_process(); }

  /// Whether it is to be joined.
  bool joinable() noexcept {
    forget_of_another_process();
    return thread_.joinable();
  }
  /// Waits for its end.
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
