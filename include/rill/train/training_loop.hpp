// A loop that trains through failures: in one process, or as a worker of a cluster (white paper §3.3; OSDI'16 §4.3).
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <tuple>
#include <utility>

#include "rill/run/session.hpp"
#include "rill/train/batches.hpp"
#include "rill/train/training_options.hpp"
#include "rill/train/training_run.hpp"

namespace rill {

/// Runs a training loop. The same program runs in one process, or on every worker of a cluster:
///
///     rill::training_loop loop{s, {.directory = "runs/1", .save = {.steps = 100}}};
///     auto const data = rill::batches(examples, 32, rill::epochs(10), loop.share());
///     auto const result = loop.run(rill::inputs(image, label), loss, train, data);
///
/// The chief, task 0 of the worker's job, gives the variables the values of the newest checkpoint, or their first
/// values; the others wait for it. It saves checkpoints. When a task that holds variables is lost, or a worker that
/// trains synchronously, all go back to the newest checkpoint as soon as the task is there again. A lost worker of an
/// asynchronous training does not stop the others; when it is back it goes on after its last update. Tasks, the chief's
/// too, come back as new processes that run the same program: a launcher, or a shell's loop, starts them.
///
/// Errors of the program's own, a loss that is not a number for instance, end the training on all workers with the same
/// sentence.
class training_loop {
 public:
  /// The loop trains once. The session and the graph must outlive it. Throws error(invalid_argument) if an option is
  /// not valid.
  explicit training_loop(session& s, training_options options = {});
  ~training_loop();
  training_loop(training_loop const&) = delete;
  training_loop& operator=(training_loop const&) = delete;

  /// Returns the number of this worker, from 0, and the number of workers: the tasks of the session's own job.
  std::int64_t worker() const;
  std::int64_t workers() const;
  bool is_chief() const { return worker() == 0; }
  /// Returns options for `batches` by which the workers share the examples.
  batches_options share(batches_options o = {}) const {
    o.worker = worker(), o.workers = workers();
    return o;
  }
  /// Has a function called on the chief after every `steps` steps: logs, or changes a rate, for instance.
  void every(std::int64_t steps, std::function<void(training_progress const&)> f);

  /// Trains: feeds each batch to the inputs, and runs `train`. Returns when the input has ended, after
  /// `training_options::steps`, or when it is told to stop. All workers call it, with the same model. Synchronous
  /// workers must draw the same number of batches; `share` ensures that.
  template <class... In, class... Tensors>
  training_result run(inputs_of<In...> const& in, value loss, operation train, batch_range<Tensors...> batches) {
    static_assert(sizeof...(In) == sizeof...(Tensors), "run: a batch has one tensor for each input");
    auto const of = std::make_shared<batch_range<Tensors...>>(std::move(batches));
    using batch = typename batch_range<Tensors...>::batch;
    using step = decltype(executing().prepare(in, rill::outputs(loss), train));
    auto const drawn = std::make_shared<std::optional<batch>>();
    auto const prepared = std::make_shared<std::optional<step>>();
    train = counted(train);
    return run({.prepare =
                    [=, this](std::stop_token const& stop) {
                      prepared->emplace(executing().prepare(in, rill::outputs(loss), train, stop));
                    },
                .draw =
                    [=] {
                      drawn->reset();
                      auto const at = of->begin();
                      if (at == of->end()) return false;
                      drawn->emplace(*at);
                      return true;
                    },
                .step =
                    [=] {
                      auto const call = [&](auto const&... t) { return tensor((**prepared)(t...)); };
                      return loss_of(std::apply(call, **drawn));
                    },
                .position = [=] { return of->position(); },
                .resume = [=](batch_position at) { of->resume(at); },
                .resume_after = [=](std::int64_t n) { of->resume_after(n); },
                .total = [=] { return of->total(); },
                .examples = [=] { return std::get<0>(**drawn).shape()[0]; }});
  }
  /// Trains a model whose input is in its graph: a queue, say. Its end, error(out_of_range), ends the training. A
  /// return to a checkpoint does not rewind such input: on a cluster, what was drawn since is lost.
  training_result run(value loss, operation train);

 private:
  session& executing() const;
  operation counted(operation train);
  static double loss_of(tensor const& t);
  training_result run(detail::training_work work);

  std::unique_ptr<detail::training_run> run_;
};

}  // namespace rill

#if RILL_IO_RUNTIME
#include <type_traits>

namespace rill {

RILL_IO_INLINE training_loop::training_loop(session& s, training_options options) try
    : run_(std::make_unique<detail::training_run>(s, std::move(options))) {
} catch (...) {
  rethrow_as_error();
}
RILL_IO_INLINE training_loop::~training_loop() = default;
RILL_IO_INLINE std::int64_t training_loop::worker() const { return run_->worker(); }
RILL_IO_INLINE std::int64_t training_loop::workers() const { return run_->workers(); }
RILL_IO_INLINE session& training_loop::executing() const { return run_->in(); }
RILL_IO_INLINE operation training_loop::counted(operation train) try { return run_->counted(train); } catch (...) {
  rethrow_as_error();
}
RILL_IO_INLINE void training_loop::every(std::int64_t steps, std::function<void(training_progress const&)> f) try {
  expects(steps > 0, "every: expected a positive number of steps");
  run_->add({steps, std::move(f)});
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE double training_loop::loss_of(tensor const& t) {
  if (t.elements() != 1)
    throw error(code::invalid_argument, "a training loop: expected one number as the loss, got " + t.type().text());
  auto const here = t.to(host);
  double loss = 0;
  visit(t.element(), [&]<class T>() {
    if constexpr (std::is_arithmetic_v<T>) loss = static_cast<double>(*here.data<T>());
    else if constexpr (requires(T x) { static_cast<float>(x); }) loss = double{static_cast<float>(*here.data<T>())};
    else throw error(code::invalid_argument, "a training loop: expected a number as the loss, got " + t.type().text());
  });
  return loss;
}

RILL_IO_INLINE training_result training_loop::run(value loss, operation train) try {
  auto const what = counted(train);
  std::stop_token stop;
  return run({.prepare = [&](std::stop_token const& s) { stop = s; },
              .draw = [] { return true; },
              .step = [&] { return loss_of(executing().run({}, std::vector{loss}, what, stop)[0]); },
              .position = [] { return batch_position(); },
              .resume = [](batch_position) {},
              .resume_after = [](std::int64_t) {},
              .total = [] { return std::int64_t{-1}; },
              .examples = [] { return std::int64_t{0}; },
              .waits = true});
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE training_result training_loop::run(detail::training_work work) try {
  return run_->train(std::move(work));
} catch (...) {
  rethrow_as_error();
}

}  // namespace rill
#endif
