// Tasks: the processes of a cluster, or what stands for them within one process, as a session sees them (white paper
// §3.1, OSDI'16 §3.3).
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "rill/device/device_name.hpp"
#include "rill/device/step.hpp"
#include "rill/graph/subgraph.hpp"
#include "rill/pass/options.hpp"
#include "rill/run/tasks/exchange.hpp"
#include "rill/run/tasks/step_id.hpp"
#include "rill/run/tasks/task_answer.hpp"

namespace rill {

enum class stages : unsigned;

/// How a task compiles its share of a step.
struct share_setting {
  std::uint64_t seed = 0;  ///< the graph's
  pass_options passes = {};
  bool soft = false;                    ///< passes over wishes that can't be fulfilled on the task
  std::vector<device_name> tasks = {};  ///< of the session: the peers of edges are numbers of these
};

/// One run of a task's share of a step.
struct share_run {
  step_id id = {};                                ///< of the step
  std::uint64_t step = 0;                         ///< its number in its session
  std::uint64_t stream = 0;                       ///< what it draws random numbers by
  std::int64_t generation = 0;                    ///< of the session (container::begin_generation)
  std::vector<tensor> fed = {};                   ///< its inputs
  std::shared_ptr<rill::exchange> exchange = {};  ///< of the step
  std::stop_token stop = {};                      ///< asks it to end
  std::optional<std::chrono::steady_clock::time_point> deadline = {};
  std::shared_ptr<step_progress> progress = {};  ///< is told what kernels do; null: nobody asks
  /// Is told of a node's failure before the share has ended, and of the loss of a value that it has sent, which may be
  /// known later; may be empty.
  std::function<void(failure)> failing = {};
  observer* watch = nullptr;          ///< is told of each node; null: nobody
  log_callback const* log = nullptr;  ///< where `print` writes; null: nowhere
};

/// What one task runs of a step, compiled by that task. Several steps may run it at the same time.
class registered_share {
 public:
  /// Called once with its results or its error, by any thread; must not throw.
  using completion = std::function<void(std::vector<tensor>, failure)>;

  virtual ~registered_share() = default;
  /// Whether `start` returns at once; otherwise it compiles the share first, for new extents of its variables.
  virtual bool is_ready() const { return true; }
  /// Starts it and returns. If it throws, nothing has been started.
  virtual void start(share_run with, completion done) = 0;
  /// Requests the text of the plan's stages in `which`. The share outlives the answer.
  virtual task_answer<std::string> ask_to_explain(stages which) const = 0;
  /// Returns the stages in `which` of its plan as text.
  std::string explain(stages which) const { return ask_to_explain(which).get(); }
  /// Gives back the memory that is kept for the next step.
  virtual void trim() = 0;
  /// The step has ended well on all tasks, so all that was sent has come.
  virtual void ended(step_id) {}
  /// The step has failed and ended on all tasks: lets go of what it has left behind.
  virtual void forget(step_id) {}
};

/// A process of a cluster, with variables, threads and devices of its own. A function that begins with `ask` asks and
/// does not wait, so that all tasks of a step are asked at once.
class task {
 public:
  virtual ~task() = default;
  /// Returns its job and its number there.
  virtual device_name const& name() const = 0;
  /// Asks for the full names of its devices, the host first. The task outlives the answer.
  virtual task_answer<std::vector<device_name>> ask_devices() const = 0;
  /// Asks, for each variable name, whether the task has a value for it. The task outlives the answer.
  virtual task_answer<std::vector<bool>> ask_values(std::vector<std::string> const& variables) const = 0;
  /// Asks the task to compile its share of a step for inputs of these types. The answer throws what compiling throws.
  virtual task_answer<std::shared_ptr<registered_share>> ask_to_add(subgraph share, std::vector<type> const& fed,
                                                                    share_setting const& how) = 0;

  /// Returns the full names of its devices, the host first.
  std::vector<device_name> devices() const { return ask_devices().get(); }
  /// Returns, for each variable name, whether the task has a value for it.
  std::vector<bool> have_values(std::vector<std::string> const& variables) const { return ask_values(variables).get(); }
  /// Compiles its share of a step for inputs of these types. Throws what compiling a step throws.
  std::shared_ptr<registered_share> add(subgraph share, std::vector<type> const& fed, share_setting const& how) {
    return ask_to_add(std::move(share), fed, how).get();
  }
};

/// Where the steps of a session run: tasks of a cluster. What may run anywhere runs on the first.
struct target {
  std::vector<std::shared_ptr<task>> tasks = {};
};

namespace detail {

/// Whether branches and loops run on several tasks even if one task could run all of them. Set by tests.
inline bool span_all_bodies = false;

}  // namespace detail

}  // namespace rill
