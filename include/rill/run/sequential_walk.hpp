// Sequential execution of a started step: in the plan's order, and a kernel that waits holds no thread.
#pragma once
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <utility>

#include "rill/base/pool.hpp"
#include "rill/run/plan/plan_instance.hpp"
#include "rill/run/wait/suspension.hpp"
#include "rill/run/walk_in_order.hpp"

namespace rill {

/// One run of a plan that does not fork, as pieces of work of a detached job. One thread at a time calls instructions,
/// up to a kernel that waits. When that kernel is done, the job has a piece of work again.
class sequential_walk {
 public:
  sequential_walk(plan_instance& a, pool& workers, step_context& step, pool_job& job)
      : instance_(a), workers_(workers), job_(job), threads_(workers.parallel()), step_(step) {}

  /// Whether there is work to do.
  bool has_work() const {
    std::lock_guard lock(mutex_);
    return state_ == state::ready || !offers_.empty();
  }
  /// Works until there is no work for now.
  void work() {
    std::unique_lock lock(mutex_);
    while (state_ == state::ready || !offers_.empty()) {
      if (!offers_.empty()) {
        auto const offered = std::move(offers_.front());
        offers_.pop_front();
        lock.unlock();
        offered();
        lock.lock();
      } else {
        state_ = state::running;
        run_up_to_a_wait(lock);
      }
    }
  }
  /// Whether all instructions have run, or the step has failed.
  bool is_over() const {
    std::lock_guard lock(mutex_);
    return state_ == state::over;
  }
  /// Returns the step's error, or null; the walk must be over.
  failure const& why() const { return failure_; }

  /// Asks a kernel that waits to give up, because of a deadline or a cancellation. A walk that does not wait checks for
  /// these itself.
  void end(error why) {
    suspension::request ask;
    {
      std::lock_guard lock(mutex_);
      end_ = as_failure(std::move(why));
      if (state_ == state::waiting) ask = call_->give_up(end_);
    }
    ask();
  }

 private:
  enum class state : std::uint8_t { ready, running, waiting, over };

  // The call of a kernel that may wait, and its suspension.
  class call_of_kernel final : public suspendable, public suspension {
   public:
    call_of_kernel(sequential_walk& w, plan::instruction_id at)
        : walk_(w), at_(at), begin_(plan_instance::now(w.step_)) {}
    continuation& suspend() override {
      suspended_ = true;
      return *this;
    }
    void offer(std::function<void()> f) override { walk_.offer(std::move(f)); }
    // Calls the kernel. Returns whether it is done; otherwise it waits.
    bool run() {
      walk_.instance_.start(at_, walk_.threads_, walk_.step_, this);
      if (!suspended_) take_results();
      return !suspended_;
    }
    // Takes the results of a kernel that is done; throws its error.
    void take_results() {
      if (cause()) throw error(*cause());
      walk_.instance_.finish(at_, begin_, walk_.step_);
    }

   private:
    void continue_step() noexcept override { walk_.continue_step(); }

    sequential_walk& walk_;
    plan::instruction_id at_;
    plan_instance::time_point begin_;
    bool suspended_ = false;
  };

  // Calls instructions until one waits, or all have run. The caller holds the lock, which is released during the calls.
  void run_up_to_a_wait(std::unique_lock<std::mutex>& lock) {
    for (;;) {
      lock.unlock();
      auto failed = run_on();
      lock.lock();
      if (failed || !waits_) {
        failure_ = std::move(failed);
        state_ = state::over;
        return;
      }
      state_ = state::waiting;
      if (end_) (void)call_->give_up(end_);  // `returned` asks the kernel
      lock.unlock();
      bool const waits = call_->returned();
      lock.lock();
      if (waits) return;
      state_ = state::running;
    }
  }
  // Takes the results of the kernel that waited, if any, and calls instructions up to the next that waits. Returns the
  // error of the step, or null.
  failure run_on() noexcept try {
    if (std::exchange(waits_, false)) {
      if (auto failed = instance_.caught(at_, [&] { call_->take_results(); })) return failed;
      instance_.drop_after(at_);
      at_ = next(at_);
    }
    at_ = detail::walk_in_order(instance_, at_, threads_, step_, [&](plan::instruction_id at) {
      waits_ = !call_.emplace(*this, at).run();
      return !waits_;
    });
    return nullptr;
  } catch (...) {
    return caught_failure();
  }

  void continue_step() {
    workers_.notify_after(job_, [&] {
      std::lock_guard lock(mutex_);
      state_ = state::ready;
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

  plan_instance& instance_;
  pool& workers_;
  pool_job& job_;
  parallel const threads_;
  step_context& step_;
  mutable std::mutex mutex_;
  state state_ = state::ready;
  plan::instruction_id at_ = {};        // the instruction that comes next, or that waits
  bool waits_ = false;                  // its kernel was suspended
  std::optional<call_of_kernel> call_;  // of the last that may wait
  std::list<std::function<void()>> offers_;
  failure end_, failure_;
};

}  // namespace rill
