// What all kernels of a step share.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/base/error.hpp"
#include "rill/state/versions.hpp"

namespace rill {

class arena_pool;
class exchange;
class observer;
class step_progress;

namespace detail {
class fiber_call;
}

/// Where messages of `print` and warnings go; rill writes nothing anywhere unless one is set.
using log_callback = std::function<void(std::string_view)>;

/// What a step ends with when it is cancelled, and when its time is over.
inline error step_cancelled() noexcept try {
  return error({code::cancelled, cause::asked_for}, "the step was cancelled");
} catch (std::bad_alloc const&) {
  return error::no_memory();
}
/// Returns what a step ends with when its time is over.
inline error step_too_late() noexcept try {
  return error({code::deadline_exceeded, cause::asked_for}, "the step ran past its deadline");
} catch (std::bad_alloc const&) {
  return error::no_memory();
}

/// What a step holds, and lets go of when it ends, however it ends: locks.
class step_holdings {
 public:
  void add(void const* key, std::shared_ptr<void> what, std::string by = {});
  /// The node by which something was added under that key; nothing if there is none.
  std::optional<std::string> holder(void const* key) const;
  /// Lets go of what was added last under that key; whether there was any.
  bool drop(void const* key);

 private:
  struct holding {
    void const* key;
    std::shared_ptr<void> what;
    std::string by;
  };
  mutable std::mutex mutex_;
  std::vector<holding> held_;
};

/// A call of a function that runs, and the one that it lies in; null: none.
struct running_call {
  void const* function;
  std::int64_t depth;
  running_call const* outer;

  /// The depth of the outermost call of the same function.
  std::int64_t outermost() const {
    auto found = depth;
    for (auto const* c = this; c != nullptr; c = c->outer)
      if (c->function == function) found = c->depth;
    return found;
  }
};

/// One run of a session, as kernels see it.
class step_context {
 public:
  observer* watch = nullptr;               ///< who is told of each node; null: nobody
  std::uint64_t number = 0;                ///< of the step
  std::uint64_t version = newest_version;  ///< of the variables, as the step found them
  std::uint64_t stream = 0;  ///< what random numbers are drawn by: the step, and within loops the iteration as well
  std::string const* client = nullptr;  ///< the client's name; null: no name, or the step has its number already
  std::int64_t iteration = 0;           ///< of the innermost loop
  std::int64_t calls = 0;               ///< of functions, within each other
  running_call const* call = nullptr;   ///< the innermost of those that nested plans run
  detail::fiber_call* fiber = nullptr;  ///< on whose stack kernels run that wait; null: they hold their thread
  std::uintptr_t stack = 0;  ///< where this thread's stack was when the outermost of them began on it; 0: none
  log_callback const* log = nullptr;
  step_holdings* holdings = nullptr;
  arena_pool* arenas = nullptr;        ///< where runs of plans borrow their memory; null: each has its own
  step_progress* progress = nullptr;   ///< is told what kernels do, for reports; null: nobody asks
  rill::exchange* exchange = nullptr;  ///< where the tasks of a step leave values for each other; null: it has only one
  /// Where the next walk over a body may leave a failure that calls would rethrow unchanged; null: it throws the
  /// failure. So a deep recursion ends by returning: unwinding the stack takes longer per call than the call itself.
  failure* carried = nullptr;
  std::stop_token stop;  ///< asks the step to end; without a source nobody does
  std::optional<std::chrono::steady_clock::time_point> deadline;

  /// Throws error(cancelled) or error(deadline_exceeded) when the step is to end. Kernels that run long call it.
  void check() const {
    if (stop.stop_requested()) throw step_cancelled();
    if (deadline && std::chrono::steady_clock::now() > *deadline) throw step_too_late();
  }
  bool can_end_early() const { return stop.stop_possible() || deadline.has_value(); }
};

/// While a step is planned, it is asked once in this many nodes whether it is to end.
inline constexpr std::uint32_t checked_each = 1024;

/// Ends what is done for a step, planning for one, when that is to end; null: it is for none.
inline void check(step_context const* step) {
  if (step && step->can_end_early()) step->check();
}

#if RILL_RUNTIME
RILL_INLINE void step_holdings::add(void const* key, std::shared_ptr<void> what, std::string by) {
  std::lock_guard lock(mutex_);
  held_.push_back({key, std::move(what), std::move(by)});
}

RILL_INLINE std::optional<std::string> step_holdings::holder(void const* key) const {
  std::lock_guard lock(mutex_);
  auto const at = std::find_if(held_.rbegin(), held_.rend(), [&](holding const& h) { return h.key == key; });
  return at == held_.rend() ? std::nullopt : std::optional(at->by);
}

RILL_INLINE bool step_holdings::drop(void const* key) {
  std::shared_ptr<void> gone;
  std::lock_guard lock(mutex_);
  for (auto at = held_.rbegin(); at != held_.rend(); ++at)
    if (at->key == key) {
      gone = std::move(at->what);
      held_.erase(std::next(at).base());
      return true;
    }
  return false;
}

#endif

}  // namespace rill
