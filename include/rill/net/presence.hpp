// Which tasks of a cluster are connected to a server, and which have been.
#pragma once
#include <cstddef>
#include <map>
#include <mutex>
#include <string_view>

#include "rill/device/device_name.hpp"

namespace rill::net {

/// Counts the connections of each task. Several threads may use it.
class presence {
 public:
  void came(device_name const& task) {
    std::lock_guard lock(mutex_);
    ++connections_[task];
  }
  void left(device_name const& task) {
    std::lock_guard lock(mutex_);
    --connections_[task];
  }
  /// Whether all tasks of a job, which has `tasks`, have been here, and none is any more.
  bool is_over(std::string_view job, std::size_t tasks) const {
    std::lock_guard lock(mutex_);
    std::size_t seen = 0;
    for (auto const& [task, connections] : connections_) {
      if (task.job != job) continue;
      if (connections > 0) return false;
      ++seen;
    }
    return seen == tasks;
  }

 private:
  mutable std::mutex mutex_;
  std::map<device_name, int> connections_;
};

}  // namespace rill::net
