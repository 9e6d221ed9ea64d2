// Which tasks of a cluster are connected to a server, and which have been.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "rill/device/device_name.hpp"

namespace rill::net {

/// Counts the connections of each task of the cluster. Several threads may use it.
class presence {
 public:
  using clock = std::chrono::steady_clock;

  void came(device_name const& task) {
    std::lock_guard lock(mutex_);
    ++all_[task].connections;
  }
  void left(device_name const& task) {
    std::lock_guard lock(mutex_);
    auto& of = all_[task];
    --of.connections;
    of.left = clock::now();
  }
  /// Whether all `tasks` tasks of `job` (except `own`, the task of this process; empty: none) have connected and none
  /// is connected now.
  bool is_over(std::string_view job, std::size_t tasks, device_name const& own = {}) const {
    std::lock_guard lock(mutex_);
    for (device_name t{.job = std::string(job), .task = 0}; *t.task < tasks; ++*t.task) {
      if (t == own) continue;
      auto const at = all_.find(t);
      if (at == all_.end() || at->second.connections > 0) return false;
    }
    return true;
  }
  /// Returns since when none of the tasks of a job is connected of which some have been; null: one is, or none has
  /// been.
  std::optional<clock::time_point> gone_since(std::string_view job) const {
    std::lock_guard lock(mutex_);
    std::optional<clock::time_point> last;
    for (auto const& [task, of] : all_) {
      if (task.job != job) continue;
      if (of.connections > 0) return {};
      last = std::max(last.value_or(of.left), of.left);
    }
    return last;
  }
  /// Whether a task has ever been connected.
  bool has_been(device_name const& task) const {
    std::lock_guard lock(mutex_);
    return all_.contains(task);
  }

 private:
  struct connected {
    int connections = 0;
    clock::time_point left = {};  // when the last one that has ended did so
  };
  mutable std::mutex mutex_;
  std::map<device_name, connected> all_;
};

}  // namespace rill::net
