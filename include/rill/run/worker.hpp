// A task of this process: runs its shares of steps with variables, threads and devices of its own.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rill/device/device.hpp"
#include "rill/run/tasks/task.hpp"
#include "rill/state/container.hpp"

namespace rill {

class pool;

/// What a task has.
struct task_options {
  int threads = 0;                                    ///< 0: one for each processor that the process may use
  std::shared_ptr<container> state = {};              ///< where its variables live; empty: a new one
  std::vector<std::shared_ptr<device>> devices = {};  ///< besides its host
  /// Where the task writes its part of checkpoints: `checkpoint_folder(path)`; null: it writes none.
  std::shared_ptr<shard_store> checkpoints = {};
};

/// A task of this process.
class worker final : public task, public std::enable_shared_from_this<worker> {
 public:
  worker(device_name name, task_options options);
  ~worker() override;
  worker(worker const&) = delete;
  worker& operator=(worker const&) = delete;

  device_name const& name() const override;
  task_answer<std::vector<device_name>> ask_devices() const override;
  task_answer<std::vector<bool>> ask_values(std::vector<std::string> const& variables) const override;
  /// Compiles it when the answer is wanted, on the thread that wants it.
  task_answer<std::shared_ptr<registered_share>> ask_to_add(subgraph share, std::vector<type> const& fed,
                                                            share_setting const& how) override;
  /// Returns the container of its variables.
  container& state() const;

 private:
  struct parts;
  class share;
  std::unique_ptr<parts> parts_;
};

}  // namespace rill

#if RILL_RUNTIME
#include <mutex>
#include <optional>
#include <utility>

#include "rill/base/pool.hpp"
#include "rill/base/processors.hpp"
#include "rill/ops/state/generation.hpp"
#include "rill/ops/state/snapshot.hpp"
#include "rill/run/compile.hpp"
#include "rill/run/compiled_body.hpp"
#include "rill/run/plan/session_devices.hpp"
#include "rill/run/started_step.hpp"

namespace rill {

struct worker::parts {
  device_name name;
  std::shared_ptr<container> state;
  session_devices devices, soft_devices;  // the same for steps that permit soft placement; outlive the plans
  arena_pool arenas{host_allocator()};
  rill::pool threads;
  detail::in_process<started_steps> started;

  parts(device_name called, task_options const& o)
      : name(std::move(called)),
        state(o.state ? o.state : std::make_shared<container>()),
        devices(o.devices, placement(false)),
        soft_devices(o.devices, placement(true)),
        threads(o.threads > 0 ? o.threads : detail::available_processors()) {
    if (o.checkpoints) state->set_store(o.checkpoints);
    for (auto const& d : o.devices) {
      if (auto const why = d->absence()) throw error(why->kind(), why->message(), {}, d->name());
      state->keep(d);
    }
  }

  session_placement placement(bool soft) const {
    return {.soft = soft,
            .choose = choose_near_inputs,
            .recorded = {.find_node = [](auto) { return nullptr; }},
            .task = name};
  }

  /// Returns an error with the name of the task.
  error from_here(error const& e) const {
    return {e.kind(), e.message() + ", on " + (e.device().empty() ? name.text() : e.device()), e.node()};
  }

  plan_request planning(share_setting const& how, step_context const* step = nullptr) {
    return {.state = *state,
            .seed = how.seed,
            .threads = threads.threads(),
            .passes = how.passes,
            .step = step,
            .devices = how.soft ? &soft_devices : &devices};
  }
};

/// A share that is compiled for one list of types, and again when variables have got other extents.
class worker::share final : public registered_share {
 public:
  share(std::shared_ptr<worker> of, subgraph nodes, std::vector<type> fed, share_setting how)
      : of_(std::move(of)), nodes_(std::move(nodes)), fed_(std::move(fed)), how_(std::move(how)) {
    compiled_ = compile();
  }

  bool is_ready() const override {
    std::unique_lock lock(mutex_, std::try_to_lock);  // it may be compiled just now
    return lock && compiled_->holds();
  }
  void start(share_run with, completion done) override {
    check(with.fed);
    // Nothing that is left of the step when `done` has been called may own the worker, which waits for the step.
    auto& all = *of_->parts_;
    static log_callback const nowhere;
    step_context step;
    step.number = with.step;
    step.stream = with.stream;
    step.watch = with.watch;
    step.stop = std::move(with.stop);
    step.deadline = with.deadline;
    step.exchange = with.exchange.get();
    step.progress = with.progress.get();
    step_setting const setting{*all.state, with.log ? *with.log : nowhere, all.arenas, nullptr, with.generation};
    auto const compile_deferred = [&all, how = how_](compiled_step& first, std::span<tensor const> given,
                                                     step_context const& s) {
      return detail::compile_deferred(first, given, all.planning(how, &s));
    };
    auto const ended = [&all, exchange = std::move(with.exchange), progress = std::move(with.progress),
                        done = std::move(done)](std::vector<tensor> results, failure why) {
      done(std::move(results), why ? as_failure(all.from_here(*why)) : nullptr);
    };
    started_step::start(all.threads, *all.started, setting, present(), std::move(with.fed), step, compile_deferred,
                        ended);
  }

  task_answer<std::string> ask_to_explain(stages which) const override {
    std::lock_guard lock(mutex_);
    return task_answer<std::string>::ready(compiled_->plan().text() + text(compiled_->plan(), which));
  }
  void trim() override {
    std::lock_guard lock(mutex_);
    compiled_->trim();
    of_->parts_->arenas.trim();
    of_->parts_->devices.trim();
    of_->parts_->soft_devices.trim();
  }

 private:
  // What is fed may come from another process.
  void check(std::vector<tensor> const& fed) const {
    bool fits = fed.size() == fed_.size();
    for (std::size_t i = 0; fits && i < fed.size(); ++i) fits = fed[i] && accepts(fed_[i], fed[i].type());
    if (!fits) throw error(code::invalid_argument, "a share of a step was fed other tensors than it was compiled for");
  }
  std::shared_ptr<compiled_step> compile() const {
    return detail::compile_pruned(nodes_, fed_, of_->parts_->planning(how_));
  }
  // Returns it as it is compiled for the present extents of variables.
  std::shared_ptr<compiled_step> present() {
    std::lock_guard lock(mutex_);
    if (!compiled_->holds()) compiled_ = compile();
    return compiled_;
  }

  std::shared_ptr<worker> of_;
  subgraph nodes_;
  std::vector<type> fed_;
  share_setting how_;
  mutable std::mutex mutex_;
  std::shared_ptr<compiled_step> compiled_;
};

RILL_INLINE worker::worker(device_name name, task_options options)
    : parts_(std::make_unique<parts>(std::move(name), options)) {}
RILL_INLINE worker::~worker() { parts_->started->end(); }

RILL_INLINE device_name const& worker::name() const { return parts_->name; }
RILL_INLINE container& worker::state() const { return *parts_->state; }
RILL_INLINE task_answer<std::vector<device_name>> worker::ask_devices() const {
  std::vector<device_name> all{nested(parts_->name, device_name::parse(host_name))};
  for (auto const& d : parts_->devices) all.push_back(device_name::parse(d.name));
  return task_answer<std::vector<device_name>>::ready(std::move(all));
}
RILL_INLINE task_answer<std::vector<bool>> worker::ask_values(std::vector<std::string> const& variables) const {
  std::vector<bool> have;
  for (auto const& name : variables) {
    auto const v = parts_->state->find_variable(name);
    have.push_back(v && v->initialized());
  }
  return task_answer<std::vector<bool>>::ready(std::move(have));
}
RILL_INLINE task_answer<std::shared_ptr<registered_share>> worker::ask_to_add(subgraph nodes,
                                                                              std::vector<type> const& fed,
                                                                              share_setting const& how) {
  return task_answer<std::shared_ptr<registered_share>>::computed(
      [of = shared_from_this(), nodes = std::move(nodes), fed, how]() mutable -> std::shared_ptr<registered_share> {
        try {
          return std::make_shared<share>(of, std::move(nodes), std::move(fed), std::move(how));
        } catch (error const& e) {
          throw of->parts_->from_here(e);
        }
      });
}

}  // namespace rill
#endif
