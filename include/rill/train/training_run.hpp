// One run of a training loop: in one process, or as the chief or another worker of a cluster. The chief begins a
// generation: it gathers the workers, restores the newest checkpoint, and lets all train from there. A loss ends the
// generation everywhere, and the chief begins the next one.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "rill/run/session.hpp"
#include "rill/train/saver.hpp"
#include "rill/train/training_coordinator.hpp"
#include "rill/train/training_options.hpp"
#include "rill/train/training_watch.hpp"

namespace rill::detail {

/// What a loop trains, without the types of its tensors.
struct training_work {
  std::function<void(std::stop_token)> prepare;    ///< compiles the step, which ends when it is asked to
  std::function<bool()> draw;                      ///< the next batch; false: the input has ended
  std::function<double()> step;                    ///< trains by that batch; returns the loss
  std::function<batch_position()> position;        ///< after that batch
  std::function<void(batch_position)> resume;      ///< goes on there
  std::function<void(std::int64_t)> resume_after;  ///< goes on after so many batches
  std::function<std::int64_t()> total;             ///< of batches; -1: not known
  std::function<std::int64_t()> examples;          ///< in the last batch
  bool waits = false;                              ///< whether a step may wait for its input
};

/// Whether training goes back to a checkpoint after this error, which is not the program's own.
inline bool is_loss(error const& e) { return e.cause() == cause::lost || e.cause() == cause::derived; }

class training_run {
 public:
  struct hook {
    std::int64_t steps;
    std::function<void(training_progress const&)> call;
  };

  training_run(session& s, training_options o);
  session& in() const { return in_; }
  std::int64_t worker() const { return worker_; }
  std::int64_t workers() const { return workers_; }
  void add(hook h) { hooks_.push_back(std::move(h)); }
  /// Returns `train` with what the loop counts in the graph. Called once.
  operation counted(operation train);
  training_result train(training_work work);

 private:
  using phase = training_status::phase;
  using coordinator = training_coordinator;
  using marks = coordinator::marks;
  using clock = std::chrono::steady_clock;
  // How long processes wait for the others of a training that was finished before: these may have left.
  static constexpr std::chrono::seconds grace{5};
  static constexpr std::chrono::milliseconds pause{20};  // between two looks at the others

  // In every process.
  bool train_steps(training_watch const* watch);
  bool train_step(training_watch const* watch);
  void after_step();
  void resume(std::int64_t steps, batch_position at);
  std::int64_t own_count();
  void check_loss() const;
  bool should_stop() const;
  void say(std::string const& line) const;
  bool has_rounds() const;

  // Where checkpoints are saved: in a process alone, and on the chief.
  void train_alone();
  bool was_finished();
  void restore();
  std::optional<checkpoint> restore_newest();
  void save_rest();
  void save_if_due();
  void save();
  void finish_saving();
  void report();

  // On the chief.
  void train_as_chief();
  bool gather();
  void begin_generation();
  failure check_workers(marks const& all);
  failure failure_of_workers(marks const& all) const;
  std::optional<std::int64_t> worker_with(marks const& all, coordinator::mark which) const;
  template <class F> void ask_workers(std::vector<std::int64_t> const& reached, F const& f) const;
  failure first_unreachable(std::vector<std::int64_t> const& reached) const;
  bool any_reachable(std::vector<std::int64_t> const& reached) const;
  bool wait_for_all(coordinator::mark which, std::string const& what) {
    return wait_for_all(which, what, options_.wait);
  }
  bool wait_for_all(coordinator::mark which, std::string const& what, std::chrono::nanoseconds time);
  failure unequal_ends(std::int64_t worker, std::int64_t steps) const;
  static std::string seconds_of(std::chrono::nanoseconds time) {
    return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count()) + " s";
  }
  training_status status(phase now) const;

  // On the other workers.
  void train_as_worker();
  training_status wait_for_chief();
  std::optional<training_status> ask_chief();
  failure end_of(std::optional<training_status> const& s) const;
  void wait_for_end();
  void leave(training_status const& said);

  bool has_lost_values(error const& e) const noexcept;
  void end_stopped() noexcept;
  void report_failure(error const& e) noexcept;
  void roll_back(error const& e);

  session& in_;
  training_options options_;
  std::int64_t worker_ = 0, workers_ = 1;
  std::unique_ptr<coordinator> coordinator_;  // in a cluster
  std::vector<hook> hooks_;
  bool synchronous_ = false;
  std::vector<variable_value> counts_;  // of each asynchronous worker, its steps
  training_work work_;
  caught_signals const* signals_ = nullptr;

  std::optional<saver> saver_;
  operation first_values_;
  std::future<checkpoint> saving_;
  std::int64_t saved_ = -1;  // the steps of the last checkpoint
  clock::time_point saved_at_, logged_at_;
  std::int64_t seen_ = 0, logged_steps_ = 0;  // since the last line: examples and steps

  training_progress now_;
  std::int64_t goal_ = -1;  // the steps at the end of the input or at the option's limit; -1: not known
  std::int64_t generation_ = 0;
  std::int64_t joined_ = 0, lost_ = 0;  // the last generations that another worker has joined, and reported as lost
  std::int64_t attempts_ = 0, rolled_back_to_ = -2;
  std::atomic<std::int64_t> running_step_ = -1;  // how many steps ended before the one that runs; -1: none runs
  std::atomic<bool> stop_requested_ = false;     // by a worker, of the chief
  std::atomic<bool> chief_unreachable_ = false;  // for another worker, in this generation
  bool is_over_ = false, is_stopped_ = false;
  bool was_cancelled_ = false;  // a step was stopped halfway, so the variables are not saved
};

}  // namespace rill::detail

#if RILL_IO_RUNTIME
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <thread>
#include <utility>

#include "rill/base/deadline.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/ops/state/assign.hpp"
#include "rill/ops/state/generation.hpp"
#include "rill/ops/sync/training_rounds.hpp"
#include "rill/train/initializers.hpp"

namespace rill::detail {

RILL_IO_INLINE training_run::training_run(session& s, training_options o) : in_(s), options_(std::move(o)) {
  expects(options_.steps >= 0 && options_.save.steps >= 0, "a training loop: a number of steps must not be negative");
  expects(options_.save.time.count() >= 0 && options_.log_every.count() >= 0 && options_.wait.count() >= 0,
          "a training loop: a time must not be negative");
  expects(options_.attempts > 0, "a training loop: options.attempts must be at least one");
  expects(!options_.name.empty(), "a training loop: options.name must not be empty");
  auto const& on = s.executor().target();
  if (on.tasks.empty()) return;
  coordinator_ = std::make_unique<coordinator>(on, options_.name);
  worker_ = coordinator_->worker();
  workers_ = coordinator_->workers();
}

RILL_IO_INLINE bool training_run::has_rounds() const {
  auto const& g = in_.graph();
  for (std::uint32_t i = 0, n = static_cast<std::uint32_t>(g.size()); i < n; ++i)
    if (g[i].op == &definition<ops::begin_round_op>()) return true;
  return false;
}

// Each asynchronous worker counts its updates where the variables are. So it goes on after the last one when its
// process was started anew, and a checkpoint has its position.
RILL_IO_INLINE operation training_run::counted(operation train) {
  auto& g = in_.graph();
  synchronous_ = coordinator_ && has_rounds();
  if (!coordinator_ || synchronous_) return train;
  auto const all = all_variables(g);
  expects(!all.empty(), "a training loop: expected a graph with variables, got one without");
  for (std::int64_t w = 0; w < workers_; ++w)
    counts_.push_back(g.near(all.front(), [&] {
      return variable<std::int64_t>(g, options_.name + "/steps_" + std::to_string(w), zeros());
    }));
  auto const own = counts_[static_cast<std::size_t>(worker_)];
  return g.after({train}, [&] {
    return g.near(own, [&] { return operation(value(assign_add(own, constant(g, std::int64_t{1})))); });
  });
}

RILL_IO_INLINE training_result training_run::train(training_work work) {
  expects(!is_over_ && !work_.step, "run: a training loop trains once");
  caught_signals const caught(options_.stop_on_signals);
  signals_ = &caught;
  work_ = std::move(work);
  if (work_.total() == 0)
    throw error(code::invalid_argument, "a training loop: the input has no batch for " + std::to_string(workers_) +
                                            (workers_ == 1 ? " worker" : " workers"));
  auto& g = in_.graph();
  if (!options_.directory.empty()) saver_.emplace(g, options_.directory, options_.checkpoints);
  if (worker_ == 0) first_values_ = initializer(g, only_missing);
  if (coordinator_ && worker_ == 0) coordinator_->reset();
  while (!is_over_) try {
      !coordinator_ ? train_alone() : worker_ == 0 ? train_as_chief() : train_as_worker();
    } catch (error const& e) {
      bool const is_lost = coordinator_ && (is_loss(e) || has_lost_values(e));
      if (coordinator_ && (is_lost || e.cause() == cause::asked_for) && should_stop()) end_stopped();
      else if (is_lost && saver_) roll_back(e);
      else {
        if (coordinator_) report_failure(e);
        throw;
      }
    } catch (...) {
      if (coordinator_) report_failure(*caught_failure());
      throw;
    }
  training_result made{now_};
  made.finished = !is_stopped_;
  return made;
}

// Whether a step has failed because a task was started anew, and has no values of its variables: the error names one.
RILL_IO_INLINE bool training_run::has_lost_values(error const& e) const noexcept try {
  return e.code() == code::failed_precondition && !e.node().empty() && in_.executor().variable_without_value();
} catch (error const& other) {
  return is_loss(other);
} catch (...) {
  return false;
}

// It is told to stop while something that it needs is lost: what is saved stands.
RILL_IO_INLINE void training_run::end_stopped() noexcept try {
  is_over_ = is_stopped_ = true;
  saving_ = {};
  if (worker_ == 0) coordinator_->announce(status(phase::stopped));
  coordinator_->set(coordinator::left, generation_);
  if (worker_ == 0) wait_for_all(coordinator::left, "leave");
} catch (...) {  // whoever could be told is gone as well
}

// Tells all workers of an error that ends the training.
RILL_IO_INLINE void training_run::report_failure(error const& e) noexcept try {
  saving_ = {};
  if (worker_ == 0) {
    coordinator_->announce_failure(status(phase::failed), e);
    coordinator_->set(coordinator::left, generation_);
    wait_for_all(coordinator::left, "leave");
  } else {
    coordinator_->fail(e, generation_);
    coordinator_->set(coordinator::left, generation_);
  }
} catch (...) {  // whoever could be told is gone as well
}

RILL_IO_INLINE void training_run::roll_back(error const& e) {
  say("lost: " + std::string(e.what()));
  ++now_.rollbacks;
  saving_ = {};  // waits; a checkpoint that is written by now is the newest
  if (worker_ == 0) {
    if (std::exchange(rolled_back_to_, saved_) != saved_) attempts_ = 0;
    if (attempts_++ == options_.attempts) {
      error const last(e.code(), "gave up after returning to the same checkpoint " + std::to_string(options_.attempts) +
                                     " times: " + e.message());
      report_failure(last);
      throw last;
    }
    return;
  }
  if (!synchronous_ && chief_unreachable_) {  // it may join this generation again
    joined_ = 0;
    return;
  }
  lost_ = generation_;
  try {
    if (generation_ != 0) coordinator_->set(coordinator::lost, generation_);
  } catch (error const&) {  // the chief is what was lost
  }
}

RILL_IO_INLINE bool training_run::should_stop() const {
  return options_.stop.stop_requested() || signals_->told() || stop_requested_;
}

RILL_IO_INLINE void training_run::say(std::string const& line) const {
  auto const text = workers_ > 1 ? coordinator_->name_of(worker_) + ": " + line : line;
  if (options_.log) return options_.log(text);
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

// Returns false when it was told to stop.
RILL_IO_INLINE bool training_run::train_steps(training_watch const* watch) {
  work_.prepare(watch ? watch->token() : std::stop_token());
  if (options_.at_start) options_.at_start();
  while (options_.steps == 0 || now_.steps < options_.steps) {
    auto const why = watch ? watch->why() : nullptr;
    if (worker_ == 0 && should_stop()) return false;
    if (why) throw error(*why);
    if (!work_.draw() || !train_step(watch)) break;
    after_step();
  }
  return !was_cancelled_;
}

// Returns false at the end of the input, and when the step was stopped halfway.
RILL_IO_INLINE bool training_run::train_step(training_watch const* watch) try {
  struct running {
    std::atomic<std::int64_t>& flag;
    ~running() { flag = -1; }
  } const flagged{running_step_};
  running_step_ = now_.steps;
  now_.loss = work_.step();
  return true;
} catch (error const& e) {
  if (e.code() == code::out_of_range) return false;
  auto const why = watch && e.cause() == cause::asked_for ? watch->why() : nullptr;
  if (!why) throw;
  if (worker_ != 0 || why->cause() != cause::asked_for) throw error(*why);
  was_cancelled_ = true;
  return false;
}

RILL_IO_INLINE void training_run::after_step() {
  ++now_.steps;
  ++logged_steps_;
  seen_ += work_.examples() * (synchronous_ ? workers_ : 1);
  if (options_.check_loss) check_loss();
  if (worker_ != 0) return;
  for (auto const& h : hooks_)
    if (now_.steps % h.steps == 0) h.call(now_);
  save_if_due();
  if (options_.log_every.count() > 0 && clock::now() - logged_at_ >= options_.log_every) report();
}

RILL_IO_INLINE void training_run::check_loss() const {
  if (std::isfinite(now_.loss)) return;
  throw error(code::failed_precondition, "the loss of step " + std::to_string(now_.steps) +
                                             (workers_ > 1 ? " of " + coordinator_->name_of(worker_) : std::string()) +
                                             " is " + std::to_string(now_.loss));
}

RILL_IO_INLINE void training_run::report() {
  auto const at = clock::now();
  double const seconds = std::chrono::duration<double>(at - logged_at_).count();
  auto text = "step " + std::to_string(now_.steps);
  if (goal_ >= 0) text += " of " + std::to_string(goal_);
  char rest[80];
  std::snprintf(rest, sizeof rest, ", loss %.5g", now_.loss);
  text += rest;
  if (seen_ > 0) {
    std::snprintf(rest, sizeof rest, ", %.0f examples/s", static_cast<double>(seen_) / seconds);
    text += rest;
  }
  if (goal_ >= 0 && logged_steps_ > 0) {
    auto const left = static_cast<std::int64_t>(static_cast<double>(goal_ - now_.steps) * seconds /
                                                static_cast<double>(logged_steps_));
    std::snprintf(rest, sizeof rest, ", %lld:%02lld left", static_cast<long long>(left / 60),
                  static_cast<long long>(left % 60));
    text += rest;
  }
  say(text);
  logged_at_ = at;
  seen_ = logged_steps_ = 0;
}

// With a different number of workers or batch size, the same number of steps leads to a different position.
RILL_IO_INLINE void training_run::resume(std::int64_t steps, batch_position at) {
  bool const is_own = coordinator_ && !synchronous_;
  now_.steps = is_own ? own_count() : steps;
  work_.resume_after(now_.steps);
  bool const is_usual = is_own || work_.position() == at;
  if (!is_own) work_.resume(at);
  goal_ = is_usual ? work_.total() : -1;
  if (options_.steps != 0) goal_ = goal_ < 0 ? options_.steps : std::min(goal_, options_.steps);
}
RILL_IO_INLINE std::int64_t training_run::own_count() {
  tensor const n = in_.run(counts_[static_cast<std::size_t>(worker_)]);
  return *n.data<std::int64_t>();
}

// Whether the newest checkpoint is the end of this training.
RILL_IO_INLINE bool training_run::was_finished() try {
  if (!coordinator_ || !saver_ || work_.waits) return false;
  auto const all = saver_->checkpoints();
  if (all.empty() || !all.back().trained) return false;
  auto const& newest = all.back();
  bool is_at_end = true;
  if (synchronous_) {
    work_.resume(newest.position);
    is_at_end = (options_.steps != 0 && *newest.trained >= options_.steps) || !work_.draw();
  } else {
    auto const total = work_.total();
    auto const goal = options_.steps == 0 ? total : std::min(options_.steps, total);
    for (auto const& count : counts_) {
      auto const file = newest.shards.find(count.name());
      if (file == newest.shards.end()) return false;
      auto const steps = safetensors_file(newest.directory / file->second).read(count.name());
      is_at_end = is_at_end && *steps.data<std::int64_t>() >= goal;
    }
  }
  if (is_at_end) now_.steps = *newest.trained;
  return is_at_end;
} catch (error const&) {  // the chief removes an old one just now; or `restore` says what is wrong
  return false;
}

// Gives the variables the values of the newest checkpoint, or their first ones, and saves these: so there is always a
// checkpoint to go back to.
RILL_IO_INLINE void training_run::restore() {
  auto const found = restore_newest();
  if (found) {
    resume(found->trained.value_or(static_cast<std::int64_t>(found->steps)), found->position);
    saved_ = now_.steps;
  } else {
    in_.run(first_values_);
    in_.set_steps(0);
    resume(0, {});
    if (saver_) save(), finish_saving();
  }
  saved_at_ = logged_at_ = clock::now();
  seen_ = logged_steps_ = 0;
}

// A checkpoint of another kind of training, or of fewer workers, lacks steps that asynchronous workers count: these
// begin with 0.
RILL_IO_INLINE std::optional<checkpoint> training_run::restore_newest() {
  if (!saver_) return {};
  if (counts_.empty()) return saver_->restore(in_);
  auto const all = saver_->checkpoints();
  if (all.empty()) return {};
  auto const& newest = all.back();
  saver_->restore(in_, newest, [&](std::string const& variable) -> std::optional<std::string> {
    bool const is_count = variable.starts_with(options_.name + "/steps_");
    return is_count && !newest.shards.contains(variable) ? std::nullopt : std::optional(variable);
  });
  in_.run(first_values_);
  return newest;
}

RILL_IO_INLINE void training_run::save_if_due() {
  bool const by_steps = options_.save.steps > 0 && now_.steps != saved_ && now_.steps % options_.save.steps == 0;
  bool const by_time = options_.save.time.count() > 0 && clock::now() - saved_at_ >= options_.save.time;
  if (!saver_ || (!by_steps && !by_time)) return;
  if (coordinator_)
    if (auto const why = failure_of_workers(coordinator_->all())) throw error(*why);  // else what has diverged is saved
  save();
}
RILL_IO_INLINE void training_run::save() {
  finish_saving();
  auto const metric = options_.metric ? std::optional(options_.metric()) : std::nullopt;
  auto const steps = in_.steps();
  auto const draws = in_.draws();
  saving_ = saver_->save_in_background(in_, work_.position(), metric, now_.steps);
  if (coordinator_) in_.set_steps(steps), in_.set_draws(draws);  // a step that fetches variables trains nothing
  saved_ = now_.steps;
  saved_at_ = clock::now();
}
RILL_IO_INLINE void training_run::finish_saving() {
  if (saving_.valid()) saving_.get();
}
// Asynchronous workers have trained while the chief did not.
RILL_IO_INLINE void training_run::save_rest() {
  bool const is_new = saved_ != now_.steps || (coordinator_ && !synchronous_);
  if (saver_ && is_new && !was_cancelled_) save();
  finish_saving();
}

RILL_IO_INLINE void training_run::train_alone() {
  restore();
  std::optional<training_watch> watch;
  if (work_.waits) watch.emplace([this] { return should_stop() ? as_failure(step_cancelled()) : nullptr; });
  is_stopped_ = !train_steps(watch ? &*watch : nullptr);
  save_rest();
  if (!is_stopped_ && options_.at_end) options_.at_end();
  is_over_ = true;
}

RILL_IO_INLINE training_status training_run::status(phase now) const {
  auto const draws = in_.draws();
  auto const at = draws.training.find("");
  return {generation_,
          now,
          now_.steps,
          work_.position(),
          static_cast<std::int64_t>(at == draws.training.end() ? draws.first : at->second),
          static_cast<std::int64_t>(draws.first)};
}

RILL_IO_INLINE void training_run::train_as_chief() {
  if (gather()) {
    begin_generation();
    restore();
    coordinator_->announce(status(phase::running));
    training_watch const watch([this] { return check_workers(coordinator_->all()); });
    is_stopped_ = !train_steps(&watch);
    if (!is_stopped_) {
      auto ended = status(phase::running);
      ended.ended = now_.steps;
      coordinator_->announce(ended);
      coordinator_->set(coordinator::done, generation_);
      is_stopped_ = !wait_for_all(coordinator::done, "finish");
    }
    save_rest();
    if (!is_stopped_ && options_.at_end) options_.at_end();
  }
  is_over_ = true;
  coordinator_->announce(status(is_stopped_ ? phase::stopped : phase::finished));
  coordinator_->set(coordinator::left, generation_);
  try {
    wait_for_all(coordinator::left, "leave");
  } catch (error const&) {  // everything is saved, so nobody needs a worker that was lost by now
  }
}

// Returns false if there is nothing to do: the training was finished before, and workers are missing, because they have
// left.
RILL_IO_INLINE bool training_run::gather() {
  bool const is_finished = was_finished();
  generation_ = static_cast<std::int64_t>(std::random_device()() % ops::begin_generation_op::most) + 1;
  coordinator_->announce(status(phase::gathering));
  coordinator_->set(coordinator::joined, generation_);
  try {
    if (!wait_for_all(coordinator::joined, "join", is_finished ? grace : options_.wait)) throw step_cancelled();
  } catch (error const& e) {
    if (!is_finished || e.code() != code::deadline_exceeded) throw;
    return false;
  }
  return true;
}

// Has all tasks refuse the steps of earlier generations. Waits for tasks that are lost.
RILL_IO_INLINE void training_run::begin_generation() {
  in_.state().begin_generation(generation_);
  auto const latest = deadline_after(options_.wait);
  auto longer = pause;
  auto const tasks = in_.executor().target().tasks.size();
  for (std::size_t t = 0; t < tasks;) try {
      coordinator_->begin_generation(t, generation_);
      ++t;
    } catch (error const& e) {
      if (e.cause() != cause::lost || should_stop()) throw;
      if (clock::now() >= latest)
        throw error(e.code(), "waited " + seconds_of(options_.wait) + " for a task: " + e.message());
      std::this_thread::sleep_for(longer);
      longer = std::min(longer * 2, std::chrono::milliseconds(500));
    }
}

// What the chief looks for while it trains. Returns why the generation ends; null: it goes on.
RILL_IO_INLINE failure training_run::check_workers(marks const& all) {
  if (auto const why = failure_of_workers(all)) return why;
  if (auto const w = worker_with(all, coordinator::lost))
    return failed({code::aborted, cause::lost},
                  coordinator_->name_of(*w) + " lost contact with a task or was restarted");
  if (worker_with(all, coordinator::stopping)) stop_requested_ = true;
  if (work_.waits && running_step_ >= 0 && should_stop()) return as_failure(step_cancelled());
  if (!synchronous_) return nullptr;
  for (std::int64_t w = 1; w < workers_; ++w)
    if (auto const why = unequal_ends(w, all[coordinator::ended][static_cast<std::size_t>(w)] - 1)) return why;
  auto const why = first_unreachable({});
  if (!why) return nullptr;
  auto const own = failure_of_workers(coordinator_->all());  // it may have ended for that
  return own ? own : why;
}

// Returns the error with which a worker has ended this generation; null: none has.
RILL_IO_INLINE failure training_run::failure_of_workers(marks const& all) const {
  auto const w = worker_with(all, coordinator::failed);
  return w ? as_failure(coordinator_->reason_of(*w)) : nullptr;
}

// Returns the first worker that has set a mark in this generation.
RILL_IO_INLINE std::optional<std::int64_t> training_run::worker_with(marks const& all, coordinator::mark which) const {
  auto const at = std::find(all[which].begin(), all[which].end(), generation_);
  return at == all[which].end() ? std::nullopt : std::optional<std::int64_t>(at - all[which].begin());
}

// Returns an error if this worker waits for a gradient from a worker whose input ended after `steps` steps; -1: it has
// not ended.
RILL_IO_INLINE failure training_run::unequal_ends(std::int64_t worker, std::int64_t steps) const {
  if (steps < 0 || running_step_ != steps) return nullptr;
  return failed(code::invalid_argument, "the input of " + coordinator_->name_of(worker) + " has ended after " +
                                            std::to_string(steps) + " steps, and that of " +
                                            coordinator_->name_of(worker_) +
                                            " has not: workers that train synchronously need equally many batches, as "
                                            "training_loop::share gives them");
}

// Asks each worker that has not set a mark in this generation whether it is alive. Calls `f` with the failure, or null
// if it answers.
template <class F> void training_run::ask_workers(std::vector<std::int64_t> const& reached, F const& f) const {
  auto const& tasks = in_.executor().target().tasks;
  for (auto const& t : tasks) {
    auto const& name = t->name();
    auto const w = name.task.value_or(0);
    if (name.job != tasks[0]->name().job || (w < reached.size() && reached[w] == generation_)) continue;
    try {
      static_cast<void>(t->have_values({}));
      f(failure());
    } catch (...) {
      f(caught_failure());
    }
  }
}
RILL_IO_INLINE failure training_run::first_unreachable(std::vector<std::int64_t> const& reached) const {
  failure first;
  ask_workers(reached, [&](failure const& why) {
    if (!first) first = why;
  });
  return first;
}
RILL_IO_INLINE bool training_run::any_reachable(std::vector<std::int64_t> const& reached) const {
  bool is = false;
  ask_workers(reached, [&](failure const& why) { is = is || !why; });
  return is;
}

// Waits until all workers have set a mark. Returns false if it is told to stop before.
RILL_IO_INLINE bool training_run::wait_for_all(coordinator::mark which, std::string const& what,
                                               std::chrono::nanoseconds time) {
  auto latest = deadline_after(time);
  for (;;) {
    auto const all = coordinator_->all();
    auto const& reached = all[which];
    auto const absent = std::find_if(reached.begin(), reached.end(), [&](auto g) { return g != generation_; });
    if (absent == reached.end()) return true;
    if (which == coordinator::left) {
      if (!any_reachable(reached)) return true;  // who is gone will not come back for that
    } else {
      if (auto const why = which == coordinator::done ? check_workers(all) : failure_of_workers(all)) throw error(*why);
      if (worker_with(all, coordinator::stopping)) stop_requested_ = true;
      if (should_stop()) return false;
    }
    if (which == coordinator::done) {
      if (!first_unreachable(reached)) latest = deadline_after(time);  // it still trains
      save_if_due();
    }
    if (clock::now() >= latest) {
      if (which == coordinator::done) save_rest();
      throw error(code::deadline_exceeded, "waited " + seconds_of(time) + " for " +
                                               coordinator_->name_of(absent - reached.begin()) + " to " + what);
    }
    std::this_thread::sleep_for(pause);
  }
}

RILL_IO_INLINE void training_run::train_as_worker() {
  auto const from = wait_for_chief();
  generation_ = from.generation;
  if (from.is_over()) return leave(from);
  in_.state().begin_generation(generation_);
  coordinator_->begin_generation(0, generation_);
  coordinator_->set(coordinator::ended, 0);
  in_.set_steps(static_cast<std::uint64_t>(from.steps));
  in_.set_draws({.training = {{"", static_cast<std::uint64_t>(from.draws)}},
                 .first = static_cast<std::uint64_t>(from.first_draw)});
  resume(from.steps, from.position);
  chief_unreachable_ = false;
  training_watch const watch([this] { return end_of(ask_chief()); });
  try {
    train_steps(&watch);
    coordinator_->set(coordinator::ended, now_.steps + 1);
    coordinator_->set(coordinator::done, generation_);
    wait_for_end();
  } catch (error const& e) {
    if (e.code() != code::cancelled || e.cause() != cause::asked_for || !watch.why()) throw;
    auto const n = coordinator_->status();
    leave(n ? *n : training_status{.now = phase::stopped, .steps = now_.steps});
  }
}

// Joins the generation that the chief gathers, and returns the status when all train. A synchronous worker that comes
// later makes the chief begin a new generation; an asynchronous one joins this.
RILL_IO_INLINE training_status training_run::wait_for_chief() {
  auto latest = deadline_after(options_.wait);
  auto const left = deadline_after(2 * grace);
  bool const is_finished = was_finished();
  failure why;
  for (;;) try {
      auto const n = coordinator_->status();
      if (n) {
        latest = deadline_after(options_.wait);  // the chief has a limit of its own
        if (n->is_over()) return *n;
        bool const is_new = n->generation != joined_ && n->generation != lost_;
        if (is_new && (n->now == phase::gathering || !synchronous_)) {
          coordinator_->set(coordinator::joined, n->generation);
          generation_ = joined_ = n->generation;
        } else if (is_new || (n->now == phase::running && n->generation == lost_)) {
          coordinator_->set(coordinator::lost,
                            n->generation);  // again, for the chief may not have been in reach before
          lost_ = n->generation;
        }
        if (n->now == phase::running && n->generation == joined_ && n->generation != lost_) return *n;
      }
      if (clock::now() >= latest)
        throw error(why ? why->code() : code::deadline_exceeded, "waited " + seconds_of(options_.wait) + " for " +
                                                                     coordinator_->name_of(0) + " to begin" +
                                                                     (why ? ": " + why->message() : std::string()));
      if (should_stop()) {
        if (!n) throw step_cancelled();
        coordinator_->set(coordinator::stopping, n->generation);
      }
      std::this_thread::sleep_for(pause);
    } catch (error const& e) {
      if (!is_loss(e) || should_stop()) throw;
      why = as_failure(e);
      if (is_finished && clock::now() >= left)
        return {.generation = generation_, .now = phase::finished, .steps = now_.steps};
      if (clock::now() >= latest) throw error(e.code(), e.message());
      std::this_thread::sleep_for(pause);
    }
}

RILL_IO_INLINE std::optional<training_status> training_run::ask_chief() try {
  if (should_stop()) coordinator_->set(coordinator::stopping, generation_);  // the chief stops all at one step
  return coordinator_->status();
} catch (...) {
  chief_unreachable_ = true;
  throw;
}

// Returns why another worker's generation ends, by the chief's status; null: it goes on.
RILL_IO_INLINE failure training_run::end_of(std::optional<training_status> const& s) const {
  if (!s || s->generation != generation_)
    return failed({code::aborted, cause::lost},
                  coordinator_->name_of(0) + " has begun another generation of the training");
  if (s->now == phase::failed) return as_failure(coordinator_->reason());
  if (s->now == phase::stopped) return as_failure(step_cancelled());
  return synchronous_ ? unequal_ends(0, s->ended) : nullptr;
}

RILL_IO_INLINE void training_run::wait_for_end() {
  for (;;) {
    auto const s = ask_chief();
    if (auto const why = end_of(s)) throw error(*why);
    if (s->is_over()) return leave(*s);
    std::this_thread::sleep_for(pause);
  }
}

RILL_IO_INLINE void training_run::leave(training_status const& said) {
  if (said.now == phase::failed) throw coordinator_->reason();
  is_over_ = true;
  is_stopped_ = said.now == phase::stopped;
  if (synchronous_) now_.steps = said.steps;  // it may have heard of the end before its own last step ended
  try {
    coordinator_->set(coordinator::left, generation_);
  } catch (error const&) {  // the chief has left before
  }
}

}  // namespace rill::detail
#endif
