// The steps on tasks that a process is the master of.
#pragma once
#include <cstdint>
#include <mutex>
#include <random>
#include <set>

#include "rill/base/process.hpp"

namespace rill {

/// Names a step among all steps of all processes.
struct step_id {
  std::uint64_t master = 0;  ///< the number of the process that has the session
  std::uint64_t number = 0;  ///< counted there, and never used again
  friend constexpr auto operator<=>(step_id, step_id) = default;
};

namespace detail {

/// The steps that this process is the master of and that have not ended.
class running_steps {
 public:
  /// Those of this process. Never destroyed: a step may still end on another thread when the program exits.
  static running_steps& here() {
    static auto& steps = *new in_process<running_steps>;
    return *steps;
  }

  running_steps() {
    std::random_device random;
    process_ = std::uint64_t{random()} << 32 | random();
  }
  /// The number of this process: drawn at random, so that no process has that of another, nor of one before it.
  std::uint64_t process() const { return process_; }

  step_id begin() {
    std::lock_guard lock(mutex_);
    running_.insert(next_);
    return {process_, next_++};
  }
  void end(step_id id) {
    std::lock_guard lock(mutex_);
    running_.erase(id.number);
  }
  /// All steps with lower numbers have ended.
  std::uint64_t oldest() const {
    std::lock_guard lock(mutex_);
    return running_.empty() ? next_ : *running_.begin();
  }

 private:
  mutable std::mutex mutex_;
  std::uint64_t process_ = 0, next_ = 1;
  std::set<std::uint64_t> running_;
};

}  // namespace detail

}  // namespace rill
