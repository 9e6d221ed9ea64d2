// Threads for parallel loops: an exact number of them, asleep while there is nothing to do.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "rill/base/config.hpp"
#include "rill/base/parallel.hpp"

namespace rill {

/// Work that threads of a pool may join: a loop's chunks, or whatever else hands out pieces.
struct pool_job {
  bool (*ready)(pool_job const&);  ///< whether there is a piece to do; asked under the pool's lock
  void (*work)(pool_job&);         ///< does pieces, and returns when none is left for now; must not throw
  int helpers = 0;                 ///< threads inside, the owner not counted; guarded by the pool's lock
  pool_job* below = nullptr;
};

/// `threads` threads, the calling one counted: a pool of 1 starts none. Loops are fork-join: the caller claims chunks
/// like everybody else and waits only for chunks that somebody has claimed, so loops may start loops.
class pool {
 public:
  explicit pool(int threads) : threads_(std::max(threads, 1)) {}
  pool(pool const&) = delete;
  pool& operator=(pool const&) = delete;
  ~pool();

  int threads() const noexcept { return threads_; }

  /// The pool as kernels see it.
  rill::parallel parallel() noexcept;

  /// Who works on a driven job: all threads, or the one that drives it alone, which wakes nobody.
  enum class company { all, none };

  /// Works on a job whose pieces appear one by one until `finished()`, and on whatever else the pool has meanwhile, so
  /// that no thread of it sleeps while there is work. `finished` is asked under the pool's lock.
  template <class Finished> void drive(pool_job& mine, company with, Finished finished) {
    drive(mine, with, finished, [&](auto& lock) { wake_.wait(lock); });
  }
  /// The same, but `late()` is called, once and without the lock, if it is not finished by `deadline`.
  template <class Finished, class Late>
  void drive(pool_job& mine, company with, Finished finished, std::chrono::steady_clock::time_point deadline,
             Late late) {
    bool told = false;
    drive(mine, with, finished, [&](auto& lock) {
      if (told) return wake_.wait(lock);
      if (wake_.wait_until(lock, deadline) == std::cv_status::no_timeout) return;
      told = true;
      lock.unlock();
      late();
      lock.lock();
    });
  }

  /// A driven job has so many pieces more than who says so will do itself.
  void more(std::size_t pieces);

  /// Does `change()` to a driven job from a thread that is not at work on it, and wakes who waits for that. The job,
  /// and even the pool, may be gone as soon as it is finished by the change.
  template <class Change> void tell(Change change) {
    std::lock_guard lock(mutex_);
    change();
    wake_.notify_all();
  }

 private:
  template <class Finished, class Sleep>
  void drive(pool_job& mine, company with, Finished& finished, Sleep const& sleep) {
    std::unique_lock lock(mutex_);
    if (with == company::all) {
      start();
      push(mine);
      wake_.notify_all();
    }
    while (!finished())
      if (pool_job* const job = with == company::all ? next() : mine.ready(mine) ? &mine : nullptr) help(*job, lock);
      else sleep(lock);
    remove(mine, lock);
  }

  struct loop : pool_job {
    loop(std::size_t n, rill::parallel::body b, void* a);
    std::size_t chunks;
    rill::parallel::body body;
    void* argument;
    std::atomic<std::size_t> next{0};

    void claim();
    bool exhausted() const { return next.load(std::memory_order_relaxed) >= chunks; }
  };

  void run(std::size_t chunks, rill::parallel::body body, void* argument);

  // Threads start with the first loop, not before.
  void start();

  void push(pool_job& j) {
    j.below = top_;
    top_ = &j;
  }
  void remove(pool_job& j, std::unique_lock<std::mutex>& lock);
  pool_job* next() const;
  void help(pool_job& job, std::unique_lock<std::mutex>& lock);

  void serve();

  int threads_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  pool_job* top_ = nullptr;
  bool stop_ = false;
  std::vector<std::thread> workers_;
};

#if RILL_RUNTIME

RILL_INLINE pool::~pool() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (auto& t : workers_) t.join();
}

RILL_INLINE rill::parallel pool::parallel() noexcept {
  return {[](void* self, std::size_t chunks, rill::parallel::body body, void* argument) {
            static_cast<pool*>(self)->run(chunks, body, argument);
          },
          this, threads_};
}

RILL_INLINE void pool::more(std::size_t pieces) {
  if (pieces == 0) return;
  {
    std::lock_guard lock(mutex_);
  }  // or it would be missed by who has just looked and is about to sleep
  if (pieces == 1) wake_.notify_one();
  else wake_.notify_all();
}

RILL_INLINE pool::loop::loop(std::size_t n, rill::parallel::body b, void* a)
    : pool_job{[](pool_job const& l) { return !static_cast<loop const&>(l).exhausted(); },
               [](pool_job& l) { static_cast<loop&>(l).claim(); }},
      chunks(n),
      body(b),
      argument(a) {}

RILL_INLINE void pool::loop::claim() {
  for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < chunks;) body(argument, i);
}

RILL_INLINE void pool::run(std::size_t chunks, rill::parallel::body body, void* argument) {
  loop mine(chunks, body, argument);
  {
    std::lock_guard lock(mutex_);
    start();
    push(mine);
  }
  if (chunks == 2) wake_.notify_one();
  else wake_.notify_all();
  mine.claim();
  std::unique_lock lock(mutex_);
  remove(mine, lock);
}

RILL_INLINE void pool::start() {
  while (workers_.size() + 1 < static_cast<std::size_t>(threads_)) workers_.emplace_back([this] { serve(); });
}

RILL_INLINE void pool::remove(pool_job& j, std::unique_lock<std::mutex>& lock) {
  for (auto** at = &top_; *at; at = &(*at)->below)
    if (*at == &j) {
      *at = j.below;
      break;
    }
  done_.wait(lock, [&] { return j.helpers == 0; });
}

RILL_INLINE pool_job* pool::next() const {
  for (auto* j = top_; j; j = j->below)
    if (j->ready(*j)) return j;
  return nullptr;
}

RILL_INLINE void pool::help(pool_job& job, std::unique_lock<std::mutex>& lock) {
  ++job.helpers;
  lock.unlock();
  job.work(job);
  lock.lock();
  if (--job.helpers == 0) done_.notify_all();
}

RILL_INLINE void pool::serve() {
  std::unique_lock lock(mutex_);
  while (!stop_)
    if (pool_job* const job = next()) help(*job, lock);
    else wake_.wait(lock);
}

#endif

}  // namespace rill
