// How a training loop runs, and how it has ended.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <stop_token>
#include <string>
#include <string_view>

#include "rill/train/saver.hpp"

namespace rill {

/// When a training loop saves a checkpoint: every `steps` steps, or every `time`, whichever comes first.
struct save_interval {
  std::int64_t steps = 0;                                    ///< 0: steps don't count
  std::chrono::nanoseconds time = std::chrono::minutes(10);  ///< 0: time doesn't count
};

/// How far a training loop has come.
struct training_progress {
  /// Including steps before a restart; an asynchronous worker counts only its own.
  std::int64_t steps = 0;
  double loss = std::numeric_limits<double>::quiet_NaN();  ///< of the last step; not a number before the first
  std::int64_t rollbacks = 0;                              ///< how often training has gone back to a checkpoint
};

/// How a training loop has ended.
struct training_result : training_progress {
  bool finished = false;  ///< false: it was told to stop before the end

  /// Returns what main returns: 0 if the training is finished, and 75 (EX_TEMPFAIL) if it was stopped: if a launcher
  /// restarts the program, training continues.
  int exit_code() const { return finished ? 0 : 75; }
};

/// How a training loop runs.
struct training_options {
  /// The folder of the checkpoints, given to all workers. Empty: it saves none, and a loss ends the training.
  std::filesystem::path directory = {};
  saver_options checkpoints = {};  ///< their names, how many are kept, and who writes them
  save_interval save = {};
  /// The number of steps after which it ends; 0: it ends when the input does.
  std::int64_t steps = 0;
  /// Computes the metric that is stored with each checkpoint. The chief calls it before each save. With
  /// `checkpoints.better` the best checkpoint is kept.
  std::function<double()> metric = {};
  /// Called when the variables have their values, before the first step and again after each return to a checkpoint:
  /// it starts queue runners, for instance.
  std::function<void()> at_start = {};
  /// Called on the chief when all workers have finished, the last checkpoint is saved, and all tasks are still there:
  /// it evaluates, for instance.
  std::function<void()> at_end = {};
  /// Takes a line now and then: what was lost, and on the chief the step, the loss, examples per second and the time
  /// that is left. Empty: to standard output.
  std::function<void(std::string_view)> log = {};
  std::chrono::nanoseconds log_every = std::chrono::seconds(5);  ///< 0: no lines of progress
  /// How long it waits, each time, for tasks that are not there.
  std::chrono::nanoseconds wait = std::chrono::minutes(5);
  /// How often in a row training may go back to one checkpoint; the next loss ends it.
  int attempts = 20;
  bool check_loss = true;  ///< whether a loss that is not finite ends the training
  std::stop_token stop = {};
  /// Whether the first SIGTERM or SIGINT ends the training as `stop` does: the chief saves after its step, and `run`
  /// returns on all workers. The newest checkpoint stands instead if all processes are told at once, because the ps
  /// tasks refuse the save, and if a step that takes its input from a queue was cancelled.
  bool stop_on_signals = true;
  /// Tells trainings apart that one program runs on one cluster, one after the other: each has a name of its own.
  std::string name = "training";
};

}  // namespace rill
