// What a task's share of a step is doing, for reports on steps that take long: which nodes run, what kernels wait for.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "rill/base/error.hpp"
#include "rill/device/running_node.hpp"

namespace rill {

/// What something has been doing for a time.
struct lasting {
  std::string what;  ///< "runs 'x'"
  std::chrono::nanoseconds lasted;
};

/// What the kernels of one run of a share are doing. Several threads may use it.
class step_progress {
 public:
  using clock = std::chrono::steady_clock;

  /// `step`: its name in sentences, "step 3 of /job:worker/task:0".
  explicit step_progress(std::string step) : step_(std::move(step)) {}
  step_progress(step_progress const&) = delete;
  step_progress& operator=(step_progress const&) = delete;

  std::string const& step() const { return step_; }
  /// Returns the node that this thread runs, and the step: "'x' of step 3 of /job:worker/task:0".
  std::string running_here() const { return "'" + detail::running_node::mine().name() + "' of " + step_; }

  /// Begins a wait of the node that this thread runs. `text` returns what it waits for, of `at`. Returns a number for
  /// `end_wait`.
  std::uint64_t begin_wait(std::shared_ptr<void const> at, std::string (*text)(void const*)) {
    auto node = detail::running_node::mine().name();
    std::lock_guard lock(mutex_);
    waits_.emplace(next_, wait{std::move(node), std::move(at), text, clock::now()});
    return next_++;
  }
  void end_wait(std::uint64_t number) {
    std::lock_guard lock(mutex_);
    waits_.erase(number);
  }
  /// A node has failed. The first failure is kept, but for that of nodes that were told to end; others may run for
  /// long.
  void fail(failure why) {
    if (why->cause() == cause::asked_for) return;
    std::lock_guard lock(mutex_);
    if (!why_) why_ = std::move(why);
  }
  failure why() const {
    std::lock_guard lock(mutex_);
    return why_;
  }
  /// Returns what has lasted for at least `least`, and which node has failed while others run. How long a node has run
  /// is known from one call to the next.
  std::vector<lasting> sample(clock::time_point now, std::chrono::nanoseconds least) {
    std::vector<lasting> all;
    std::map<std::uint64_t, clock::time_point> running;
    std::lock_guard lock(mutex_);
    if (why_) all.push_back({"has failed and ends, '" + why_->node() + "' first", {}});
    for (auto const& [_, w] : waits_)
      if (now - w.since >= least) all.push_back({"'" + w.node + "' waits for " + w.text(w.at.get()), now - w.since});
    detail::running_node::for_each([&](detail::running_node::seen const& n) {
      if (n.of != this) return;
      auto const known = running_.find(n.call);
      auto const since = running.emplace(n.call, known == running_.end() ? now : known->second).first->second;
      if (now - since >= least) all.push_back({"runs '" + n.name + "'", now - since});
    });
    running_ = std::move(running);
    return all;
  }

 private:
  struct wait {
    std::string node;
    std::shared_ptr<void const> at;
    std::string (*text)(void const*);
    clock::time_point since;
  };

  std::string const step_;
  mutable std::mutex mutex_;
  std::uint64_t next_ = 1;
  std::map<std::uint64_t, wait> waits_;
  std::map<std::uint64_t, clock::time_point> running_;  // when calls of kernels were first seen
  failure why_;
};

}  // namespace rill
