// Parallel execution (white paper §3.1): each instruction counts the instructions that must run before it, and a heap
// has the instructions that are ready, the earliest first. A kernel that waits holds no thread. The step fails with the
// first error.
//
// A device's thread that resumes a kernel goes on with the step itself, as a visitor: it submits what is ready for
// devices, and leaves the rest to the pool. So work goes from device to device by one hand-over between threads.
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
#include <utility>
#include <vector>

#include "rill/base/pool.hpp"
#include "rill/device/one_at_a_time_observer.hpp"
#include "rill/device/step_progress.hpp"
#include "rill/run/plan/plan_instance.hpp"
#include "rill/run/walk_in_order.hpp"

namespace rill {

/// One run of a plan that forks, as pieces of work of a job of the pool. The job is driven by a thread, or detached.
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
        ready_{a.parallel_counts().ready},
        to_enqueue_{a.parallel_counts().to_enqueue} {
    if (shares_work()) begin({}, 0);
  }

  /// If threads don't share the work, calls the instructions in the plan's order up to the first that waits. Returns
  /// whether instructions are left. Throws a kernel's error. No other thread may work on the walk yet.
  bool run_in_order() {
    if (shares_work()) return true;
    std::optional<call_of_kernel> last;
    auto const at =
        detail::walk_in_order(instance_, {}, threads_, step_, [&](auto i) { return last.emplace(*this, i).run(); });
    if (at == plan_.instructions.end_index()) return false;
    returned(*last, nullptr);
    return true;
  }

  /// Whether there is work to do.
  bool has_work() const {
    std::lock_guard lock(mutex_);
    return has_piece() || ended_by_visitor_;
  }
  /// Works until there is no work for now.
  void work() {
    std::unique_lock lock(mutex_);
    ended_by_visitor_ = false;
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
        auto const at = begin_first(earliest());
        lock.unlock();
        call_of_kernel mine(*this, at);
        returned(mine, attempt(mine));
      }
      lock.lock();
    }
  }
  /// Whether all instructions have run, or the step has failed and no instruction runs.
  bool is_over() const {
    std::lock_guard lock(mutex_);
    return over();
  }
  /// Returns the step's error, or null; the walk must be over.
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

  /// Whether several threads share the work; if not, one thread calls all instructions.
  bool shares_work() const { return !plan_.schedule.alone; }
  bool may_wait() const { return plan_.waiting != 0; }

 private:
  using instruction_id = plan::instruction_id;

  // A kernel that was suspended.
  struct kernel_wait final : suspension {
    kernel_wait(parallel_walk& w, instruction_id i, plan_instance::time_point b) : walk(w), at(i), begin(b) {}
    void continue_step() noexcept override { walk.continue_after(*this); }
    void offer(std::function<void()> f) override { walk.offer(std::move(f)); }
    parallel_walk& walk;
    instruction_id at;
    plan_instance::time_point begin;
    kernel_wait* next = nullptr;
  };
  // The instructions that are ready, as a heap.
  struct ready_heap {
    std::vector<instruction_id>& all;

    bool empty() const { return all.empty(); }
    instruction_id first() const { return all.front(); }
    void push(instruction_id at) {
      all.push_back(at);
      std::push_heap(all.begin(), all.end(), std::greater<>());
    }
    instruction_id pop() {
      std::pop_heap(all.begin(), all.end(), std::greater<>());
      auto const at = all.back();
      all.pop_back();
      return at;
    }
  };
  // A queue of kernels that have waited and are done. An intrusive list, which needs no memory.
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
    call_of_kernel(parallel_walk& w, instruction_id i) : walk(w), at(i), begin(plan_instance::now(w.step_)) {}
    continuation& suspend() override {
      std::lock_guard lock(walk.mutex_);
      if (!walk.begun_) walk.begin(at, 1);
      if (++walk.suspended_ > walk.to_ask_.capacity()) walk.to_ask_.reserve(2 * walk.suspended_);  // for `fail`
      wait = &walk.suspensions_.emplace_front(walk, at, begin);
      if (walk.failure_) (void)wait->give_up(walk.failure_);  // `returned` asks the kernel
      return *wait;
    }
    // Calls the kernel. Returns whether it is done; otherwise it waits.
    bool run() {
      walk.instance_.start(at, walk.threads_, walk.step_, this);
      if (wait) return false;
      walk.instance_.finish(at, begin, walk.step_);
      return true;
    }
    parallel_walk& walk;
    instruction_id at;
    plan_instance::time_point begin;
    kernel_wait* wait = nullptr;
  };
  using requests = std::vector<suspension::request>;

  // The instructions before `now` have run, in the plan's order, and `running` more, 1 or 0, run now.
  void begin(instruction_id now, std::uint32_t running) {
    for (auto* heap : {&ready_, &to_enqueue_}) {
      heap->all.clear();
      heap->all.reserve(plan_.schedule.waits.size());  // so that none is lost later for want of memory
    }
    waits_ = plan_.schedule.waits;
    holders_ = plan_.schedule.holders;
    for (auto i : index_range(instruction_id{}, now)) {
      for (auto owned : plan_.schedule.holds[i]) --holders_[owned];
      for (auto later : plan_.schedule.after(i)) --waits_[later];
    }
    for (auto i : index_range(running != 0 ? next(now) : now, waits_.end_index()))
      if (waits_[i] == 0) push(i);
    finished_ = as_integer(now);
    running_ = running;
    beginning_ = running != 0;
    begun_ = true;
  }

  bool has_ended() const { return begun_ && running_ == 0 && (failure_ || finished_ == waits_.size()); }
  bool over() const { return has_ended() && visitors_ == 0; }
  bool has_piece() const { return can_begin() || done_waiting_.first || !offers_.empty(); }
  bool can_begin() const {
    return begun_ && !failure_ && !(ready_.empty() && to_enqueue_.empty()) &&
           !(plan_.schedule.one_at_a_time && beginning_);
  }
  // Whether a visitor can begin an instruction. The memory of a plan that begins one at a time rests on the earliest
  // being the next.
  bool visitor_can_begin() const {
    return can_begin() && !to_enqueue_.empty() && !(plan_.schedule.one_at_a_time && is_first(ready_, to_enqueue_));
  }
  static bool is_first(ready_heap const& a, ready_heap const& b) {
    return b.empty() || (!a.empty() && a.first() < b.first());
  }
  ready_heap& earliest() { return is_first(ready_, to_enqueue_) ? ready_ : to_enqueue_; }
  instruction_id begin_first(ready_heap& of) {
    ++running_;
    beginning_ = true;
    return of.pop();
  }

  failure attempt(call_of_kernel& mine) {
    return instance_.caught(mine.at, [&] {
      if (step_.can_end_early()) step_.check();
      mine.run();
    });
  }
  // Returns what the call of a kernel that has returned ended with, its failure or null; nullopt: it waits.
  std::optional<failure> outcome(call_of_kernel const& from, failure failed) {
    if (!from.wait || failed) return failed;
    if (from.wait->returned()) return std::nullopt;
    return results_of(*from.wait);
  }
  // Goes on after the call of a kernel has returned.
  void returned(call_of_kernel const& from, failure failed) {
    if (auto ended = outcome(from, std::move(failed))) return finish(from.at, *std::move(ended), true);
    std::lock_guard lock(mutex_);
    beginning_ = false;
  }
  // Takes the results of a kernel that waited; returns its failure, or null.
  failure results_of(kernel_wait const& w) {
    return instance_.caught(w.at, [&] {
      if (w.cause()) throw error(*w.cause());
      instance_.finish(w.at, w.begin, step_);
    });
  }

  // A kernel that has waited is done. This thread may belong to another step, so a thread of this step continues,
  // unless this one may.
  void continue_after(kernel_wait& w) {
    if (is_for_visitor(w)) return visit(w);
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

  // Whether the thread that resumes a kernel goes on with the step. Not where it would call a user's code, which may
  // wait for its device: an observer, or what a failure sets off. A kernel that gave up may resume by any thread.
  bool is_for_visitor(kernel_wait const& w) const {
    return plan_.instructions[w.at].run.enqueues && !w.cause() && !step_.watch;
  }
  // Goes on with the step on a device's thread, after a kernel of that device.
  void visit(kernel_wait& w) {
    detail::touches_nothing const as_on_the_host;
    auto failed = results_of(w);
    free_inputs(w.at);
    requests give_up;
    std::unique_lock lock(mutex_);
    ++visitors_;
    auto left = count_down(w.at, std::move(failed), give_up).for_pool;
    while (visitor_can_begin()) left += begin_as_visitor(begin_first(to_enqueue_), lock, give_up);
    lock.unlock();
    ask(std::exchange(give_up, {}));
    lock.lock();
    leave(left, lock);
  }
  // Calls the kernel of an instruction, without the lock. Returns how many instructions are ready for the pool by it.
  std::size_t begin_as_visitor(instruction_id at, std::unique_lock<std::mutex>& lock, requests& give_up) {
    lock.unlock();
    call_of_kernel mine(*this, at);
    auto ended = outcome(mine, attempt(mine));
    if (ended) free_inputs(at);
    lock.lock();
    beginning_ = false;
    return ended ? count_down(at, *std::move(ended), give_up).for_pool : 0;
  }
  // Tells the pool what a visitor leaves to it. The walk may be gone when this returns, or even earlier: as soon as the
  // last visitor is not counted any more.
  void leave(std::size_t ready, std::unique_lock<std::mutex>& lock) {
    if (!left_for_pool(ready) && !(visitors_ == 1 && has_ended())) {
      --visitors_;
      lock.unlock();
      return;
    }
    lock.unlock();
    workers_.notify_after(job_, [&] {
      std::lock_guard relock(mutex_);
      --visitors_;
      ended_by_visitor_ = job_.is_detached && over();
      return pool::progress{left_for_pool(ready), over()};
    });
  }
  // Returns how many pieces there are for the pool, of which it does not know, after a visit by which `ready`
  // instructions are ready for it.
  std::size_t left_for_pool(std::size_t ready) const {
    if (!can_begin()) return 0;
    return plan_.schedule.one_at_a_time ? 1 : ready;  // it looked in vain if it came while the visitor began one
  }

  // An instruction has run: frees what it was the last to use. Without a lock, for the memory may be a user's, and
  // before it counts as finished, so that a step that has ended holds nothing.
  void free_inputs(instruction_id at) {
    for (auto owned : plan_.schedule.holds[at]) {
      {
        std::lock_guard lock(mutex_);
        if (--holders_[owned] != 0) continue;
      }
      instance_.drop(owned);
    }
  }
  // An instruction has run, or failed: other threads begin what is ready by it, but for one, which is this thread's.
  void finish(instruction_id at, failure failed, bool began = false) {
    free_inputs(at);
    requests give_up;
    pool::progress made;
    {
      std::lock_guard lock(mutex_);
      if (began) beginning_ = false;
      auto const fresh = count_down(at, std::move(failed), give_up).all;
      if (shares_work()) made = {fresh > 1 ? fresh - 1 : 0, !job_.is_detached && over()};
    }
    if (made.pieces != 0 || made.finished) workers_.notify(job_, made);
    ask(give_up);
  }
  // The number of instructions that are ready by another.
  struct ready_count {
    std::size_t all = 0, for_pool = 0;
  };
  ready_count count_down(instruction_id at, failure failed, requests& give_up) {
    --running_;
    ++finished_;
    if (failed) {
      if (step_.progress) step_.progress->fail(failed);
      fail(std::move(failed), give_up);
    } else if (met_nowhere_ && finished_ == waits_.size()) failure_ = nullptr;  // what it took from a queue is not lost
    ready_count fresh;
    for (auto later : plan_.schedule.after(at)) {
      if (--waits_[later] != 0) continue;
      ++fresh.all;
      fresh.for_pool += !push(later);
    }
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
  // Returns whether a visitor may begin it.
  bool push(instruction_id at) {
    bool const enqueues = plan_.instructions[at].run.enqueues;
    (enqueues ? to_enqueue_ : ready_).push(at);
    return enqueues;
  }

  plan_instance& instance_;
  plan const& plan_;
  pool& workers_;
  pool_job& job_;
  parallel const threads_;
  step_context& step_;
  detail::one_at_a_time_observer observer_;
  mutable std::mutex mutex_;
  indexed<instruction_id, std::uint32_t>& waits_;
  indexed<plan::owned_id, std::uint32_t>& holders_;
  ready_heap ready_;       // instructions that can begin
  ready_heap to_enqueue_;  // the same, if their kernels only submit work to a stream
  std::forward_list<kernel_wait> suspensions_;
  wait_queue done_waiting_;
  std::list<std::function<void()>> offers_;
  requests to_ask_;
  std::size_t finished_ = 0, running_ = 0, suspended_ = 0;
  std::size_t visitors_ = 0;       // threads of devices that work on the walk
  bool ended_by_visitor_ = false;  // a thread of the pool is to see that the walk is over
  failure failure_;
  bool met_nowhere_ = false;  // the failure is a deadline or cancellation, and no kernel has failed yet
  bool begun_ = false;        // whether the counts are set
  bool beginning_ = false;    // whether a thread is in the call of a kernel
};

namespace detail {

/// A parallel walk of which the calling thread is the driver.
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
