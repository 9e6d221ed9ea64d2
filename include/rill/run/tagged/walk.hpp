// Tagged execution (EuroSys'18 §4.3): threads that work on tokens. Several iterations run at once, each with memory of
// its own, which later iterations use again.
#pragma once
#include <algorithm>
#include <atomic>
#include <functional>
#include <iterator>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rill/run/plan/costs.hpp"
#include "rill/run/plan/plan_instance.hpp"
#include "rill/run/tagged/failure.hpp"
#include "rill/run/tagged/plan.hpp"
#include "rill/run/tagged/tokens.hpp"
#include "rill/run/wait/suspension.hpp"

#if RILL_RUNTIME
namespace rill::detail {

/// Runs a tagged plan; one run at a time. A thread that works on it holds its lock, except during kernels that take
/// long.
class tagged_walk : public std::enable_shared_from_this<tagged_walk> {
 public:
  tagged_walk(std::shared_ptr<tagged_plan const> p, std::size_t references)
      : plan_(std::move(p)), references_(references), tokens_(*plan_) {}

  /// Begins a run, which resumes the caller's continuation when it has ended, perhaps before `start` returns.
  void start(kernel_call const& call) {
    auto const self = shared_from_this();
    auto& later = call.from->suspend();
    {
      std::unique_lock lock(mutex_);
      call_.emplace(call);
      later_ = &later;
      may_end_ = call.step.can_end_early();
      watched_ = call.step.watch != nullptr;  // then all kernels run without the lock, as their observer must
      ended_ = false;
      failure_ = end_ = nullptr;
      met_nowhere_ = false;
      auto const run = ++run_;
      later_->on_give_up([self, run](failure why) { self->give_up(run, std::move(why)); });
      self_ = self;  // until `conclude`; nothing throws from here on
      guarded([&] { tokens_.begin(*call_, references_, watched_); });
    }
    work();
  }

  /// Works on tokens until there are none for now. Pool threads that help call it.
  void work() {
    auto const self = shared_from_this();
    std::unique_lock lock(mutex_, std::defer_lock);
    acquire(lock);
    if (offered_ != 0) --offered_;
    run_tokens(lock);
  }

 private:
  using iteration = tokens::iteration;
  using token = tokens::token;
  using operation = tagged_plan::operation;
  using guard = std::unique_lock<std::mutex>;

  using time_point = std::chrono::steady_clock::time_point;

  // A kernel that was suspended.
  struct kernel_wait final : suspension {
    kernel_wait(tagged_walk& w, token t, time_point b) : walk(w), at(t), begin(b) {}
    void continue_step() noexcept override { walk.continue_after(*this); }
    void offer(std::function<void()> f) override { walk.later_->offer(std::move(f)); }
    tagged_walk& walk;
    token at;
    time_point begin;
    std::list<kernel_wait>::iterator self;
  };
  // The call of a kernel that may wait.
  struct call_of_kernel final : suspendable {
    call_of_kernel(tagged_walk& w, token t) : walk(w), at(t), begin(plan_instance::now(t.at->step)) {}
    continuation& suspend() override {
      guard lock(walk.mutex_, std::defer_lock);
      walk.acquire(lock);
      if (walk.waits_.size() >= walk.to_ask_.capacity())
        walk.to_ask_.reserve(2 * walk.waits_.size() + 1);  // for `fail`
      wait = &walk.waits_.emplace_back(walk, at, begin);
      wait->self = std::prev(walk.waits_.end());
      if (auto const& why = walk.failure_ ? walk.failure_ : walk.end_) (void)wait->give_up(why);  // `returned` asks
      return *wait;
    }
    void run(operation const& o) {
      at.at->memory.start(o.value.instruction, walk.call_->threads, at.at->step, this);
      if (!wait) at.at->memory.finish(o.value.instruction, begin, at.at->step);
    }
    tagged_walk& walk;
    token at;
    time_point begin;
    kernel_wait* wait = nullptr;
  };

  static operation const& head(token t) { return t.at->layout->operations[t.at->layout->blocks[t.block].first]; }
  bool over() const { return running_ == 0 && (failure_ || tokens_.done()); }

  // If the run is over, gives the results or the failure to the caller. The caller may destroy this then.
  void conclude(guard& lock) {
    if (ended_ || !over()) return lock.unlock();
    ended_ = true;
    if (!failure_) try {
        give_outputs();
      } catch (...) {
        failure_ = caught_failure();
      }
    auto why = std::move(failure_);
    reset();
    auto* const later = later_;
    auto const self = std::move(self_);
    lock.unlock();
    later->resume(std::move(why));
  }
  void give_outputs() {
    for (std::size_t k = 0; k < plan_->outputs.size(); ++k) {
      auto const& o = plan_->outputs[k];
      if (tokens_.is_dead(o))
        throw error(code::failed_precondition, "its value is dead: the branch that makes it was not taken",
                    plan_->source.subgraph[plan_->source.subgraph.outputs[k].node].name);
      if (!o.of.is_known()) {
        call_->give(k, tokens_.outermost().memory.kept_tensor(o.kept));
        continue;
      }
      void* to = nullptr;
      if (call_->owned) {
        tensor made(o.of.element, o.of.shape(), *plan_->memory);
        to = made.mutable_raw();
        call_->give(k, std::move(made));
      } else to = call_->out(k);
      copy_elements(to, tokens_.read(o.kept), tagged_plan::move::of(o.of));
    }
  }
  void reset() {
    tokens_.reset();
    waits_.clear();
    call_.reset();
    offered_ = 0;
  }

  // Works on a token from one of its block's operations on.
  void fire(token t, tagged_plan::operation_id first, guard& lock) {
    guarded([&] {
      tokens_.fire(t, first, [&](token of, operation const& o) {
        bool const outside = watched_ || (&o == &head(of) && of.at->layout->blocks[of.block].slow);
        if (auto failed = outside ? attempt_outside(of, o, lock) : attempt(of, o)) fail(std::move(failed));
        return !failure_;
      });
    });
  }
  failure attempt(token t, operation const& o) {
    return caught(t, o, [&] { tokens::call(t, o, call_->threads); });
  }
  failure attempt_outside(token t, operation const& o, guard& lock) {
    ++running_;
    auto const helpers = helpers_wanted();
    auto* const later = later_;
    lock.unlock();
    auto const unable = offer_help(*later, helpers);
    auto failed = attempt(t, o);
    acquire(lock);
    offered_ -= unable;
    --running_;
    return failed;
  }
  // Offers work to other threads of the step. Returns the number of offers that failed for want of memory.
  std::size_t offer_help(continuation& later, std::size_t helpers) {
    try {
      for (; helpers > 0; --helpers) later.offer([self = shared_from_this()] { self->work(); });
    } catch (...) {
    }
    return helpers;
  }
  template <class F> failure caught(token t, operation const& o, F const& f) const {
    try {
      try {
        f();
      } catch (...) {
        t.at->memory.name_failure(o.value.instruction);
      }
    } catch (error const& e) {
      return placed(e, plan_->source, *t.at, o.node);
    } catch (...) {
      return caught_failure();
    }
    return nullptr;
  }
  // Works on tokens until there are none for now, then releases the lock.
  void run_tokens(guard& lock) {
    for (unsigned n = 1; !failure_ && more(); ++n) {
      if (end_) {
        fail(end_);
        met_nowhere_ = true;
        break;
      }
      if (n % costs::tokens_between_looks == 0) {
        if (may_end_ && ends()) break;
        if (wanted_.load(std::memory_order_relaxed) != 0) {
          lock.unlock();
          std::this_thread::yield();
          acquire(lock);
          continue;
        }
      }
      auto const t = tokens_.ready() ? tokens_.pop() : tokens_.pop_slow();
      auto const& b = t.at->layout->blocks[t.block];
      if (b.waits && t.live) wait_for(t, lock);
      else fire(t, b.first, lock);
    }
    ask(lock);
    conclude(lock);
  }
  bool more() const { return tokens_.ready() || tokens_.slow() != 0; }
  bool ends() {
    auto const t = tokens_.next();
    guarded([&] {
      try {
        call_->step.check();
      } catch (error const& e) {
        auto const node = t.at->layout->blocks[t.block].node;
        fail(placed(error(e.kind(), e.message(), plan_->source.subgraph[node].name), plan_->source, *t.at, node));
      }
    });
    return failure_ != nullptr;
  }
  void acquire(guard& lock) {
    wanted_.fetch_add(1, std::memory_order_relaxed);
    lock.lock();
    wanted_.fetch_sub(1, std::memory_order_relaxed);
  }

  // Calls a kernel that may wait, without the lock.
  void wait_for(token t, guard& lock) {
    ++running_;
    lock.unlock();
    call_of_kernel mine(*this, t);
    auto const& o = head(t);
    auto failed = caught(t, o, [&] { mine.run(o); });
    if (mine.wait && !failed) {
      if (mine.wait->returned()) {
        acquire(lock);
        ++waiting_;  // the kernel may be done already, so the number can be wrong for a moment; it only limits helpers
        return;
      }
      failed = results_of(*mine.wait);
    }
    acquire(lock);
    if (mine.wait) waits_.erase(mine.wait->self);
    finish(t, std::move(failed), lock);
  }
  std::size_t helpers_wanted() {
    auto const threads = static_cast<std::size_t>(call_->threads.threads);
    auto const busy = running_ - waiting_ + offered_;
    auto const more = std::min(tokens_.slow(), threads > busy ? threads - busy : 0);
    offered_ += more;
    return more;
  }
  // Takes the results of a kernel that waited; returns its failure, or null. Without the lock, because an observer may
  // be called.
  failure results_of(kernel_wait const& w) const {
    return caught(w.at, head(w.at), [&] {
      if (w.cause()) throw error(*w.cause());
      w.at.at->memory.finish(head(w.at).value.instruction, w.begin, w.at.at->step);
    });
  }
  void finish(token t, failure failed, guard& lock) {
    --running_;
    if (failed) fail(std::move(failed));
    if (!failure_) fire(t, next(t.at->layout->blocks[t.block].first), lock);
  }
  // Calls `f`, which needs memory for tokens. If there is none, the step fails, and this can be used again.
  template <class F> void guarded(F const& f) {
    try {
      f();
    } catch (...) {
      fail(caught_failure());
    }
  }
  // Continues after a kernel that has waited. This thread may belong to another step, so it offers the rest of the
  // work.
  void continue_after(kernel_wait& w) {
    auto const self = shared_from_this();
    auto const t = w.at;
    auto failed = results_of(w);
    guard lock(mutex_, std::defer_lock);
    acquire(lock);
    --waiting_;
    waits_.erase(w.self);
    finish(t, std::move(failed), lock);
    ask(lock);
    if (failure_ || !more()) return conclude(lock);
    ++offered_;
    ++running_;  // so that the run does not end before the offer, which uses the step
    auto* const later = later_;
    lock.unlock();
    try {
      later->offer([self] { self->work(); });
    } catch (...) {  // no memory for the offer: this thread works
      work();
    }
    acquire(lock);
    --running_;
    conclude(lock);
  }

  void fail(failure why) {
    bool const first = !failure_;
    if (!take_failure(failure_, met_nowhere_, std::move(why))) return;
    tokens_.drop_all();
    if (first) end_waits(failure_);
  }
  void end_waits(failure const& why) {
    for (auto& w : waits_)
      if (auto request = w.give_up(why)) to_ask_.push_back(std::move(request));
  }
  // Asks the kernels that wait to give up, without the lock.
  void ask(guard& lock) {
    if (to_ask_.empty()) return;
    auto const all = std::exchange(to_ask_, {});
    lock.unlock();
    for (auto const& request : all) request();
    acquire(lock);
  }
  void give_up(std::uint64_t run, failure why) {
    auto const self = shared_from_this();
    std::unique_lock lock(mutex_, std::defer_lock);
    acquire(lock);
    if (run != run_ || ended_) return;
    if (!failure_ && !end_) end_waits(end_ = std::move(why));
    ask(lock);
    conclude(lock);
  }

  std::shared_ptr<tagged_plan const> plan_;
  std::size_t references_;
  std::mutex mutex_;
  std::atomic<unsigned> wanted_{0};
  std::shared_ptr<tagged_walk> self_;  // while it runs
  std::optional<kernel_call> call_;
  continuation* later_ = nullptr;
  bool may_end_ = false, watched_ = false, ended_ = true;
  bool met_nowhere_ = false;  // the failure is a deadline or cancellation, and no kernel has failed yet
  std::uint64_t run_ = 0;
  failure failure_;
  failure end_;  // a deadline or cancellation: no token is taken any more, but a kernel that is done has its results
  std::size_t running_ = 0, waiting_ = 0, offered_ = 0;
  std::list<kernel_wait> waits_;
  std::vector<suspension::request> to_ask_;
  tokens tokens_;
};

}  // namespace rill::detail
#endif
