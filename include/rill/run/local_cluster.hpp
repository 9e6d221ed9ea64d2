// A cluster within one process: its tasks share nothing but the steps that run on them. Use it to test programs that
// are to run on several processes, or to isolate parts of a program.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rill/device/device.hpp"
#include "rill/run/tasks/task.hpp"
#include "rill/run/worker.hpp"

namespace rill {

/// Tasks that do the same work, numbered from 0.
struct job {
  std::string name;         ///< letters, digits, '_' and '-', the first of them a letter
  std::uint32_t tasks = 1;  ///< how many
};

/// Tasks of this process.
class local_cluster {
 public:
  /// Starts the tasks of some jobs. `with` returns what a task has; empty: a thread for each
  /// processor that the process may use. Throws error(invalid_argument) if two jobs have one name, or if there is no
  /// task.
  explicit local_cluster(std::vector<job> const& jobs, std::function<task_options(device_name const& task)> with = {});

  /// Returns where a session runs its steps: on all tasks, and on the first what may run anywhere.
  rill::target target() const;
  /// The same, with the named task as the first. Throws error(not_found) if the cluster has no task of this name.
  rill::target target(std::string_view first) const;
  /// Returns the container with the variables of a task: `cluster.state("/job:ps/task:0")`. Throws error(not_found).
  container& state(std::string_view task) const;

 private:
  std::size_t find(std::string_view task) const;

  std::vector<std::shared_ptr<worker>> tasks_;
};

#if RILL_RUNTIME

RILL_INLINE local_cluster::local_cluster(std::vector<job> const& jobs,
                                         std::function<task_options(device_name const& task)> with) try {
  for (auto const& j : jobs)
    for (std::uint32_t t = 0; t < j.tasks; ++t) {
      auto const name = device_name::parse("/job:" + j.name + "/task:" + std::to_string(t));
      for (auto const& other : tasks_)
        if (other->name() == name)
          throw error(code::invalid_argument, "two jobs of a cluster are called '" + j.name + "'");
      tasks_.push_back(std::make_shared<worker>(name, with ? with(name) : task_options{}));
    }
  if (tasks_.empty()) throw error(code::invalid_argument, "a cluster has at least one task, and this one has none");
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE target local_cluster::target() const try { return {{tasks_.begin(), tasks_.end()}}; } catch (...) {
  rethrow_as_error();
}
RILL_INLINE target local_cluster::target(std::string_view first) const try {
  auto all = target();
  auto const at = all.tasks.begin() + static_cast<std::ptrdiff_t>(find(first));
  std::rotate(all.tasks.begin(), at, at + 1);
  return all;
} catch (...) {
  rethrow_as_error();
}
RILL_INLINE container& local_cluster::state(std::string_view task) const { return tasks_[find(task)]->state(); }

RILL_INLINE std::size_t local_cluster::find(std::string_view task) const {
  auto const wanted = device_name::parse(task);
  for (std::size_t i = 0; i < tasks_.size(); ++i)
    if (tasks_[i]->name() == wanted) return i;
  std::string names;
  for (auto const& t : tasks_) names += (names.empty() ? "" : ", ") + t->name().text();
  throw error(code::not_found, "the cluster has no task '" + std::string(task) + "': there are " + names);
}

#endif

}  // namespace rill
