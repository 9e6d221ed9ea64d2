// A mutex and a barrier for steps. A caller that has to wait leaves a request and is notified; no thread is blocked.
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "rill/base/error.hpp"

namespace rill {

/// A request at a mutex or a barrier.
struct turn_request {
  std::string by = {};                                        ///< who asks, for reports
  std::function<void(turn_request&, failure)> finished = {};  ///< called once, without the lock held; must not throw
};

/// Waiting requests, first come first served.
class turnstile_state {
 public:
  std::string const& name() const { return name_; }
  /// Ends a request that still waits with the failure `why`.
  void give_up(turn_request const& wanted, failure why);
  /// Ends all waiting requests with error(aborted); requests that were granted before stay granted.
  void reset();
  std::size_t waiting() const {
    std::lock_guard lock(mutex_);
    return waiting_.size();
  }

 protected:
  explicit turnstile_state(std::string name) : name_(std::move(name)) {}
  ~turnstile_state() = default;

  mutable std::mutex mutex_;
  std::deque<std::shared_ptr<turn_request>> waiting_;

 private:
  std::string name_;
};

/// A mutex between steps; requests are granted first come first served.
class mutex_state : public turnstile_state {
 public:
  explicit mutex_state(std::string name) : turnstile_state(std::move(name)) {}

  /// Requests the mutex; `r` is notified when it holds the mutex.
  void acquire(std::shared_ptr<turn_request> const& r);
  /// Releases the mutex to the next waiting request.
  void release();
  /// Returns who holds it, as the request said; empty: nobody, or it was not said.
  std::string holder() const {
    std::lock_guard lock(mutex_);
    return holder_;
  }
  /// "the mutex 'm', which 'x' of step 3 of /job:worker/task:0 holds".
  std::string as_text() const {
    auto const by = holder();
    return "the mutex '" + name() + "'" + (by.empty() ? "" : ", which " + by + " holds");
  }

 private:
  bool held_ = false;
  std::string holder_;
};

/// A barrier for `parties` requests, which can be used again and again.
class barrier_state : public turnstile_state {
 public:
  barrier_state(std::string name, std::int64_t parties) : turnstile_state(std::move(name)), parties_(parties) {
    expects(parties > 0, "a barrier needs at least one party");
  }
  std::int64_t parties() const { return parties_; }
  /// "the barrier 'b', at which 1 of 2 have arrived".
  std::string as_text() const {
    return "the barrier '" + name() + "', at which " + std::to_string(waiting()) + " of " + std::to_string(parties_) +
           " have arrived";
  }

  /// Arrives at the barrier; `r` is notified when all parties have arrived.
  void arrive(std::shared_ptr<turn_request> const& r);

 private:
  std::int64_t parties_;
};

#if RILL_RUNTIME

RILL_INLINE void turnstile_state::give_up(turn_request const& wanted, failure why) {
  std::shared_ptr<turn_request> gone;
  {
    std::lock_guard lock(mutex_);
    auto const at = std::find_if(waiting_.begin(), waiting_.end(), [&](auto const& r) { return r.get() == &wanted; });
    if (at == waiting_.end()) return;
    gone = *at;
    waiting_.erase(at);
  }
  gone->finished(*gone, std::move(why));
}

RILL_INLINE void turnstile_state::reset() {
  std::deque<std::shared_ptr<turn_request>> gone;
  {
    std::lock_guard lock(mutex_);
    gone = std::exchange(waiting_, {});
  }
  auto const why = failed(code::aborted, {"'", name_, "' was reset with its container"});
  for (auto const& each : gone) each->finished(*each, why);
}

RILL_INLINE void mutex_state::acquire(std::shared_ptr<turn_request> const& r) {
  {
    std::lock_guard lock(mutex_);
    if (held_) return waiting_.push_back(r);
    held_ = true;
    holder_ = r->by;
  }
  r->finished(*r, nullptr);
}

RILL_INLINE void mutex_state::release() {
  std::shared_ptr<turn_request> next;
  {
    std::lock_guard lock(mutex_);
    if (waiting_.empty()) held_ = false;
    else next = std::move(waiting_.front()), waiting_.pop_front();
    holder_ = next ? next->by : "";
  }
  if (next) next->finished(*next, nullptr);
}

RILL_INLINE void barrier_state::arrive(std::shared_ptr<turn_request> const& r) {
  std::deque<std::shared_ptr<turn_request>> all;
  {
    std::lock_guard lock(mutex_);
    waiting_.push_back(r);
    if (static_cast<std::int64_t>(waiting_.size()) < parties_) return;
    all = std::exchange(waiting_, {});
  }
  for (auto const& each : all) each->finished(*each, nullptr);
}

#endif

}  // namespace rill
