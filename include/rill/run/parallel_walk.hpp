// Parallel execution (white paper §3.1): a count of what each instruction still waits for, and a queue of the
// instructions that wait for nothing, the earliest first. A kernel that waits holds no thread. The error that a step
// reports is the first.
#pragma once
#include <algorithm>
#include <cstdint>
#include <forward_list>
#include <functional>
#include <limits>
#include <list>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "rill/base/pool.hpp"
#include "rill/run/plan/plan_instance.hpp"
#include "rill/run/walk_in_order.hpp"

namespace rill {

namespace detail {

/// Calls a step's observer for the nodes of several threads, one at a time, those in bodies too. No thread waits for
/// another: the thread that is calling the observer also reports what others leave meanwhile. So an observer may run
/// steps of its own, in which its thread may come to work on this step.
class one_at_a_time_observer final : public observer {
 public:
  explicit one_at_a_time_observer(step_context& step) : step_(step), observer_(step.watch) {
    if (observer_) step_.watch = this;
  }
  ~one_at_a_time_observer() override { step_.watch = observer_; }
  void node_ran(node_record const& r) override {
    std::unique_lock lock(mutex_);
    if (std::exchange(calling_, true)) {
      left_.push_back({r, std::string(r.name)});
      return;
    }
    lock.unlock();
    observer_->node_ran(r);
    lock.lock();
    while (!left_.empty()) {
      auto all = std::exchange(left_, {});
      lock.unlock();
      for (auto& [record, name] : all) {
        record.name = name;
        observer_->node_ran(record);
      }
      lock.lock();
    }
    calling_ = false;
  }

 private:
  // A node that ran on another thread, with a name of its own: the plan that has it may be dropped from a cache before
  // it is reported.
  struct report {
    node_record record;
    std::string name;
  };
  step_context& step_;
  observer* observer_;
  std::mutex mutex_;
  bool calling_ = false;
  std::vector<report> left_;
};

}  // namespace detail

/// One run of a plan that forks: the pieces of a job of the pool, which is driven by a thread or detached.
class parallel_walk {
 public:
  parallel_walk(plan_instance& a, pool& workers, step_context& step, pool_job& job)
      : instance_(a),
        plan_(a.plan()),
        workers_(workers),
        job_(job),
        threads_(workers.parallel()),
        step_(step),
        observer_(step),
        waits_(a.parallel_counts().waits),
        holders_(a.parallel_counts().holders),
        ready_(a.parallel_counts().ready) {
    if (shares_work()) begin(0, 0);
  }

  /// Runs the instructions in the plan's order up to the first that waits, where nothing is won by more threads.
  /// Returns whether there is more to do. Throws what a kernel fails with. For the only thread.
  bool run_in_order() {
    if (shares_work()) return true;
    std::optional<call_of_kernel> last;
    auto const at =
        detail::walk_in_order(instance_, 0, threads_, step_, [&](auto i) { return last.emplace(*this, i).run(); });
    if (at == plan_.instructions.size()) return false;
    returned(*last, nullptr);
    return true;
  }

  /// Whether there is a piece to do.
  bool has_work() const {
    std::lock_guard lock(mutex_);
    return has_piece();
  }
  /// Does pieces until none is left for now.
  void work() {
    std::unique_lock lock(mutex_);
    while (has_piece()) {
      if (!offers_.empty()) {
        auto const offered = std::move(offers_.front());
        offers_.pop_front();
        lock.unlock();
        offered();
      } else if (auto* const w = done_waiting_.pop()) {
        lock.unlock();
        finish(w->at, results_of(*w));
      } else {
        std::pop_heap(ready_.begin(), ready_.end(), std::greater<>());
        auto const at = ready_.back();
        ready_.pop_back();
        ++running_;
        beginning_ = true;
        lock.unlock();
        call_of_kernel mine(*this, at);
        returned(mine, attempt(mine));
      }
      lock.lock();
    }
  }
  /// Whether all has run that will.
  bool is_over() const {
    std::lock_guard lock(mutex_);
    return over();
  }
  /// What the step failed with; null: nothing. For a walk that is over.
  failure const& why() const { return failure_; }

  /// Ends the walk because of a deadline or a cancellation.
  void end(error why) {
    requests give_up;
    workers_.notify_after(job_, [&] {
      std::lock_guard lock(mutex_);
      if (failure_ || over()) return pool::progress{};
      fail(as_failure(std::move(why)), give_up);
      met_nowhere_ = true;
      return pool::progress{0, over()};
    });
    ask(give_up);
  }

  /// Whether several threads work on it, or one at a time.
  bool shares_work() const { return !plan_.schedule.alone; }
  bool may_wait() const { return plan_.waiting != 0; }

 private:
  // A kernel that was suspended.
  struct kernel_wait final : suspension {
    kernel_wait(parallel_walk& w, std::uint32_t i, plan_instance::time_point b) : walk(w), at(i), begin(b) {}
    void go_on() noexcept override { walk.go_on_after(*this); }
    void offer(std::function<void()> f) override { walk.offer(std::move(f)); }
    parallel_walk& walk;
    std::uint32_t at;
    plan_instance::time_point begin;
    kernel_wait* next = nullptr;
  };
  // Kernels that have waited and are done, the first of them first. It needs no memory.
  struct wait_queue {
    kernel_wait *first = nullptr, *last = nullptr;
    void push(kernel_wait& w) {
      (first ? last->next : first) = &w;
      last = &w;
    }
    kernel_wait* pop() {
      auto* const w = first;
      if (w) first = w->next;
      return w;
    }
  };
  // The call of a kernel.
  struct call_of_kernel final : suspendable {
    call_of_kernel(parallel_walk& w, std::uint32_t i) : walk(w), at(i), begin(plan_instance::now(w.step_)) {}
    continuation& suspend() override {
      std::lock_guard lock(walk.mutex_);
      if (!walk.begun_) walk.begin(at, 1);
      if (++walk.suspended_ > walk.to_ask_.capacity()) walk.to_ask_.reserve(2 * walk.suspended_);  // for `fail`
      wait = &walk.suspensions_.emplace_front(walk, at, begin);
      if (walk.failure_) (void)wait->give_up(walk.failure_);  // `returned` asks the kernel
      return *wait;
    }
    // Whether it was done at once.
    bool run() {
      walk.instance_.start(at, walk.threads_, walk.step_, this);
      if (wait) return false;
      walk.instance_.finish(at, begin, walk.step_);
      return true;
    }
    parallel_walk& walk;
    std::uint32_t at;
    plan_instance::time_point begin;
    kernel_wait* wait = nullptr;
  };
  using requests = std::vector<suspension::request>;

  // `done` instructions have run, in the plan's order, and `running` more, 1 or 0, run now.
  void begin(std::uint32_t done, std::uint32_t running) {
    ready_.reserve(plan_.schedule.waits.size());  // so that none is lost later for want of memory
    waits_ = plan_.schedule.waits;
    holders_ = plan_.schedule.holders;
    ready_.clear();
    for (std::uint32_t i = 0; i < done; ++i) {
      for (auto owned : plan_.schedule.holds[i]) --holders_[owned];
      for (auto next : plan_.schedule.after(i)) --waits_[next];
    }
    for (auto i = done + running; i < waits_.size(); ++i)
      if (waits_[i] == 0) push(i);
    finished_ = done;
    running_ = running;
    begun_ = true;
  }

  bool over() const { return begun_ && running_ == 0 && (failure_ || finished_ == waits_.size()); }
  bool has_piece() const { return can_begin() || done_waiting_.first || !offers_.empty(); }
  bool can_begin() const {
    return begun_ && !failure_ && !ready_.empty() && !(plan_.schedule.one_at_a_time && beginning_);
  }

  failure attempt(call_of_kernel& mine) {
    return instance_.caught(mine.at, [&] {
      if (step_.can_end_early()) step_.check();
      mine.run();
    });
  }
  // The call of a kernel has returned.
  void returned(call_of_kernel const& from, failure failed) {
    if (from.wait && !failed) {
      if (from.wait->returned()) {
        std::lock_guard lock(mutex_);
        beginning_ = false;
        return;
      }
      failed = results_of(*from.wait);
    }
    finish(from.at, std::move(failed), true);
  }
  // A kernel that waited is done: takes its results, or its failure.
  failure results_of(kernel_wait const& w) {
    return instance_.caught(w.at, [&] {
      if (w.cause()) throw error(*w.cause());
      instance_.finish(w.at, w.begin, step_);
    });
  }

  // A kernel has waited and is done. This thread may be another step's, so it leaves the rest to this one's.
  void go_on_after(kernel_wait& w) {
    workers_.notify_after(job_, [&] {
      std::lock_guard lock(mutex_);
      done_waiting_.push(w);
      return pool::progress{1, false};
    });
  }
  void offer(std::function<void()> f) {
    workers_.notify_after(job_, [&] {
      std::lock_guard lock(mutex_);
      offers_.push_back(std::move(f));
      return pool::progress{1, false};
    });
  }

  // An instruction has run: frees what it was the last to use. Without a lock, for the memory may be a user's, and
  // before it counts as finished, so that a step that has ended holds nothing.
  void free_inputs(std::uint32_t at) {
    for (auto owned : plan_.schedule.holds[at]) {
      {
        std::lock_guard lock(mutex_);
        if (--holders_[owned] != 0) continue;
      }
      instance_.drop(plan::owned_id{owned});
    }
  }
  // An instruction has run, or failed: other threads begin what is ready by it, but for one, which is this thread's.
  void finish(std::uint32_t at, failure failed, bool began = false) {
    free_inputs(at);
    requests give_up;
    pool::progress made;
    {
      std::lock_guard lock(mutex_);
      if (began) beginning_ = false;
      auto const fresh = count_down(at, std::move(failed), give_up);
      if (shares_work()) made = {fresh > 1 ? fresh - 1 : 0, !job_.is_detached && over()};
    }
    if (made.pieces != 0 || made.finished) workers_.notify(job_, made);
    ask(give_up);
  }
  // Returns how many instructions are ready by it.
  std::size_t count_down(std::uint32_t at, failure failed, requests& give_up) {
    --running_;
    ++finished_;
    if (failed) fail(std::move(failed), give_up);
    else if (met_nowhere_ && finished_ == waits_.size()) failure_ = nullptr;  // what it took from a queue is not lost
    std::size_t fresh = 0;
    for (auto next : plan_.schedule.after(at))
      if (--waits_[next] == 0) push(next), ++fresh;
    return fresh;
  }
  void fail(failure why, requests& give_up) {
    bool const first = !failure_;
    if (!detail::take_failure(failure_, met_nowhere_, std::move(why)) || !first) return;
    for (auto& w : suspensions_)
      if (auto request = w.give_up(failure_)) to_ask_.push_back(std::move(request));
    give_up = std::move(to_ask_);
  }
  static void ask(requests const& all) {
    for (auto const& request : all) request();
  }
  void push(std::uint32_t at) {
    ready_.push_back(at);
    std::push_heap(ready_.begin(), ready_.end(), std::greater<>());
  }

  plan_instance& instance_;
  plan const& plan_;
  pool& workers_;
  pool_job& job_;
  parallel const threads_;
  step_context& step_;
  detail::one_at_a_time_observer observer_;
  mutable std::mutex mutex_;
  std::vector<std::uint32_t>&waits_, &holders_, &ready_;
  std::forward_list<kernel_wait> suspensions_;
  wait_queue done_waiting_;
  std::list<std::function<void()>> offers_;
  requests to_ask_;
  std::size_t finished_ = 0, running_ = 0, suspended_ = 0;
  failure failure_;
  bool met_nowhere_ = false;  // the failure came from outside
  bool begun_ = false;        // the counts are made
  bool beginning_ = false;    // a thread has called a kernel that has not returned
};

namespace detail {

/// A parallel walk that the calling thread drives.
class driven_walk : pool_job {
 public:
  driven_walk(plan_instance& a, pool& workers, step_context& step)
      : pool_job{[](pool_job const& j) { return static_cast<driven_walk const&>(j).walk_.has_work(); },
                 [](pool_job& j) { static_cast<driven_walk&>(j).walk_.work(); }},
        workers_(workers),
        step_(step),
        walk_(a, workers, step, *this) {}

  void run() {
    if (!walk_.run_in_order()) return;
    auto const who = walk_.shares_work() ? pool::participants::all : pool::participants::driver;
    auto const finished = [&] { return walk_.is_over(); };
    {
      auto const cancel = [this] { walk_.end(step_cancelled()); };
      std::optional<std::stop_callback<decltype(cancel)>> wakes;
      if (walk_.may_wait()) wakes.emplace(step_.stop, cancel);
      if (walk_.may_wait() && step_.deadline)
        workers_.drive(*this, who, finished, *step_.deadline, [this] { walk_.end(step_too_late()); });
      else workers_.drive(*this, who, finished);
    }
    if (auto const& why = walk_.why()) throw error(*why);
  }

 private:
  pool& workers_;
  step_context& step_;
  parallel_walk walk_;
};

}  // namespace detail

}  // namespace rill
