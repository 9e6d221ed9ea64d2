// Threads for parallel loops: an exact number of them, asleep while there is nothing to do.
#pragma once
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "rill/base/parallel.hpp"

namespace rill {

/// `threads` threads, the calling one counted: a pool of 1 starts none. Loops are fork-join: the caller claims chunks
/// like everybody else and waits only for chunks that somebody has claimed, so loops may start loops.
class pool {
 public:
  explicit pool(int threads) : threads_(std::max(threads, 1)) {}
  pool(pool const&) = delete;
  pool& operator=(pool const&) = delete;
  ~pool() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (auto& t : workers_) t.join();
  }

  int threads() const noexcept { return threads_; }

  /// The pool as kernels see it.
  rill::parallel parallel() noexcept {
    return {[](void* self, std::size_t chunks, rill::parallel::body body, void* argument) {
              static_cast<pool*>(self)->run(chunks, body, argument);
            },
            this, threads_};
  }

 private:
  struct loop {
    std::size_t chunks;
    rill::parallel::body body;
    void* argument;
    std::atomic<std::size_t> next{0};
    int helpers = 0;  // threads inside, the owner not counted; guarded by the pool's mutex
    loop* below = nullptr;

    void work() {
      for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < chunks;) body(argument, i);
    }
    bool exhausted() const { return next.load(std::memory_order_relaxed) >= chunks; }
  };

  void run(std::size_t chunks, rill::parallel::body body, void* argument) {
    loop mine{chunks, body, argument};
    {
      std::lock_guard lock(mutex_);
      start();
      mine.below = top_;
      top_ = &mine;
    }
    if (chunks == 2) wake_.notify_one();
    else wake_.notify_all();
    mine.work();
    std::unique_lock lock(mutex_);
    for (auto** at = &top_; *at; at = &(*at)->below)
      if (*at == &mine) {
        *at = mine.below;
        break;
      }
    done_.wait(lock, [&] { return mine.helpers == 0; });
  }

  // Threads start with the first loop, not before.
  void start() {
    while (workers_.size() + 1 < static_cast<std::size_t>(threads_)) workers_.emplace_back([this] { serve(); });
  }

  loop* unfinished() const {
    for (auto* l = top_; l; l = l->below)
      if (!l->exhausted()) return l;
    return nullptr;
  }

  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      loop* job = nullptr;
      wake_.wait(lock, [&] { return stop_ || (job = unfinished()) != nullptr; });
      if (stop_) return;
      ++job->helpers;
      lock.unlock();
      job->work();
      lock.lock();
      if (--job->helpers == 0) done_.notify_all();
    }
  }

  int threads_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  loop* top_ = nullptr;
  bool stop_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace rill
