// Who may go on: a lock, and a barrier. Who must wait leaves a request, and is told; no thread is held.
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "rill/base/error.hpp"

namespace rill {

/// Somebody who waits at a mutex or a barrier.
struct turn_request {
  std::function<void(failure)> finished;  ///< called once, without the lock; must not throw
};

/// A lock between steps; those who ask get it in their order.
class mutex_state {
 public:
  explicit mutex_state(std::string name) : name_(std::move(name)) {}
  std::string const& name() const { return name_; }

  void acquire(std::shared_ptr<turn_request> const& r) {
    {
      std::lock_guard lock(mutex_);
      if (held_) return waiting_.push_back(r);
      held_ = true;
    }
    r->finished(nullptr);
  }
  /// Hands it to the next who waits.
  void release() {
    std::shared_ptr<turn_request> next;
    {
      std::lock_guard lock(mutex_);
      if (waiting_.empty()) held_ = false;
      else next = std::move(waiting_.front()), waiting_.pop_front();
    }
    if (next) next->finished(nullptr);
  }
  /// A request that still waits ends with `why`.
  void give_up(turn_request const& wanted, failure why) {
    std::shared_ptr<turn_request> gone;
    {
      std::lock_guard lock(mutex_);
      auto const at = std::find_if(waiting_.begin(), waiting_.end(), [&](auto const& r) { return r.get() == &wanted; });
      if (at == waiting_.end()) return;
      gone = *at;
      waiting_.erase(at);
    }
    gone->finished(std::move(why));
  }
  std::size_t waiting() const {
    std::lock_guard lock(mutex_);
    return waiting_.size();
  }

 private:
  std::string name_;
  mutable std::mutex mutex_;
  bool held_ = false;
  std::deque<std::shared_ptr<turn_request>> waiting_;
};

/// Lets those who arrive go on when there are so many of them, again and again.
class barrier_state {
 public:
  barrier_state(std::string name, std::int64_t parties) : name_(std::move(name)), parties_(parties) {
    expects(parties > 0, "a barrier is for one party or more");
  }
  std::string const& name() const { return name_; }
  std::int64_t parties() const { return parties_; }

  void arrive(std::shared_ptr<turn_request> const& r) {
    std::vector<std::shared_ptr<turn_request>> all;
    {
      std::lock_guard lock(mutex_);
      waiting_.push_back(r);
      if (static_cast<std::int64_t>(waiting_.size()) < parties_) return;
      all = std::exchange(waiting_, {});
    }
    for (auto const& each : all) each->finished(nullptr);
  }
  /// A request that still waits ends with `why`, and has not arrived.
  void give_up(turn_request const& wanted, failure why) {
    std::shared_ptr<turn_request> gone;
    {
      std::lock_guard lock(mutex_);
      auto const at = std::find_if(waiting_.begin(), waiting_.end(), [&](auto const& r) { return r.get() == &wanted; });
      if (at == waiting_.end()) return;
      gone = *at;
      waiting_.erase(at);
    }
    gone->finished(std::move(why));
  }
  std::size_t waiting() const {
    std::lock_guard lock(mutex_);
    return waiting_.size();
  }

 private:
  std::string name_;
  std::int64_t parties_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<turn_request>> waiting_;
};

}  // namespace rill
