#include "rill/base/pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "base/forked.hpp"
#include "base/new_threads.hpp"
#include "base/no_threads.hpp"
#include "base/sentence.hpp"

namespace rill {
namespace {

/// Loops over `chunks` and adds the threads that take part.
void add_participants(pool& p, std::size_t chunks, std::set<std::thread::id>& seen) {
  std::mutex mutex;
  p.parallel()(chunks, [&](std::size_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::lock_guard lock(mutex);
    seen.insert(std::this_thread::get_id());
  });
}

/// Loops over `chunks` until `wanted` threads have taken part, for half a minute at the most, and returns which did.
std::set<std::thread::id> participants(pool& p, std::size_t wanted, std::size_t chunks) {
  std::set<std::thread::id> seen;
  auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  do add_participants(p, chunks, seen);
  while (seen.size() < wanted && std::chrono::steady_clock::now() < end);
  return seen;
}

TEST(pool, starts_no_thread_before_the_first_loop_and_none_for_a_single_chunk) {
  new_threads const started;
  pool p(3);
  p.parallel()(1, [](std::size_t) {});
  EXPECT_EQ(started.count(), 0u);
  p.parallel()(2, [](std::size_t) {});
  EXPECT_TRUE(started.become(2));
}

TEST(pool, counts_the_caller_and_has_exactly_as_many_threads_as_asked) {
  pool p(3);
  auto const seen = participants(p, 3, 12);
  EXPECT_EQ(seen.size(), 3);
  EXPECT_TRUE(seen.contains(std::this_thread::get_id()));
  EXPECT_EQ(p.threads(), 3);
}

TEST(pool, of_one_or_less_is_the_caller_alone) {
  for (int threads : {1, 0, -5}) {
    new_threads const started;
    pool p(threads);
    EXPECT_EQ(p.threads(), 1);
    EXPECT_EQ(participants(p, 1, 8), std::set{std::this_thread::get_id()});
    EXPECT_EQ(started.count(), 0u);
  }
}

TEST(pool, runs_every_chunk_once) {
  pool p(4);
  std::vector<std::atomic<int>> seen(10000);
  p.parallel()(seen.size(), [&](std::size_t i) { ++seen[i]; });
  for (auto const& s : seen) ASSERT_EQ(s.load(), 1);
}

TEST(pool, shows_the_caller_what_the_chunks_wrote) {
  pool p(4);
  for (int round = 0; round < 200; ++round) {
    std::vector<int> written(64);  // no atomics: the loop's end orders them
    p.parallel()(written.size(), [&](std::size_t i) { written[i] = round; });
    for (auto w : written) ASSERT_EQ(w, round);
  }
}

TEST(pool, runs_loops_inside_loops) {
  pool p(3);
  std::atomic<int> count = 0;
  p.parallel()(
      8, [&](std::size_t) { p.parallel()(8, [&](std::size_t) { p.parallel()(4, [&](std::size_t) { ++count; }); }); });
  EXPECT_EQ(count.load(), 8 * 8 * 4);
}

TEST(pool, serves_many_callers_at_once) {
  pool p(2);
  std::atomic<int> count = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < 8; ++c)
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i) p.parallel()(5, [&](std::size_t) { ++count; });
    });
  for (auto& c : callers) c.join();
  EXPECT_EQ(count.load(), 8 * 200 * 5);
}

TEST(pool, sleeps_while_there_is_nothing_to_do) {
  pool p(3);
  p.parallel()(3, [](std::size_t) {});
  // Some of the time that one look counts may be the machine's own. Threads that don't sleep need theirs in each look.
  auto least = std::numeric_limits<std::clock_t>::max();
  for (int look = 0; look < 20 && least >= CLOCKS_PER_SEC / 20; ++look) {
    auto const before = std::clock();  // of the whole process
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    least = std::min(least, std::clock() - before);
  }
  EXPECT_LT(least, CLOCKS_PER_SEC / 20);
}

TEST(pool, ends_its_threads_when_it_goes) {
  new_threads const started;
  {
    pool p(4);
    p.parallel()(4, [](std::size_t) {});
    EXPECT_EQ(started.count(), 3u);
  }
  EXPECT_TRUE(started.become(0));
}

TEST(pool, goes_on_with_the_threads_that_there_are_and_tries_again_later) {
  pool p(3);
  {
    no_threads const guard;
    std::set<std::thread::id> seen;
    for (int i = 0; i < 200; ++i) add_participants(p, 4, seen);
    EXPECT_EQ(seen, std::set{std::this_thread::get_id()});
  }
  EXPECT_EQ(participants(p, 3, 4).size(), 3);
}

TEST(pool, starts_anew_in_a_child_process) {
  if (!children_start_threads) GTEST_SKIP() << "the thread sanitizer starts no threads in a child process";
  std::optional<pool> p(std::in_place, 3);
  EXPECT_EQ(participants(*p, 3, 12).size(), 3);
  EXPECT_TRUE(holds_in_a_child([&] {
    bool const all = participants(*p, 3, 12).size() == 3;
    p.reset();
    return all;
  }));
  EXPECT_EQ(participants(*p, 3, 12).size(), 3);
}

TEST(pool, ends_in_a_child_process_though_its_threads_are_not_there) {
  std::optional<pool> p(std::in_place, 3);
  for (int round = 0; round < 20; ++round) {
    EXPECT_EQ(participants(*p, 3, 12).size(), 3);
    EXPECT_TRUE(holds_in_a_child([&] {
      p.reset();
      return true;
    }));
  }
}

// A job of pieces that are counted, and no more.
struct errand : pool_job {
  errand()
      : pool_job{[](pool_job const& j) { return static_cast<errand const&>(j).pieces != 0; },
                 [](pool_job& j) {
                   auto& left = static_cast<errand&>(j).pieces;
                   for (int n = left; n > 0 && !left.compare_exchange_weak(n, n - 1);) {
                   }
                 }} {}
  std::atomic<int> pieces = 0;
};

TEST(pool, wakes_who_drives_a_job_when_it_is_told_of_it) {
  for (auto const with : {pool::participants::all, pool::participants::driver}) {
    pool p(3);
    errand job;
    std::atomic<bool> over = false;
    std::thread telling([&] {
      for (int i = 0; i < 100; ++i)
        p.notify_after(job, [&] {
          ++job.pieces;
          return pool::progress{1, false};
        });
      p.notify_after(job, [&] {
        over = true;
        return pool::progress{0, true};
      });
    });
    p.drive(job, with, [&] { return over && job.pieces == 0; });
    telling.join();
    EXPECT_EQ(job.pieces, 0);
  }
}

TEST(pool, wakes_no_more_threads_than_there_are_pieces) {
  // Of two drivers that sleep, each is woken by what is told of its own job, and not by the other's.
  pool p(1);
  errand one, other;
  std::atomic<bool> one_over = false, other_over = false;
  std::atomic<int> looks = 0;
  std::thread driving([&] {
    p.drive(other, pool::participants::driver, [&] {
      ++looks;
      return other_over.load();
    });
  });
  while (looks == 0) std::this_thread::yield();
  std::thread telling([&] {
    for (int i = 0; i < 1000; ++i)
      p.notify_after(one, [&] {
        ++one.pieces;
        return pool::progress{1, false};
      });
    p.notify_after(one, [&] {
      one_over = true;
      return pool::progress{0, true};
    });
  });
  p.drive(one, pool::participants::all, [&] { return one_over && one.pieces == 0; });
  telling.join();
  EXPECT_EQ(looks, 1);
  p.notify_after(other, [&] {
    other_over = true;
    return pool::progress{0, true};
  });
  driving.join();
  EXPECT_EQ(looks, 2);
}

// A detached job of pieces that are counted; the last one ends it.
struct detached_errand : detached_job {
  explicit detached_errand(int n)
      : detached_job([](pool_job const& j) { return of(j).begun < of(j).pieces || of(j).late; },
                     [](pool_job& j) { of(j).run(); }, [](pool_job const& j) { return of(j).is_finished.load(); },
                     [](pool_job& j) { of(j).conclude(); }),
        left(n) {}
  static detached_errand& of(pool_job& j) { return static_cast<detached_errand&>(j); }
  static detached_errand const& of(pool_job const& j) { return static_cast<detached_errand const&>(j); }

  void run() {
    by = std::this_thread::get_id();
    if (late.exchange(false)) {
      ++late_pieces;
      is_finished = true;
    }
    for (int n = begun; n < pieces;)
      if (begun.compare_exchange_weak(n, n + 1)) {
        n = begun;
        if (--left == 0) is_finished = true;
      }
  }
  void conclude() { ended.fetch_add(1); }
  void wait_for_its_end() const {
    while (ended == 0) std::this_thread::yield();
  }

  std::atomic<int> begun = 0, pieces = 1, left, late_pieces = 0, ended = 0;
  std::atomic<bool> is_finished = false;
  std::atomic<std::thread::id> by = {};
};

TEST(pool, does_a_detached_job_with_a_thread_of_its_own) {
  for (int threads : {1, 2}) {
    new_threads const started;
    pool p(threads);
    detached_errand job(1);
    p.start(job);
    job.wait_for_its_end();
    EXPECT_NE(job.by.load(), std::this_thread::get_id());
    EXPECT_TRUE(started.become(static_cast<std::size_t>(threads)));
    EXPECT_EQ(job.ended, 1);
  }
}

TEST(pool, comes_back_to_a_detached_job_when_it_has_another_piece) {
  pool p(2);
  detached_errand job(100);
  p.start(job);
  for (int i = 1; i < 100; ++i) {
    if (i % 7 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    p.notify_after(job, [&] {
      ++job.pieces;
      return pool::progress{1, false};
    });
  }
  job.wait_for_its_end();
  EXPECT_EQ(job.begun, 100);
  EXPECT_EQ(job.ended, 1);
}

TEST(pool, leaves_detached_jobs_to_its_own_threads) {
  pool p(1);
  detached_errand job(1);
  errand driven;
  std::atomic<bool> over = false;
  std::thread other([&] {
    p.start(job);
    job.wait_for_its_end();
    p.notify_after(driven, [&] {
      over = true;
      return pool::progress{0, true};
    });
  });
  p.drive(driven, pool::participants::all, [&] { return over.load(); });
  other.join();
  EXPECT_NE(job.by.load(), std::this_thread::get_id());
}

TEST(pool, gives_a_detached_job_a_piece_at_its_deadline_and_none_before) {
  pool p(2);
  detached_errand later(2), now(2), forgotten(1);
  later.deadline = std::chrono::steady_clock::now() + std::chrono::hours(1);
  now.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
  forgotten.deadline = later.deadline;
  for (auto* job : {&later, &forgotten, &now}) p.start(*job);
  forgotten.wait_for_its_end();
  p.forget(forgotten);
  now.wait_for_its_end();
  EXPECT_EQ(now.late_pieces, 1);
  EXPECT_EQ(forgotten.late_pieces, 0);
  EXPECT_EQ(later.ended, 0);
  p.notify_after(later, [&] {
    ++later.pieces;
    return pool::progress{1, false};
  });
  later.wait_for_its_end();
  p.forget(later);
  EXPECT_EQ(later.late_pieces, 0);
}

TEST(pool, starts_a_detached_job_again_from_its_end) {
  struct again final : detached_job {
    explicit again(pool& p)
        : detached_job([](pool_job const& j) { return static_cast<again const&>(j).has_piece.load(); },
                       [](pool_job& j) { static_cast<again&>(j).has_piece = false; },
                       [](pool_job const& j) { return !static_cast<again const&>(j).has_piece; },
                       [](pool_job& j) { static_cast<again&>(j).conclude(); }),
          on(p) {}
    void conclude() {
      if (++rounds == 50) {
        done = true;
        return;
      }
      has_piece = true;
      on.start_again(*this);
    }
    pool& on;
    std::atomic<bool> has_piece = true, done = false;
    int rounds = 0;
  };
  pool p(2);
  again job(p);
  p.start(job);
  while (!job.done) std::this_thread::yield();
  EXPECT_EQ(job.rounds, 50);
}

TEST(pool, without_a_thread_starts_no_detached_job) {
  pool p(1);
  detached_errand job(1);
  {
    no_threads const guard;
    EXPECT_EQ(refusal([&] { p.start(job); }), code::resource_exhausted);
  }
  p.start(job);
  job.wait_for_its_end();
}

}  // namespace
}  // namespace rill
