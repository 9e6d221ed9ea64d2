// State by which the workers of a cluster coordinate a training: the chief's status, and the marks that each worker
// sets.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rill/base/error.hpp"
#include "rill/graph/graph.hpp"
#include "rill/run/draw_counts.hpp"
#include "rill/run/session.hpp"
#include "rill/train/batches.hpp"

namespace rill::detail {

/// The chief's status of a generation of the training: it gathers the workers, and then they train from a checkpoint
/// on.
struct training_status {
  enum class phase : std::uint8_t { gathering, running, finished, stopped, failed };

  std::int64_t generation = 0;
  phase now = phase::gathering;
  std::int64_t steps = 0;  ///< that were trained when the generation began
  batch_position position = {};
  std::int64_t draws = 0, first_draw = 0;  ///< of steps that train (draw_counts)
  std::int64_t ended = -1;                 ///< the steps after which the chief's input has ended; -1: it has not

  bool is_over() const { return now != phase::gathering && now != phase::running; }
};

/// Variables of the chief's task, which all workers read and update by steps of a graph of their own. A mark holds the
/// last generation in which a worker set it; `ended` holds one more than the number of steps after which the worker's
/// input ended.
class training_coordinator {
 public:
  enum mark : std::uint8_t { joined, done, left, lost, stopping, failed, ended };
  static constexpr std::size_t kinds = 7;
  /// All marks, by kind and worker.
  using marks = std::array<std::vector<std::int64_t>, kinds>;

  /// `on`: the target of the worker's session. The chief is task 0 of the worker's job. `name`: of the training.
  training_coordinator(target const& on, std::string const& name);

  std::int64_t worker() const { return worker_; }
  std::int64_t workers() const { return workers_; }
  std::string name_of(std::int64_t worker) const { return "/job:" + job_ + "/task:" + std::to_string(worker); }

  /// Returns the chief's status; nullopt if the chief has not begun.
  std::optional<training_status> status();
  /// Sets a mark of this worker.
  void set(mark which, std::int64_t generation);
  /// Sets the mark `failed`, and the reason.
  void fail(error const& why, std::int64_t generation);
  /// Returns why training has failed, as the chief has announced it.
  error reason();

  /// For the chief: begins without status and marks.
  void reset();
  void announce(training_status const& s);
  void announce_failure(training_status last, error const& why);
  /// Returns all marks, by one step.
  marks all();
  /// Returns why a worker has failed.
  error reason_of(std::int64_t worker);

  /// Begins a generation on a task of the cluster, unless it has begun there.
  void begin_generation(std::size_t task, std::int64_t generation);

 private:
  struct text {
    expr<of<std::string>> in;
    value now;
    operation assigned;
  };
  text record_text(std::string const& name);
  // Errors as texts: the number of the code, and the sentence.
  static std::string as_text(error const& e);
  static error as_error(std::string const& words);

  static constexpr std::int64_t fields = 8;

  target const on_;
  std::string job_;
  std::int64_t worker_ = 0, workers_ = 0;
  std::size_t chief_ = 0;  // among the tasks
  graph graph_;
  std::string status_name_;
  value status_, generation_;
  expr<of<std::int64_t, fields>> status_in_;
  operation status_assigned_, open_;
  std::vector<value> marks_;       // kind by kind, those of all workers
  std::vector<operation> marked_;  // of this worker, by kind
  expr<of<std::int64_t>> mark_in_;
  std::vector<text> reasons_;  // of the workers, and then of the chief
  std::vector<operation> begun_;
  session session_;
};

}  // namespace rill::detail

#if RILL_IO_RUNTIME
#include <algorithm>
#include <utility>

#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/ops/state/assign.hpp"
#include "rill/ops/state/generation.hpp"
#include "rill/train/initializers.hpp"

namespace rill::detail {

RILL_IO_INLINE training_coordinator::training_coordinator(target const& on, std::string const& name)
    : on_(on), job_(on.tasks.at(0)->name().job), session_(graph_, on) {
  auto const& own = on.tasks[0]->name();
  worker_ = static_cast<std::int64_t>(own.task.value_or(0));
  bool has_chief = false;
  for (std::size_t t = 0; t < on.tasks.size(); ++t) {
    auto const& each = on.tasks[t]->name();
    if (each.job != job_) continue;
    ++workers_;
    if (each.task.value_or(0) == 0) chief_ = t, has_chief = true;
  }
  if (!has_chief)
    throw error(code::failed_precondition,
                "a training loop: the chief is task 0 of the session's job, which the cluster lacks: /job:" + job_);
  status_name_ = name + "/status";
  status_in_ = placeholder<std::int64_t, fields>(graph_, "status");
  mark_in_ = placeholder<std::int64_t>(graph_, "mark");
  generation_ = placeholder<std::int64_t>(graph_, "generation");
  graph_.on(on.tasks[chief_]->name().text(), [&] {
    auto const said = variable<std::int64_t, fields>(graph_, status_name_, zeros());
    status_ = said;
    status_assigned_ = operation(value(assign(said, status_in_)));
    for (std::size_t k = 0; k < kinds; ++k)
      for (std::int64_t w = 0; w < workers_; ++w) {
        auto const v =
            variable<std::int64_t>(graph_, name + "/mark_" + std::to_string(k) + "_" + std::to_string(w), zeros());
        marks_.push_back(v);
        if (w == worker_) marked_.emplace_back(value(assign(v, mark_in_)));
      }
    for (std::int64_t w = 0; w <= workers_; ++w) reasons_.push_back(record_text(name + "/reason_" + std::to_string(w)));
  });
  open_ = initializer(graph_);
  for (auto const& t : on.tasks)
    begun_.push_back(graph_.on(t->name().text(), [&] {
      return operation(record_erased<ops::begin_generation_op>(graph_, {}, {generation_}, "begin_generation"));
    }));
}

RILL_IO_INLINE training_coordinator::text training_coordinator::record_text(std::string const& name) {
  auto const in = placeholder<std::string>(graph_, name + "_is");
  auto const v = variable(constant<std::string>(graph_, ""), name);
  return {in, v, operation(value(assign(v, in)))};
}

RILL_IO_INLINE std::optional<training_status> training_coordinator::status() {
  if (!on_.tasks[chief_]->have_values({status_name_})[0]) return {};
  tensor const all = session_.run(status_);
  auto const* x = all.data<std::int64_t>();
  return training_status{x[0], static_cast<training_status::phase>(x[1]), x[2], {x[3], x[4]}, x[5], x[6], x[7]};
}

RILL_IO_INLINE void training_coordinator::set(mark which, std::int64_t generation) {
  session_.run({{mark_in_, tensor(generation)}}, marked_[which]);
}

RILL_IO_INLINE void training_coordinator::fail(error const& why, std::int64_t generation) {
  auto const& r = reasons_[static_cast<std::size_t>(worker_)];
  session_.run({{r.in, tensor(as_text(why))}}, r.assigned);
  set(failed, generation);
}

RILL_IO_INLINE std::string training_coordinator::as_text(error const& e) {
  std::string const sentence = e.what();
  auto const name = rill::name(e.code());
  return std::to_string(static_cast<int>(e.code())) + ' ' +
         (sentence.starts_with(name) ? sentence.substr(name.size() + 2) : sentence);
}
RILL_IO_INLINE error training_coordinator::as_error(std::string const& words) {
  auto const end = std::min(words.find(' '), words.size());
  int code = 0;
  for (auto const c : words.substr(0, end)) code = code * 10 + (c - '0');
  return {static_cast<rill::code>(code), words.substr(std::min(end + 1, words.size()))};
}
RILL_IO_INLINE error training_coordinator::reason() {
  return as_error(*tensor(session_.run(reasons_.back().now)).data<std::string>());
}
RILL_IO_INLINE error training_coordinator::reason_of(std::int64_t worker) {
  return as_error(*tensor(session_.run(reasons_[static_cast<std::size_t>(worker)].now)).data<std::string>());
}

RILL_IO_INLINE void training_coordinator::reset() { session_.run(open_); }

RILL_IO_INLINE void training_coordinator::announce(training_status const& n) {
  session_.run(
      {{status_in_, vector<std::int64_t>({n.generation, static_cast<std::int64_t>(n.now), n.steps, n.position.epoch,
                                          n.position.index, n.draws, n.first_draw, n.ended})}},
      status_assigned_);
}

RILL_IO_INLINE void training_coordinator::announce_failure(training_status last, error const& why) {
  auto const& r = reasons_.back();
  session_.run({{r.in, tensor(as_text(why))}}, r.assigned);
  last.now = training_status::phase::failed;
  announce(last);
}

RILL_IO_INLINE training_coordinator::marks training_coordinator::all() {
  marks found;
  auto const values = session_.run(marks_);
  auto const each = static_cast<std::size_t>(workers_);
  for (std::size_t i = 0; i < values.size(); ++i) found[i / each].push_back(*values[i].data<std::int64_t>());
  return found;
}

RILL_IO_INLINE void training_coordinator::begin_generation(std::size_t task, std::int64_t generation) {
  session_.run({{generation_, tensor(generation)}}, begun_[task]);
}

}  // namespace rill::detail
#endif
