// A started step: a job of the pool, which holds no thread while its kernels wait.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>
#include <variant>
#include <vector>

#include "rill/base/pool.hpp"
#include "rill/run/compiled_step.hpp"
#include "rill/run/parallel_walk.hpp"
#include "rill/run/sequential_walk.hpp"
#include "rill/run/step_scope.hpp"

namespace rill {

/// The started steps of an executor that have not ended.
class started_steps {
 public:
  /// Counts a step as long as it lives.
  class membership {
   public:
    explicit membership(started_steps& all) : all_(all) {
      std::lock_guard lock(all_.mutex_);
      ++all_.count_;
    }
    ~membership() {
      std::lock_guard lock(all_.mutex_);
      if (--all_.count_ == 0)
        all_.none_left_.notify_all();  // under the lock: they may be gone as soon as it is released
    }
    membership(membership const&) = delete;
    membership& operator=(membership const&) = delete;

   private:
    started_steps& all_;
  };

  /// Returns a token that is stopped when the steps are to end.
  std::stop_token ending() const { return ending_.get_token(); }
  /// Cancels all started steps, and any that is started from now on, and waits until they have ended.
  void end() {
    ending_.request_stop();
    std::unique_lock lock(mutex_);
    none_left_.wait(lock, [&] { return count_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_left_;
  std::size_t count_ = 0;
  std::stop_source ending_;
};

/// A detached job of the pool, which runs a walk over the step's plan. If the step has a deferred subgraph, that is
/// planned when the walk is over, and another walk follows.
class started_step final : detached_job {
 public:
  /// Compiles the deferred subgraph of a compiled step for these inputs.
  using compile_deferred =
      std::function<std::shared_ptr<compiled_step>(compiled_step&, std::span<tensor const>, step_context const&)>;

  /// A function that is called with one result for each fetch, or with the step's error. It must not throw.
  using completion = std::function<void(std::vector<tensor>, failure)>;

  /// Starts a step; `done` is called once, by a thread of the pool, when the step has ended. If `start` throws, no step
  /// has been started.
  static void start(rill::pool& workers, started_steps& all, step_setting const& setting,
                    std::shared_ptr<compiled_step> compiled, std::vector<tensor> fed, step_context const& step,
                    compile_deferred compile, completion done) {
    std::unique_ptr<started_step> made(new started_step(workers, all, step, std::move(compile), std::move(done)));
    made->scope_.emplace(setting, *compiled, made->step_);
    made->subgraphs_.push_back({std::move(compiled), std::move(fed)});
    workers.start(*made);
    (void)made.release();  // it destroys itself
  }
  /// Starts a step that has already failed, for its `done`.
  static void start_failed(rill::pool& workers, started_steps& all, failure why, completion done) {
    std::unique_ptr<started_step> made(new started_step(workers, all, {}, {}, std::move(done)));
    made->failure_ = std::move(why);
    workers.start(*made);
    (void)made.release();
  }

 private:
  // A subgraph of the step that is planned as a whole: the first is not deferred, and each other one is the deferred
  // subgraph of the one before.
  struct planned {
    std::shared_ptr<compiled_step> compiled;
    std::vector<tensor> fed, results = {};
  };
  enum class state : std::uint8_t { ready, beginning, walking, over };

  started_step(rill::pool& workers, started_steps& all, step_context const& step, compile_deferred compile,
               completion done)
      : detached_job([](pool_job const& j) { return static_cast<started_step const&>(j).has_work(); },
                     [](pool_job& j) { static_cast<started_step&>(j).work(); },
                     [](pool_job const& j) { return static_cast<started_step const&>(j).is_over(); },
                     [](pool_job& j) { static_cast<started_step&>(j).finish(); }),
        membership_(all),
        workers_(workers),
        step_(step),
        compile_(std::move(compile)),
        done_(std::move(done)) {
    deadline = step.deadline;
    step_.stop = stop_.get_token();
    by_user_.emplace(step.stop, cancel{*this});
    by_executor_.emplace(all.ending(), cancel{*this});
  }

  struct cancel {
    started_step& step;
    void operator()() const {
      step.stop_.request_stop();
      step.workers_.notify(step, {1, false});
    }
  };

  template <class F> auto with_walk(F const& f) const {
    if (auto const* const w = std::get_if<parallel_walk>(&walk_)) return f(*w);
    return f(std::get<sequential_walk>(walk_));
  }
  template <class F> void with_walk(F const& f) {
    if (auto* const w = std::get_if<parallel_walk>(&walk_)) f(*w);
    else f(std::get<sequential_walk>(walk_));
  }

  bool is_to_end() const { return !told_to_end_ && (late || step_.stop.stop_requested()); }
  bool has_work() const {
    auto const now = state_.load(std::memory_order_acquire);
    return now == state::ready ||
           (now == state::walking && (is_to_end() || with_walk([](auto const& w) { return w.has_work(); })));
  }
  bool is_over() const {
    auto const now = state_.load(std::memory_order_acquire);
    return now == state::over || (now == state::walking && with_walk([](auto const& w) { return w.is_over(); }));
  }

  void work() {
    if (auto from = state::ready; state_.compare_exchange_strong(from, state::beginning)) {
      auto const next = begin();
      state_.store(next, std::memory_order_release);
    }
    if (state_.load(std::memory_order_acquire) != state::walking) return;
    if (is_to_end() && !told_to_end_.exchange(true)) {
      auto const why = late ? step_too_late() : step_cancelled();
      with_walk([&](auto& w) { w.end(why); });
    }
    with_walk([](auto& w) { w.work(); });
  }
  // Begins the walk over the last subgraph. No other thread works on the step meanwhile.
  state begin() noexcept try {
    if (failure_) return state::over;
    auto& now = subgraphs_.back();
    auto& held = *lease_.emplace(*now.compiled);
    held.begin(now.fed, step_);
    pool_job& job = *this;
    if (!held.plan().forks()) {
      walk_.emplace<sequential_walk>(held, workers_, step_, job);
      return state::walking;
    }
    auto& walk = walk_.emplace<parallel_walk>(held, workers_, step_, job);
    return walk.run_in_order() ? state::walking : state::over;
  } catch (...) {
    failure_ = caught_failure();
    return state::over;
  }

  // Called by the pool when the walk is over and no thread works on it.
  void finish() noexcept {
    std::vector<tensor> results;
    try {
      if (state_.load(std::memory_order_acquire) == state::walking) with_walk([&](auto& w) { failure_ = w.why(); });
      if (failure_) throw error(*failure_);
      if (begin_deferred()) return;
      results = all_results();
    } catch (...) {
      failure_ = caught_failure();
    }
    end_step();
    done_(failure_ ? std::vector<tensor>() : std::move(results), failure_);
    delete this;
  }
  // Compiles and starts the deferred subgraph of the last one. Returns whether there is one.
  bool begin_deferred() {
    auto& now = subgraphs_.back();
    auto const& held = *lease_;
    now.results.resize(held->results());
    for (std::size_t i = 0; i < now.results.size(); ++i) now.results[i] = held->result(i, now.fed);
    walk_.emplace<std::monostate>();
    lease_.reset();
    auto* const deferred = now.compiled->deferred();
    if (!deferred) return false;
    auto given = deferred->given(now.fed, now.results);
    auto next = compile_(*now.compiled, given, step_);
    subgraphs_.push_back({std::move(next), std::move(given)});
    state_.store(state::ready, std::memory_order_release);
    workers_.start_again(*this);
    return true;
  }
  // Puts the step's results together from the results of its subgraphs.
  std::vector<tensor> all_results() {
    axis_binding names(subgraphs_.back().compiled->names().axes);
    auto made = std::move(subgraphs_.back().results);
    for (auto at = subgraphs_.size() - 1; at-- > 0;) {
      auto const& cut = *subgraphs_[at].compiled->deferred();
      std::vector<tensor> outer;
      for (std::size_t i = 0; i < cut.results.size(); ++i) outer.push_back(cut.result(i, subgraphs_[at].results, made));
      made = std::move(outer);
    }
    for (auto const& r : subgraphs_.front().compiled->names().open) names.bind(r.said, made[r.at].type(), r.node);
    return made;
  }
  // Ends the step for the pool, the container and the observer, before `done` is called.
  void end_step() noexcept {
    walk_.emplace<std::monostate>();
    lease_.reset();
    by_user_.reset();
    by_executor_.reset();
    workers_.forget(*this);
    subgraphs_.clear();
    scope_.reset();
  }

  started_steps::membership membership_;  // destroyed last
  rill::pool& workers_;
  step_context step_;
  compile_deferred compile_;
  completion done_;
  std::stop_source stop_;
  std::optional<std::stop_callback<cancel>> by_user_, by_executor_;
  std::optional<step_scope> scope_;
  std::vector<planned> subgraphs_;
  std::optional<compiled_step::lease> lease_;
  std::variant<std::monostate, sequential_walk, parallel_walk> walk_;
  std::atomic<state> state_ = state::ready;
  std::atomic<bool> told_to_end_ = false;
  failure failure_;
};

}  // namespace rill
