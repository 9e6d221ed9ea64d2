// State that belongs to one process, such as threads and the locks that they hold: fork() copies all memory but only
// one thread.
#pragma once
#include <atomic>
#include <memory>
#include <thread>

#include "rill/base/config.hpp"

#if RILL_RUNTIME
#include <pthread.h>
#endif

namespace rill::detail {

/// Returns the number of forks between the first call of this function and this process. If the number has changed
/// since the last call, this is a child process of fork().
unsigned forks() noexcept;

/// A T for each process. A child process abandons its parent's T, in which a lock may be held, or a condition variable
/// waited for, by a thread that the child does not have, and constructs a new one in its place.
template <class T> class in_process {
 public:
  in_process() : constructed_at_(forks()) { std::construct_at(&value_); }
  in_process(in_process const&) = delete;
  in_process& operator=(in_process const&) = delete;
  ~in_process() {
    if (constructed_at_.load(std::memory_order_relaxed) == forks()) std::destroy_at(&value_);
  }

  T& operator*() noexcept {
    if (constructed_at_.load(std::memory_order_acquire) != forks()) reconstruct();
    return value_;
  }
  T* operator->() noexcept { return &**this; }

 private:
  static constexpr unsigned constructing = 1u << 31;

  void reconstruct() noexcept {
    auto const now = forks();
    for (auto seen = constructed_at_.load(std::memory_order_acquire); seen != now;)
      if (seen == (now | constructing)) {
        std::this_thread::yield();
        seen = constructed_at_.load(std::memory_order_acquire);
      } else if (constructed_at_.compare_exchange_weak(seen, now | constructing, std::memory_order_acquire)) {
        std::construct_at(&value_);
        constructed_at_.store(seen = now, std::memory_order_release);
      }
  }

  union {
    T value_;
  };
  std::atomic<unsigned> constructed_at_;
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
