// A thread pool for parallel loops: exactly as many threads as asked for, asleep while there is no work.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "rill/base/config.hpp"
#include "rill/base/error.hpp"
#include "rill/base/float_environment.hpp"
#include "rill/base/parallel.hpp"
#include "rill/base/process.hpp"
#include "rill/base/thread.hpp"

namespace rill {

/// Work that a pool's threads may join: the chunks of a loop, or another source of pieces.
struct pool_job {
  using question = bool (*)(pool_job const&);
  using action = void (*)(pool_job&);

  question ready;  ///< whether a piece is ready; called under the pool's lock
  action work;     ///< runs pieces until no more are ready; must not throw

  // Used by the pool, guarded by its lock.
  bool is_detached = false;
  int helpers = 0;                                ///< threads at work on it, without its owner
  pool_job *before = nullptr, *behind = nullptr;  ///< its neighbours in the pool's list of jobs
  bool listed = false;
};

/// A job that no thread drives or waits for: the pool's own threads run its pieces, first come first served. It is in
/// the pool's list only while it has ready pieces, so that ten thousand waiting jobs cost no time.
struct detached_job : pool_job {
  detached_job(question is_ready, action do_work, question is_finished, action at_end)
      : pool_job{is_ready, do_work, true}, finished(is_finished), end(at_end) {}

  question finished;  ///< whether no piece is left and none will follow; called under the pool's lock
  action end;         ///< called without a lock when it is finished and no thread works on it; must not throw. It may
                      ///< start the job again, or destroy it
  std::optional<std::chrono::steady_clock::time_point> deadline = {};  ///< then it is late, and gets one more piece
  std::atomic<bool> late = false;
  bool ending = true;  ///< whether it is ending or not started, and so not in the list
};

/// A pool of `threads` threads, the caller's included: a pool of 1 starts no thread. Loops are fork-join and may nest:
/// the caller runs chunks like every other thread, and waits only for chunks that another thread has begun. Detached
/// jobs have no caller: with the first one the pool has `threads` threads of its own. If the system starts fewer
/// threads, the work is done by the threads that started. In a child process of fork() the pool starts its threads
/// anew.
class pool {
 public:
  explicit pool(int threads) : threads_(std::max(threads, 1)) {}
  pool(pool const&) = delete;
  pool& operator=(pool const&) = delete;
  ~pool();

  int threads() const noexcept { return threads_; }

  /// Returns the pool as kernels see it.
  rill::parallel parallel() noexcept;

  /// The threads that work on a driven job: all threads of the pool, or only the one that drives it, which then wakes
  /// no other.
  enum class participants { all, driver };

  /// Works on a job, whose pieces become ready one by one, until `finished()`; meanwhile also on the pool's other jobs,
  /// so that no thread sleeps while there is work. `finished` is called under the pool's lock.
  template <class Finished> void drive(pool_job& mine, participants who, Finished finished) {
    drive(mine, who, finished, [](team& t, sleeper& here, auto& lock) { t.sleep(here, lock); });
  }
  /// The same, but calls `late()` once, without the lock, if the job is not finished by `deadline`.
  template <class Finished, class Late>
  void drive(pool_job& mine, participants who, Finished finished, std::chrono::steady_clock::time_point deadline,
             Late late) {
    bool is_late = false;
    drive(mine, who, finished, [&](team& t, sleeper& here, auto& lock) {
      if (is_late) return t.sleep(here, lock);
      if (t.sleep_until(here, lock, deadline)) return;
      is_late = true;
      lock.unlock();
      late();
      lock.lock();
    });
  }

  /// Starts a detached job, which must have a ready piece, and exist until its `end` is called. Throws
  /// error(resource_exhausted) if the system starts no thread.
  void start(detached_job& job);
  /// Called in the `end` of a job: starts it again, with a ready piece.
  void start_again(detached_job& job) noexcept;
  /// Called in the `end` of a job: the job won't be started again.
  void forget(detached_job& job) noexcept;

  /// A change in a job: the number of pieces that became ready, without those that the calling thread runs itself, and
  /// whether the job is finished.
  struct progress {
    std::size_t pieces = 0;
    bool finished = false;
  };
  /// Wakes as many threads as there are new pieces; the driving thread, too, if the job is finished.
  void notify(pool_job& of, progress made) {
    if (made.pieces != 0 || made.finished) notify_after(of, [&] { return made; });
  }
  /// Calls `change()` under the pool's lock and wakes threads for the progress that it returns; for threads that don't
  /// work on the job. The change must only count. If it finishes a driven job, the job and even the pool may be
  /// destroyed as soon as the lock is released.
  template <class Change> void notify_after(pool_job& of, Change change) {
    auto& t = *team_;
    std::lock_guard lock(t.mutex);
    t.wake(of, change());
  }

 private:
  // A sleeping thread; the object lies on that thread's stack.
  struct sleeper {
    pool_job const* drives = nullptr;  // the job that the thread drives; null for the pool's own threads
    bool alone = false;                // whether the thread works on no other job
    bool asleep = false;
    sleeper* below = nullptr;
    std::condition_variable woken = {};
  };
  // A list of jobs.
  struct job_list {
    pool_job *first = nullptr, *last = nullptr;

    void push_front(pool_job& j);
    void push_back(pool_job& j);
    void remove(pool_job& j);
    // Returns the first job with a ready piece, or null.
    pool_job* first_ready() const;
  };
  // The threads and their shared state, which belong to one process.
  struct team {
    std::mutex mutex;
    std::condition_variable done;
    job_list driven, detached;  // driven jobs: the newest first; detached jobs: the oldest first
    std::multimap<std::chrono::steady_clock::time_point, detached_job*> deadlines;
    sleeper* asleep = nullptr;  // the list of sleeping threads
    bool stop = false;
    unsigned starts_to_skip = 0;
    std::vector<detail::thread> workers;

    void start(int threads);
    void serve();
    void remove(pool_job& j, std::unique_lock<std::mutex>& lock);
    void help(pool_job& job, std::unique_lock<std::mutex>& lock);
    void help_detached(detached_job& job, std::unique_lock<std::mutex>& lock);
    void list(detached_job& job) noexcept;
    void watch(detached_job& job);
    void list_late_jobs() noexcept;

    void lie_down(sleeper& s);
    void sleep(sleeper& s, std::unique_lock<std::mutex>& lock);
    // Returns whether the thread was woken before `end`.
    bool sleep_until(sleeper& s, std::unique_lock<std::mutex>& lock, std::chrono::steady_clock::time_point end);
    void wake(pool_job& of, progress made);
    template <class Which> void wake_up_to(std::size_t& most, Which const& which);
  };

  template <class Finished, class Sleep>
  void drive(pool_job& mine, participants who, Finished& finished, Sleep const& sleep) {
    auto& t = *team_;
    sleeper here{&mine, who == participants::driver};
    std::unique_lock lock(t.mutex);
    if (who == participants::all) {
      t.start(threads_);
      t.driven.push_front(mine);
      t.wake(mine, {t.workers.size()});
    }
    while (!finished())
      if (auto* const job = who == participants::all ? t.driven.first_ready() : mine.ready(mine) ? &mine : nullptr)
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

RILL_INLINE void pool::start(detached_job& job) {
  auto& t = *team_;
  std::lock_guard lock(t.mutex);
  if (t.workers.empty()) t.starts_to_skip = 0;
  t.start(threads_ + 1);
  if (t.workers.empty())
    throw error(code::resource_exhausted, "the system starts no thread that could work on what was started");
  if (job.deadline) t.watch(job);
  job.ending = false;
  t.wake(job, {1});
}

RILL_INLINE void pool::start_again(detached_job& job) noexcept {
  auto& t = *team_;
  std::lock_guard lock(t.mutex);
  job.ending = false;
  t.wake(job, {1});
}

RILL_INLINE void pool::forget(detached_job& job) noexcept {
  if (!job.deadline) return;
  auto& t = *team_;
  std::lock_guard lock(t.mutex);
  auto const [from, to] = t.deadlines.equal_range(*job.deadline);
  auto const at = std::find_if(from, to, [&](auto const& each) { return each.second == &job; });
  if (at != to) t.deadlines.erase(at);
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
  t.driven.push_front(mine);
  t.wake(mine, {chunks - 1});
  lock.unlock();
  mine.claim();
  lock.lock();
  t.remove(mine, lock);
}

// Threads start with the first loop. If the system refuses another thread, the loop runs on the threads that exist; the
// next try comes after `between_tries` loops, because each costs system calls.
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
  driven.remove(j);
  done.wait(lock, [&] { return j.helpers == 0; });
}

RILL_INLINE void pool::job_list::push_front(pool_job& j) {
  j.listed = true;
  j.before = nullptr;
  j.behind = first;
  (first ? first->before : last) = &j;
  first = &j;
}
RILL_INLINE void pool::job_list::push_back(pool_job& j) {
  j.listed = true;
  j.before = last;
  j.behind = nullptr;
  (last ? last->behind : first) = &j;
  last = &j;
}
RILL_INLINE void pool::job_list::remove(pool_job& j) {
  if (!std::exchange(j.listed, false)) return;
  (j.before ? j.before->behind : first) = j.behind;
  (j.behind ? j.behind->before : last) = j.before;
}
RILL_INLINE pool_job* pool::job_list::first_ready() const {
  for (auto* j = first; j; j = j->behind)
    if (j->ready(*j)) return j;
  return nullptr;
}

RILL_INLINE void pool::team::help(pool_job& job, std::unique_lock<std::mutex>& lock) {
  ++job.helpers;
  lock.unlock();
  {
    detail::default_float_environment const environment;
    job.work(job);
  }
  lock.lock();
  if (--job.helpers == 0) done.notify_all();
}

RILL_INLINE void pool::team::help_detached(detached_job& job, std::unique_lock<std::mutex>& lock) {
  ++job.helpers;
  lock.unlock();
  {
    detail::default_float_environment const environment;
    job.work(job);
  }
  lock.lock();
  --job.helpers;
  if (!job.ready(job)) detached.remove(job);
  if (job.helpers != 0 || !job.finished(job)) return;
  detached.remove(job);
  job.ending = true;
  lock.unlock();
  job.end(job);
  lock.lock();
}

RILL_INLINE void pool::team::list(detached_job& job) noexcept {
  if (!job.listed && !job.ending) detached.push_back(job);
}

// Threads that sleep are to know of the deadline that comes first.
RILL_INLINE void pool::team::watch(detached_job& job) {
  auto const at = deadlines.emplace(*job.deadline, &job);
  if (at != deadlines.begin()) return;
  auto all = workers.size();
  wake_up_to(all, [](sleeper const& s) { return s.drives == nullptr; });
}

RILL_INLINE void pool::team::list_late_jobs() noexcept {
  if (deadlines.empty()) return;
  auto const now = std::chrono::steady_clock::now();
  while (!deadlines.empty() && deadlines.begin()->first <= now) {
    auto& job = *deadlines.begin()->second;
    deadlines.erase(deadlines.begin());
    job.late = true;
    list(job);
  }
}

RILL_INLINE void pool::team::serve() {
  sleeper here;
  std::unique_lock lock(mutex);
  while (!stop) {
    list_late_jobs();
    if (auto* const job = driven.first_ready()) help(*job, lock);
    else if (auto* const own = detached.first_ready()) help_detached(static_cast<detached_job&>(*own), lock);
    else if (deadlines.empty()) sleep(here, lock);
    else sleep_until(here, lock, deadlines.begin()->first);
  }
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

// The driving thread is woken first: it sleeps until one of its pieces is ready. Detached jobs are left to the pool's
// own threads: a thread that drives a job would return to it late from another one.
RILL_INLINE void pool::team::wake(pool_job& of, progress made) {
  auto most = std::max<std::size_t>(made.pieces, made.finished);
  if (of.is_detached) {
    if (most != 0) list(static_cast<detached_job&>(of));
    return wake_up_to(most, [&](sleeper const& s) { return s.drives == nullptr; });
  }
  wake_up_to(most, [&](sleeper const& s) { return s.drives == &of; });
  most = std::min(most, made.pieces);
  wake_up_to(most, [&](sleeper const& s) { return !s.alone; });
}

#endif

}  // namespace rill
