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
#include "rill/base/process.hpp"
#include "rill/base/thread.hpp"

namespace rill {

/// Work that threads of a pool may join: a loop's chunks, or whatever else hands out pieces.
struct pool_job {
  bool (*ready)(pool_job const&);  ///< whether there is a piece to do; asked under the pool's lock
  void (*work)(pool_job&);         ///< does pieces, and returns when none is left for now; must not throw
  int helpers = 0;                 ///< threads inside, the owner not counted; guarded by the pool's lock
  pool_job* below = nullptr;
};

/// `threads` threads, the calling one counted: a pool of 1 starts none. Loops are fork-join: the caller claims chunks
/// like everybody else and waits only for chunks that somebody has claimed, so loops may start loops. Where the system
/// starts fewer threads, a loop runs on those that there are. In a child process that fork() made the pool starts anew.
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
  enum class participants { all, driver };

  /// Works on a job whose pieces appear one by one until `finished()`, and on whatever else the pool has meanwhile, so
  /// that no thread of it sleeps while there is work. `finished` is asked under the pool's lock.
  template <class Finished> void drive(pool_job& mine, participants who, Finished finished) {
    drive(mine, who, finished, [](team& t, sleeper& here, auto& lock) { t.sleep(here, lock); });
  }
  /// The same, but `late()` is called, once and without the lock, if it is not finished by `deadline`.
  template <class Finished, class Late>
  void drive(pool_job& mine, participants who, Finished finished, std::chrono::steady_clock::time_point deadline,
             Late late) {
    bool told = false;
    drive(mine, who, finished, [&](team& t, sleeper& here, auto& lock) {
      if (told) return t.sleep(here, lock);
      if (t.sleep_until(here, lock, deadline)) return;
      told = true;
      lock.unlock();
      late();
      lock.lock();
    });
  }

  /// What has changed in a driven job: how many pieces became ready, and whether the job is finished.
  struct news {
    std::size_t pieces = 0;
    bool finished = false;
  };
  /// Wakes as many threads as there is work for.
  void tell(pool_job const& of, news what);
  /// Makes a change to a driven job from a thread that is not at work on it, and tells what `change()` returns. The
  /// job, and even the pool, may be gone as soon as it is finished by the change, which is made under the pool's lock:
  /// it only counts.
  template <class Change> void tell_of(pool_job const& of, Change change) {
    auto& t = *team_;
    std::lock_guard lock(t.mutex);
    t.wake(of, change());
  }

 private:
  // A thread that has nothing to do; it lies on that thread's stack.
  struct sleeper {
    pool_job const* drives = nullptr;  // null: it is one of the pool's own
    bool alone = false;                // it works on that job alone
    bool asleep = false;
    sleeper* below = nullptr;
    std::condition_variable woken = {};
  };
  // The threads, and what they share; it all belongs to one process.
  struct team {
    std::mutex mutex;
    std::condition_variable done;
    pool_job* top = nullptr;
    sleeper* asleep = nullptr;  // those that sleep
    bool stop = false;
    unsigned starts_to_skip = 0;
    std::vector<detail::thread> workers;

    void start(int threads);
    void serve();
    void push(pool_job& j) {
      j.below = top;
      top = &j;
    }
    void remove(pool_job& j, std::unique_lock<std::mutex>& lock);
    pool_job* next() const;
    void help(pool_job& job, std::unique_lock<std::mutex>& lock);

    void lie_down(sleeper& s);
    void sleep(sleeper& s, std::unique_lock<std::mutex>& lock);
    // Whether it was woken before.
    bool sleep_until(sleeper& s, std::unique_lock<std::mutex>& lock, std::chrono::steady_clock::time_point end);
    void wake(pool_job const& of, news what);
    template <class Which> void wake_up_to(std::size_t& most, Which const& which);
  };

  template <class Finished, class Sleep>
  void drive(pool_job& mine, participants who, Finished& finished, Sleep const& sleep) {
    auto& t = *team_;
    sleeper here{&mine, who == participants::driver};
    std::unique_lock lock(t.mutex);
    if (who == participants::all) {
      t.start(threads_);
      t.push(mine);
      t.wake(mine, {t.workers.size()});
    }
    while (!finished())
      if (pool_job* const job = who == participants::all ? t.next() : mine.ready(mine) ? &mine : nullptr)
        t.help(*job, lock);
      else sleep(t, here, lock);
    t.remove(mine, lock);
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

  int threads_;
  detail::in_process<team> team_;
};

#if RILL_RUNTIME

RILL_INLINE pool::~pool() {
  auto& t = *team_;
  {
    std::lock_guard lock(t.mutex);
    t.stop = true;
    auto all = t.workers.size();
    t.wake_up_to(all, [](sleeper const&) { return true; });
  }
  for (auto& w : t.workers) w.join();
}

RILL_INLINE rill::parallel pool::parallel() noexcept {
  return {[](void* self, std::size_t chunks, rill::parallel::body body, void* argument) {
            static_cast<pool*>(self)->run(chunks, body, argument);
          },
          this, threads_};
}

RILL_INLINE void pool::tell(pool_job const& of, news what) {
  if (what.pieces == 0 && !what.finished) return;
  auto& t = *team_;
  std::lock_guard lock(t.mutex);
  t.wake(of, what);
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
  auto& t = *team_;
  loop mine(chunks, body, argument);
  std::unique_lock lock(t.mutex);
  t.start(threads_);
  t.push(mine);
  t.wake(mine, {chunks - 1});
  lock.unlock();
  mine.claim();
  lock.lock();
  t.remove(mine, lock);
}

// Threads start with the first loop, not before. If the system starts no more, those that there are must do; another
// try costs a system call or two, so it is made once in a while.
RILL_INLINE void pool::team::start(int threads) {
  constexpr unsigned between_tries = 256;
  if (starts_to_skip != 0) {
    --starts_to_skip;
    return;
  }
  try {
    while (workers.size() + 1 < static_cast<std::size_t>(threads)) workers.emplace_back([this] { serve(); });
  } catch (...) {
    starts_to_skip = between_tries;
  }
}

RILL_INLINE void pool::team::remove(pool_job& j, std::unique_lock<std::mutex>& lock) {
  for (auto** at = &top; *at; at = &(*at)->below)
    if (*at == &j) {
      *at = j.below;
      break;
    }
  done.wait(lock, [&] { return j.helpers == 0; });
}

RILL_INLINE pool_job* pool::team::next() const {
  for (auto* j = top; j; j = j->below)
    if (j->ready(*j)) return j;
  return nullptr;
}

RILL_INLINE void pool::team::help(pool_job& job, std::unique_lock<std::mutex>& lock) {
  ++job.helpers;
  lock.unlock();
  job.work(job);
  lock.lock();
  if (--job.helpers == 0) done.notify_all();
}

RILL_INLINE void pool::team::serve() {
  sleeper here;
  std::unique_lock lock(mutex);
  while (!stop)
    if (pool_job* const job = next()) help(*job, lock);
    else sleep(here, lock);
}

RILL_INLINE void pool::team::lie_down(sleeper& s) {
  s.asleep = true;
  s.below = asleep;
  asleep = &s;
}

RILL_INLINE void pool::team::sleep(sleeper& s, std::unique_lock<std::mutex>& lock) {
  lie_down(s);
  s.woken.wait(lock, [&] { return !s.asleep; });
}

RILL_INLINE bool pool::team::sleep_until(sleeper& s, std::unique_lock<std::mutex>& lock,
                                         std::chrono::steady_clock::time_point end) {
  lie_down(s);
  if (s.woken.wait_until(lock, end, [&] { return !s.asleep; })) return true;
  std::size_t one = 1;
  wake_up_to(one, [&](sleeper const& each) { return &each == &s; });
  return false;
}

template <class Which> void pool::team::wake_up_to(std::size_t& most, Which const& which) {
  for (auto** at = &asleep; *at && most > 0;) {
    auto& s = **at;
    if (!which(s)) {
      at = &s.below;
      continue;
    }
    *at = s.below;
    s.asleep = false;
    s.woken.notify_one();
    --most;
  }
}

// Who drives the job comes first: it sleeps until something of it is to be done.
RILL_INLINE void pool::team::wake(pool_job const& of, news what) {
  auto most = std::max<std::size_t>(what.pieces, what.finished);
  wake_up_to(most, [&](sleeper const& s) { return s.drives == &of; });
  most = std::min(most, what.pieces);
  wake_up_to(most, [&](sleeper const& s) { return !s.alone; });
}

#endif

}  // namespace rill
