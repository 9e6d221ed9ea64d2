// What belongs to one process: threads, and the locks that they hold. fork() copies all memory and one thread.
#pragma once
#include <atomic>
#include <memory>
#include <thread>

#include "rill/base/config.hpp"

#if RILL_RUNTIME
#include <pthread.h>
#endif

namespace rill::detail {

/// How many forks made this process since it was first asked for. Whoever remembers it, and finds another number later,
/// has come into a child process by fork().
unsigned forks() noexcept;

/// A T of this process. In a child process the T of the parent is left as it lies (a lock may be held in it, and a
/// condition variable be waited for, by a thread that is not there), and a new one takes its place.
template <class T> class in_process {
 public:
  in_process() : made_in_(forks()) { std::construct_at(&value_); }
  in_process(in_process const&) = delete;
  in_process& operator=(in_process const&) = delete;
  ~in_process() {
    if (made_in_.load(std::memory_order_relaxed) == forks()) std::destroy_at(&value_);
  }

  T& operator*() noexcept {
    if (made_in_.load(std::memory_order_acquire) != forks()) make_again();
    return value_;
  }
  T* operator->() noexcept { return &**this; }

 private:
  static constexpr unsigned making = 1u << 31;

  void make_again() noexcept {
    auto const now = forks();
    for (auto seen = made_in_.load(std::memory_order_acquire); seen != now;)
      if (seen == (now | making)) {
        std::this_thread::yield();
        seen = made_in_.load(std::memory_order_acquire);
      } else if (made_in_.compare_exchange_weak(seen, now | making, std::memory_order_acquire)) {
        std::construct_at(&value_);
        made_in_.store(seen = now, std::memory_order_release);
      }
  }

  union {
    T value_;
  };
  std::atomic<unsigned> made_in_;
};

#if RILL_RUNTIME
RILL_INLINE unsigned forks() noexcept {
  static constinit std::atomic<unsigned> count{0};
  static bool const counting =
      pthread_atfork(nullptr, nullptr, [] { count.fetch_add(1, std::memory_order_relaxed); }) == 0;
  (void)counting;
  return count.load(std::memory_order_relaxed) & ~(1u << 31);
}
#endif

}  // namespace rill::detail
