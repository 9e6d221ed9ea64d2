// Parallel execution (white paper §3.1): a count of what each instruction still waits for, and a queue of those that
// wait for nothing, the earliest first. A kernel that waits holds no thread. The error that a step reports is the
// first.
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
#include "rill/run/plan_instance.hpp"
#include "rill/run/sequential_walk.hpp"

namespace rill {

namespace detail {

/// Tells an observer of nodes of several threads, one at a time: of those in bodies too. No thread waits for another's
/// turn: what it has to tell is told by the one whose turn it is, or an observer could not run steps of its own, in
/// which its thread may come to work on this one's.
class taking_turns final : public observer {
 public:
  explicit taking_turns(step_context& step) : step_(step), who_(step.watch) {
    if (who_) step_.watch = this;
  }
  ~taking_turns() override { step_.watch = who_; }
  void node_ran(node_record const& r) override {
    std::unique_lock lock(mutex_);
    if (std::exchange(telling_, true)) {
      to_tell_.push_back({r, std::string(r.name)});
      return;
    }
    lock.unlock();
    who_->node_ran(r);
    lock.lock();
    while (!to_tell_.empty()) {
      auto all = std::exchange(to_tell_, {});
      lock.unlock();
      for (auto& [record, name] : all) {
        record.name = name;
        who_->node_ran(record);
      }
      lock.lock();
    }
    telling_ = false;
  }

 private:
  // A node that ran on another thread. Its body's plan, which has the name, may be dropped from a cache before the
  // turn.
  struct kept {
    node_record record;
    std::string name;
  };
  step_context& step_;
  observer* who_;
  std::mutex mutex_;
  bool telling_ = false;
  std::vector<kept> to_tell_;
};

}  // namespace detail

/// One run of a plan that forks.
class parallel_walk : pool_job {
 public:
  parallel_walk(plan_instance& a, pool& workers, step_context& step)
      : pool_job{[](pool_job const& j) { return static_cast<parallel_walk const&>(j).has_work(); },
                 [](pool_job& j) { static_cast<parallel_walk&>(j).take_part(); }},
        instance_(a),
        plan_(a.plan()),
        workers_(workers),
        participants_(a.plan().schedule.alone ? pool::participants::driver : pool::participants::all),
        threads_(workers.parallel()),
        step_(step),
        turns_(step),
        waits_(a.parallel_counts().waits),
        holders_(a.parallel_counts().holders),
        ready_(a.parallel_counts().ready) {}

  void run() {
    if (participants_ == pool::participants::all) begin(0, 0);
    else if (!begin_alone()) return;
    auto const finished = [&] {
      std::lock_guard lock(mutex_);
      return over();
    };
    {
      auto const cancel = [this] { end(step_cancelled()); };
      std::optional<std::stop_callback<decltype(cancel)>> wakes;
      if (plan_.waiting != 0) wakes.emplace(step_.stop, cancel);
      if (plan_.waiting != 0 && step_.deadline)
        workers_.drive(*this, participants_, finished, *step_.deadline, [this] { end(step_too_late()); });
      else workers_.drive(*this, participants_, finished);
    }
    if (failure_) throw error(*failure_);
  }

 private:
  // A kernel that was suspended.
  struct kernel_wait final : suspension {
    kernel_wait(parallel_walk& w, std::uint32_t i, plan_instance::time_point b) : walk(w), at(i), begin(b) {}
    void go_on() noexcept override { walk.go_on_after(*this); }
    void offer(std::function<void()> f) override { walk.offer(std::move(f)); }
    parallel_walk& walk;
    std::uint32_t at;
    plan_instance::time_point begin;
  };
  // The call of a kernel.
  struct call_of_kernel final : suspendable {
    call_of_kernel(parallel_walk& w, std::uint32_t i) : walk(w), at(i), begin(plan_instance::now(w.step_)) {}
    continuation& suspend() override {
      std::lock_guard lock(walk.mutex_);
      if (!walk.begun_) walk.begin(at, 1);
      if (++walk.suspended_ > walk.to_ask_.capacity()) walk.to_ask_.reserve(2 * walk.suspended_);  // for `fail`
      return *(wait = &walk.suspensions_.emplace_front(walk, at, begin));
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

  // So many have run, in their order, and one more runs or none.
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
  // Until a kernel is suspended, which is rare, sequential execution will do. Whether there is more to do then.
  bool begin_alone() {
    std::optional<call_of_kernel> last;
    auto const at = detail::walk(instance_, threads_, step_, [&](auto i) { return last.emplace(*this, i).run(); });
    if (at == plan_.instructions.size()) return false;
    requests none;  // for no other kernel waits
    returned(*last, nullptr, none);
    return true;
  }

  bool over() const { return running_ == 0 && (failure_ || finished_ == waits_.size()); }
  bool has_work() const {
    std::lock_guard lock(mutex_);
    return can_begin() || !offers_.empty();
  }
  bool can_begin() const { return !failure_ && !ready_.empty() && !(plan_.schedule.one_at_a_time && beginning_); }

  void take_part() {
    std::unique_lock lock(mutex_);
    while (can_begin() || !offers_.empty()) {
      if (!offers_.empty()) {
        auto const offered = std::move(offers_.front());
        offers_.pop_front();
        lock.unlock();
        offered();
        lock.lock();
        continue;
      }
      std::pop_heap(ready_.begin(), ready_.end(), std::greater<>());
      auto const at = ready_.back();
      ready_.pop_back();
      ++running_;
      beginning_ = true;
      lock.unlock();
      call_of_kernel mine(*this, at);
      auto failed = attempt(mine);
      requests give_up;
      auto const fresh = returned(mine, std::move(failed), give_up);
      lock.lock();
      beginning_ = false;
      bool const last = over();
      if (!last && fresh <= 1 && give_up.empty()) continue;
      lock.unlock();
      if (participants_ == pool::participants::all) workers_.tell(*this, {fresh > 0 ? fresh - 1 : 0, last});
      ask(give_up);
      lock.lock();
    }
  }

  failure attempt(call_of_kernel& mine) {
    return caught(mine.at, [&] {
      if (step_.can_end_early()) step_.check();
      mine.run();
    });
  }
  // The kernel is done, or waits. How many instructions are ready by it.
  std::size_t returned(call_of_kernel const& from, failure failed, requests& give_up) {
    if (from.wait && !failed) {
      if (from.wait->returned()) return 0;
      failed = results_of(*from.wait);
    }
    let_go(from.at);
    std::lock_guard lock(mutex_);
    return finish(from.at, std::move(failed), give_up);
  }
  // A kernel that waited is done: takes its results, or its failure.
  failure results_of(kernel_wait const& w) {
    return caught(w.at, [&] {
      if (w.cause()) throw error(*w.cause());
      instance_.finish(w.at, w.begin, step_);
    });
  }
  template <class F> failure caught(std::uint32_t at, F const& f) const {
    try {
      try {
        f();
      } catch (...) {
        instance_.name_failure(at);
      }
    } catch (...) {
      return caught_failure();
    }
    return nullptr;
  }

  // A kernel has waited and is done; this thread may be another step's.
  void go_on_after(kernel_wait& w) {
    requests give_up;
    auto failed = results_of(w);
    let_go(w.at);
    workers_.tell_of(*this, [&] {
      std::lock_guard lock(mutex_);
      auto const fresh = finish(w.at, std::move(failed), give_up);
      return pool::news{failure_                                   ? 0
                        : participants_ == pool::participants::all ? fresh
                                                                   : std::min<std::size_t>(fresh, 1),
                        over()};
    });
    ask(give_up);  // this may be gone, but for those whom it asks
  }
  void offer(std::function<void()> f) {
    workers_.tell_of(*this, [&] {
      std::lock_guard lock(mutex_);
      offers_.push_back(std::move(f));
      return pool::news{1, false};
    });
  }
  void end(error why) {
    requests give_up;
    workers_.tell_of(*this, [&] {
      std::lock_guard lock(mutex_);
      if (failure_) return pool::news{};
      fail(as_failure(std::move(why)), give_up);
      met_nowhere_ = true;
      return pool::news{0, over()};
    });
    ask(give_up);
  }

  // An instruction has run: gives back what it was the last to use. Without a lock, for the memory may be a user's, and
  // before it counts as finished, so that a step that has ended holds nothing.
  void let_go(std::uint32_t at) {
    for (auto owned : plan_.schedule.holds[at]) {
      {
        std::lock_guard lock(mutex_);
        if (--holders_[owned] != 0) continue;
      }
      instance_.drop(plan::owned_id{owned});
    }
  }
  // Counts down; returns how many instructions are ready by it.
  std::size_t finish(std::uint32_t at, failure failed, requests& give_up) {
    --running_;
    ++finished_;
    if (failed) fail(std::move(failed), give_up);
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
  pool::participants const participants_;
  parallel const threads_;
  step_context& step_;
  detail::taking_turns turns_;
  mutable std::mutex mutex_;
  std::vector<std::uint32_t>&waits_, &holders_, &ready_;
  std::forward_list<kernel_wait> suspensions_;
  std::list<std::function<void()>> offers_;
  requests to_ask_;
  std::size_t finished_ = 0, running_ = 0, suspended_ = 0;
  failure failure_;
  bool met_nowhere_ = false;  // it came from outside
  bool begun_ = false;        // and counts
  bool beginning_ = false;    // a thread has called a kernel that has not returned
};

}  // namespace rill
