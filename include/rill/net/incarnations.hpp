// Which process each task of a cluster is: a task whose process ends, or is stopped for long, is replaced by another.
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>

#include "rill/base/error.hpp"
#include "rill/device/device_name.hpp"

namespace rill::net {

/// The processes that tasks are, and were, as their connections have told. Several threads may use it.
class incarnations {
 public:
  /// A process says that it is this task. Returns whether it takes the place of another. Throws
  /// error(failed_precondition) if another process has taken its own place since: one that was stopped, was replaced
  /// and goes on must not run steps as that task.
  bool greet(device_name const& task, std::uint64_t process) {
    std::lock_guard lock(mutex_);
    auto [at, fresh] = all_.try_emplace(task, known{process, {}});
    auto& [now, before] = at->second;
    if (now == process) return false;
    if (std::find(before.begin(), before.end(), process) != before.end())
      throw error(code::failed_precondition,
                  "another process has become " + task.text() +
                      " since this one was last heard of: one of the two has to end, or to be another task");
    before.push_back(now);
    if (before.size() > most) before.pop_front();
    now = process;
    return true;
  }

 private:
  static constexpr std::size_t most = 64;  // processes that a task was: the oldest have long ended
  struct known {
    std::uint64_t now;
    std::deque<std::uint64_t> before;
  };
  std::mutex mutex_;
  std::map<device_name, known> all_;
};

}  // namespace rill::net
