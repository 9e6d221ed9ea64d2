// Threads that fill a queue for a training loop.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "rill/ops/control/body.hpp"
#include "rill/ops/queues/queue.hpp"
#include "rill/run/coordinator.hpp"
#include "rill/run/input_gates.hpp"
#include "rill/run/session.hpp"

namespace rill {

namespace detail {

/// The names by which the threads of runners count their steps: the name of the enqueue and the least number that no
/// other thread of the session has then. So they don't depend on the order in which threads run.
class runner_names {
 public:
  /// Holds a name as long as it lives.
  class lease {
   public:
    lease(std::shared_ptr<runner_names> of, std::string const& enqueue);
    ~lease();
    lease(lease const&) = delete;
    lease& operator=(lease const&) = delete;
    rill::client const& client() const { return client_; }

   private:
    std::shared_ptr<runner_names> of_;
    rill::client client_;
  };

 private:
  std::mutex mutex_;
  std::set<std::string> taken_;
};

struct session_runner_names {
  std::shared_ptr<runner_names> names = std::make_shared<runner_names>();
};

}  // namespace detail

/// Runs enqueues repeatedly, each on its own thread, until their input ends (error(out_of_range)). When the last thread
/// that fills the queue has ended, the queue is closed: dequeues drain it, and then fail with error(out_of_range). If a
/// thread fails with another error, the others stop, and dequeues fail with that error when the queue is empty, or with
/// error(cancelled) if the threads were told to stop. The destructor stops the threads. A runner that is started later
/// opens the queue again.
class queue_runner {
 public:
  /// Starts a thread for each of `enqueues`, which must belong to one queue. Throws error(failed_precondition) if the
  /// queue was closed. The session must outlive the runner.
  queue_runner(session& s, std::vector<operation> const& enqueues);
  queue_runner(session& s, operation enqueue) try : queue_runner(s, std::vector{enqueue}) {
  } catch (...) {
    rethrow_as_error();
  }
  /// Starts the threads in the coordinator `with`: they stop with its other threads, and the others stop if one of them
  /// fails.
  queue_runner(coordinator& with, session& s, std::vector<operation> const& enqueues);

  /// Waits until the input has ended and all of it is in the queue. Throws the error of a thread that failed, and
  /// error(deadline_exceeded) if it takes longer.
  void join(std::chrono::nanoseconds deadline = std::chrono::hours(24 * 365));

 private:
  void start(session& s, std::vector<operation> const& enqueues);

  // Returns the error for dequeues: the error of a thread, and its node.
  static failure told(queue_state const& q, char const* what, error const& e) noexcept;
  static failure stopped(queue_state const& q, std::exception_ptr why) noexcept;

  static std::shared_ptr<queue_state> queue_of(session& s, operation const& enqueue);

  // Runs the enqueue until the input has ended, `stop` is requested, or the queue is closed. Returns whether the input
  // has ended.
  static bool fill(session& s, operation const& enqueue, client const& by, queue_state const& into,
                   input_gates::gate& gate, std::stop_token const& stop);

  std::vector<std::shared_ptr<detail::runner_names::lease>> names_;  // kept until the runner ends
  std::unique_ptr<coordinator> own_;
  coordinator& threads_;
};

#if RILL_RUNTIME

RILL_INLINE detail::runner_names::lease::lease(std::shared_ptr<runner_names> of, std::string const& enqueue)
    : of_(std::move(of)), client_("runner") {
  std::lock_guard lock(of_->mutex_);
  for (int k = 0;; ++k) {
    client_.name = enqueue + ":" + std::to_string(k);
    if (of_->taken_.insert(client_.name).second) return;
  }
}
RILL_INLINE detail::runner_names::lease::~lease() {
  std::lock_guard lock(of_->mutex_);
  of_->taken_.erase(client_.name);
}

RILL_INLINE queue_runner::queue_runner(session& s, std::vector<operation> const& enqueues) try
    : own_(std::make_unique<coordinator>()), threads_(*own_) {
  start(s, enqueues);
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void queue_runner::start(session& s, std::vector<operation> const& enqueues) try {
  expects(!enqueues.empty(), "a queue runner needs at least one enqueue");
  auto const state = queue_of(s, enqueues[0]);
  for (auto const& e : enqueues)
    expects(queue_of(s, e) == state, "the enqueues of a queue runner belong to several queues");
  auto const last =
      std::max_element(enqueues.begin(), enqueues.end(), [](auto const& a, auto const& b) { return a.node < b.node; });
  auto const gate = input_gates::of(s.state())->add(state, last->node);
  auto const names = s.companion<detail::session_runner_names>().names;
  auto const since = state->begin_filling(enqueues.size());
  std::size_t started = 0;
  auto const start_one = [&](operation const& e) {
    auto const name = std::make_shared<detail::runner_names::lease>(names, e.origin().name);
    names_.push_back(name);
    threads_.start([&s, e, state, since, &all = threads_, gate, name] {
      bool ended = false;
      try {
        ended = fill(s, e, name->client(), *state, *gate, all.stop());
      } catch (...) {
        state->end_filling(since, told(*state, "failed", *caught_failure()), true);
        throw;
      }
      state->end_filling(since, ended || !all.should_stop() ? nullptr : stopped(*state, all.reason()));
    });
    ++started;
  };
  try {
    std::for_each(enqueues.begin(), enqueues.end(), start_one);
  } catch (...) {
    auto const why = told(*state, "could not be started", *caught_failure());
    for (; started < enqueues.size(); ++started) state->end_filling(since, why, true);
    throw;
  }
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE failure queue_runner::told(queue_state const& q, char const* what, error const& e) noexcept try {
  // Whoever waits at the queue has not asked for that.
  return failed({e.code(), e.cause() == cause::asked_for ? cause::derived : e.cause()},
                std::string("a thread that fills the queue '") + q.name() + "' " + what + detail::place_of(e));
} catch (std::bad_alloc const&) {
  return as_failure(e);  // without memory for the sentence, dequeues get the original error
}

RILL_INLINE failure queue_runner::stopped(queue_state const& q, std::exception_ptr why) noexcept {
  try {
    if (!why)
      return failed({code::cancelled, cause::derived},
                    "the threads that fill the queue '" + q.name() + "' were stopped");
    std::rethrow_exception(why);
  } catch (...) {
    return told(q, "was stopped", *caught_failure());
  }
}

RILL_INLINE std::shared_ptr<queue_state> queue_runner::queue_of(session& s, operation const& enqueue) {
  auto const& n = enqueue.origin();
  expects(ops::is_enqueue(n), "a queue runner runs enqueue operations only");
  auto const a = decode<ops::queue_attributes>(n.attributes);
  return s.state().queue(a.queue, a.options());
}

RILL_INLINE bool queue_runner::fill(session& s, operation const& enqueue, client const& by, queue_state const& into,
                                    input_gates::gate& gate, std::stop_token const& stop) {
  auto step = s.prepare(inputs(), outputs(), enqueue, by, stop);
  try {
    for (;;) {
      input_gates::passage const within(gate, stop);
      step();
    }
  } catch (error const& e) {
    if (e.code() == code::out_of_range) return true;
    if (!stop.stop_requested() && !(e.code() == code::cancelled && into.closed())) throw;
    return false;
  }
}

RILL_INLINE queue_runner::queue_runner(coordinator& with, session& s, std::vector<operation> const& enqueues)
    : threads_(with) {
  start(s, enqueues);
}

RILL_INLINE void queue_runner::join(std::chrono::nanoseconds deadline) { threads_.join(deadline); }

#endif

}  // namespace rill
