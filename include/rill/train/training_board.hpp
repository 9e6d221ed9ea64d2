// Where the workers of a cluster agree on a run of training: what the chief says, and what each worker has reached.
#pragma once
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

/// What the chief says about a generation of the training: it gathers the workers, and then they train from a
/// checkpoint on.
struct training_news {
  enum class phase : std::uint8_t { gathering, running, finished, stopped, failed };

  std::int64_t generation = 0;
  phase now = phase::gathering;
  std::int64_t steps = 0;  ///< that were trained when the generation began
  batch_position position = {};
  std::int64_t draws = 0, first_draw = 0;  ///< of steps that train (draw_counts)
  std::int64_t ended = -1;                 ///< the steps after which the chief's input has ended; -1: it has not

  bool is_over() const { return now != phase::gathering && now != phase::running; }
};

/// Variables of the chief's task, which all workers reach by steps of a graph of their own. For each mark, a worker
/// records the last generation in which it reached that point; for `ended`, one more than the number of
/// steps after which its input ended.
class training_board {
 public:
  enum mark : std::uint8_t { joined, done, left, lost, stopping, failed, ended, marks };

  /// `on`: the target of the worker's session. The chief is task 0 of the worker's job. `name`: of the training.
  training_board(target const& on, std::string const& name);

  std::int64_t worker() const { return worker_; }
  std::int64_t workers() const { return workers_; }
  bool is_chief() const { return worker_ == 0; }
  std::string name_of(std::int64_t worker) const { return "/job:" + job_ + "/task:" + std::to_string(worker); }

  /// Returns the news; nothing, if the chief has not opened the board.
  std::optional<training_news> look();
  /// Marks that this worker has come so far in a generation.
  void set(mark which, std::int64_t generation);
  /// Says why the worker has failed, and marks that.
  void fail(error const& why, std::int64_t generation);
  /// Returns the reason that the chief has given for the end.
  error reason();

  /// Of the chief: begins with an empty board.
  void open();
  void say(training_news const& news);
  void say_failed(training_news news, error const& why);
  /// Returns the marks of one kind, by the workers' numbers.
  std::vector<std::int64_t> all(mark which);
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
  std::string news_name_;
  value news_, generation_;
  expr<of<std::int64_t, fields>> news_in_;
  operation news_assigned_, open_;
  std::vector<std::vector<value>> marks_;  // by kind and worker
  std::vector<operation> marked_;          // of this worker, by kind
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

RILL_IO_INLINE training_board::training_board(target const& on, std::string const& name)
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
  news_name_ = name + "/news";
  news_in_ = placeholder<std::int64_t, fields>(graph_, "news");
  mark_in_ = placeholder<std::int64_t>(graph_, "mark");
  generation_ = placeholder<std::int64_t>(graph_, "generation");
  graph_.on(on.tasks[chief_]->name().text(), [&] {
    auto const news = variable<std::int64_t, fields>(graph_, news_name_, zeros());
    news_ = news;
    news_assigned_ = operation(value(assign(news, news_in_)));
    marks_.resize(marks);
    for (std::size_t k = 0; k < marks; ++k)
      for (std::int64_t w = 0; w < workers_; ++w) {
        auto const v =
            variable<std::int64_t>(graph_, name + "/mark_" + std::to_string(k) + "_" + std::to_string(w), zeros());
        marks_[k].push_back(v);
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

RILL_IO_INLINE training_board::text training_board::record_text(std::string const& name) {
  auto const in = placeholder<std::string>(graph_, name + "_is");
  auto const v = variable(constant<std::string>(graph_, ""), name);
  return {in, v, operation(value(assign(v, in)))};
}

RILL_IO_INLINE std::optional<training_news> training_board::look() {
  if (!on_.tasks[chief_]->have_values({news_name_})[0]) return {};
  tensor const all = session_.run(news_);
  auto const* x = all.data<std::int64_t>();
  return training_news{x[0], static_cast<training_news::phase>(x[1]), x[2], {x[3], x[4]}, x[5], x[6], x[7]};
}

RILL_IO_INLINE void training_board::set(mark which, std::int64_t generation) {
  session_.run({{mark_in_, tensor(generation)}}, marked_[which]);
}

RILL_IO_INLINE void training_board::fail(error const& why, std::int64_t generation) {
  auto const& r = reasons_[static_cast<std::size_t>(worker_)];
  session_.run({{r.in, tensor(as_text(why))}}, r.assigned);
  set(failed, generation);
}

RILL_IO_INLINE std::string training_board::as_text(error const& e) {
  std::string const sentence = e.what();
  auto const name = rill::name(e.code());
  return std::to_string(static_cast<int>(e.code())) + ' ' +
         (sentence.starts_with(name) ? sentence.substr(name.size() + 2) : sentence);
}
RILL_IO_INLINE error training_board::as_error(std::string const& words) {
  auto const end = std::min(words.find(' '), words.size());
  int code = 0;
  for (auto const c : words.substr(0, end)) code = code * 10 + (c - '0');
  return {static_cast<rill::code>(code), words.substr(std::min(end + 1, words.size()))};
}
RILL_IO_INLINE error training_board::reason() {
  return as_error(*tensor(session_.run(reasons_.back().now)).data<std::string>());
}
RILL_IO_INLINE error training_board::reason_of(std::int64_t worker) {
  return as_error(*tensor(session_.run(reasons_[static_cast<std::size_t>(worker)].now)).data<std::string>());
}

RILL_IO_INLINE void training_board::open() { session_.run(open_); }

RILL_IO_INLINE void training_board::say(training_news const& n) {
  session_.run({{news_in_, vector<std::int64_t>({n.generation, static_cast<std::int64_t>(n.now), n.steps,
                                                 n.position.epoch, n.position.index, n.draws, n.first_draw, n.ended})}},
               news_assigned_);
}

RILL_IO_INLINE void training_board::say_failed(training_news news, error const& why) {
  auto const& r = reasons_.back();
  session_.run({{r.in, tensor(as_text(why))}}, r.assigned);
  news.now = training_news::phase::failed;
  say(news);
}

RILL_IO_INLINE std::vector<std::int64_t> training_board::all(mark which) {
  std::vector<std::int64_t> found;
  for (auto const& t : session_.run(marks_[which])) found.push_back(*t.data<std::int64_t>());
  return found;
}

RILL_IO_INLINE void training_board::begin_generation(std::size_t task, std::int64_t generation) {
  session_.run({{generation_, tensor(generation)}}, begun_[task]);
}

}  // namespace rill::detail
#endif
