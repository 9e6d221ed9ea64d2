// A step that runs on tasks, as one node of the step that the session runs. Its kernel starts the share of each task,
// and waits until all have ended.
#pragma once
#include "rill/run/plan/whole_step.hpp"

namespace rill {

/// Returns a subgraph with one node, which runs the bound subgraph `sub` on tasks.
subgraph as_remote_step(subgraph sub);

}  // namespace rill

#if RILL_RUNTIME
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "rill/device/one_at_a_time_observer.hpp"
#include "rill/pass/passes.hpp"
#include "rill/run/plan/primitive_region.hpp"
#include "rill/run/plan/print.hpp"
#include "rill/run/tasks/partition.hpp"
#include "rill/run/tasks/place_on_tasks.hpp"

namespace rill {

RILL_INLINE subgraph as_remote_step(subgraph sub) { return as_one_node(std::move(sub), remote_step_op, "step"); }

namespace detail {

/// A partitioned step: the share of each task, which that task has compiled.
class partitioned_step final : public keeps_memory {
 public:
  struct part {
    task const* of;
    task_share share;  // without its nodes
    std::shared_ptr<registered_share> registered;
  };

  explicit partitioned_step(kernel_request const& r) : state_(r.state) {
    auto sub = *attribute_as<std::shared_ptr<subgraph const>>(r.at.attributes, "body");
    auto first = *r.passes;
    first.fuse = false;  // each task fuses what it has
    task_places places;
    auto const place = [&](subgraph& s) {
      if (add_wishes && r.devices->placement().soft) add_wishes(s);
      task_placer placer(*r.tasks, *r.devices, r.state);
      places = placer.place(s);
      placement_ = placer.text();
    };
    if (has_primitives(sub)) place(sub);
    else rewrite(sub, first, r.state, nullptr, r.step, {.place = place});
    for (std::uint32_t o = 0; o < sub.outputs.size(); ++o)
      if (auto const at = std::find(sub.inputs.begin(), sub.inputs.end(), sub.outputs[o].node); at != sub.inputs.end())
        fed_outputs_.emplace_back(o, static_cast<std::uint32_t>(at - sub.inputs.begin()));
    auto shares = partition(sub, places);
    share_setting how{.seed = r.seed, .passes = *r.passes, .soft = r.devices->placement().soft};
    for (auto const& t : *r.tasks) how.tasks.push_back(t->name());
    how.passes.functions = false;  // what an inlined function settles would need a stage that all tasks know
    // All shares are compiled at once. Before an error is thrown all have ended, so that what has been compiled is
    // dropped where it is.
    auto registered =
        wait_for_all(ask_all(shares,
                             [&](task_share& share) {
                               std::vector<type> fed;
                               for (auto k : share.feeds) fed.push_back(r.inputs[k]);
                               return (*r.tasks)[share.task]->ask_to_add(std::exchange(share.nodes, {}), fed, how);
                             }),
                     r.threads);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      auto const& of = *(*r.tasks)[shares[i].task];
      parts_.push_back({&of, std::move(shares[i]), std::move(registered[i]).value()});
    }
  }

  std::vector<part> const& parts() const { return parts_; }
  /// Returns the generation of training that the session takes part in.
  std::int64_t generation() const { return state_.generation(); }
  /// Returns the outputs that are inputs: the number of each among the outputs and among the inputs.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> const& fed_outputs() const { return fed_outputs_; }

  void trim() override {
    for (auto const& p : parts_) p.registered->trim();
  }
  std::string explain(stages which) const override {
    auto text = has(which, stages::place) ? paragraph("place", placement_) : "";
    auto const shares =
        values_of_all(ask_all(parts_, [&](part const& p) { return p.registered->ask_to_explain(which); }));
    for (std::size_t i = 0; i < parts_.size(); ++i)
      text += paragraph("share of " + parts_[i].of->name().text(), shares[i]);
    return text;
  }

 private:
  container const& state_;
  std::vector<part> parts_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> fed_outputs_;
  std::string placement_;
};

/// One run of a partitioned step: starts all shares, and ends when all have ended. The first that fails ends the
/// others.
class remote_call final : public std::enable_shared_from_this<remote_call> {
 public:
  remote_call(partitioned_step const& of, kernel_call const& call, std::vector<type> const& inputs)
      : of_(of), call_(call), left_(of.parts().size() + 1) {
    for (std::size_t i = 0; i < inputs.size(); ++i) fed_.push_back(tensor::borrow(inputs[i], call.in(i)));
    for (auto const& [o, input] : of_.fed_outputs()) call.give(o, fed_[input].clone());
    watched_.watch = call.step.watch;
    observer_.emplace(watched_);
  }

  ~remote_call() { running_steps::here().end(id_); }
  remote_call(remote_call const&) = delete;
  remote_call& operator=(remote_call const&) = delete;

  void start() {
    then_ = &call_.from->suspend();
    then_->on_give_up([watched = weak_from_this()](failure why) {
      if (auto const still = watched.lock()) still->give_up(std::move(why));
    });
    std::vector<partitioned_step::part const*> not_ready;  // this thread compiles these first: the others run meanwhile
    for (auto const& each : of_.parts()) try {
        if (each.registered->is_ready()) start(each);
        else not_ready.push_back(&each);
      } catch (...) {
        ended(caught_failure());
      }
    for (auto const* each : not_ready) try {
        start(*each);
      } catch (...) {
        ended(caught_failure());
      }
    ended({});
  }

 private:
  void start(partitioned_step::part const& each) {
    share_run with{.id = id_,
                   .step = call_.step.number,
                   .stream = call_.step.stream,
                   .generation = of_.generation(),
                   .exchange = exchange_,
                   .stop = stop_.get_token(),
                   .deadline = call_.step.deadline,
                   .failing =
                       [mine = weak_from_this()](failure why) {
                         if (auto const still = mine.lock()) still->fail(std::move(why));
                       },
                   .watch = watched_.watch,
                   .log = call_.step.log};
    for (auto k : each.share.feeds) with.fed.push_back(fed_[k]);
    each.registered->start(std::move(with),
                           [self = shared_from_this(), &each](std::vector<tensor> results, failure why) {
                             if (!why) why = self->take(each, std::move(results));
                             self->ended(std::move(why));
                           });
  }
  failure take(partitioned_step::part const& from, std::vector<tensor> results) noexcept try {
    if (results.size() != from.share.results.size())
      throw error(code::internal, "the task " + from.of->name().text() + " returned " + std::to_string(results.size()) +
                                      " results and not " + std::to_string(from.share.results.size()));
    for (std::size_t k = 0; k < results.size(); ++k) call_.give(from.share.results[k], std::move(results[k]));
    return nullptr;
  } catch (...) {
    return caught_failure();
  }
  // The step is to end. It has still ended well if all shares were done before they heard of it.
  void give_up(failure why) noexcept {
    {
      std::lock_guard lock(mutex_);
      if (!asked_) asked_ = std::move(why);
    }
    stop_.request_stop();
  }
  // The first failure is the step's. One that only follows from another gives way to one that explains it.
  void fail(failure why) noexcept {
    {
      std::lock_guard lock(mutex_);
      if (is_over_) return;
      if (!why_ || (!explains(*why_) && explains(*why)))
        why_ = asked_ && why->cause() == cause::asked_for ? as_asked(*why) : std::move(why);
    }
    stop_.request_stop();
  }
  bool explains(error const& why) const noexcept {
    return why.cause() == cause::own || why.cause() == cause::lost || (why.cause() == cause::asked_for && asked_);
  }
  // What a share fails with that was told to end: it says where, and `asked_` says why.
  failure as_asked(error const& share) const noexcept try {
    auto sentence = share.message();
    auto const told = step_cancelled().message();
    auto const at = sentence.find(told);
    if (at == sentence.npos) return as_failure(share);  // its own deadline was over
    sentence.replace(at, told.size(), asked_->message());
    return as_failure(error(asked_->kind(), std::move(sentence), share.node()));
  } catch (...) {
    return caught_failure();
  }
  void ended(failure why) noexcept {
    if (why) fail(std::move(why));
    if (left_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    running_steps::here().end(id_);
    failure cause;
    {
      std::lock_guard lock(mutex_);
      is_over_ = true;
      cause = why_;
    }
    for (auto const& each : of_.parts()) cause ? each.registered->forget(id_) : each.registered->ended(id_);
    observer_.reset();
    then_->resume(cause);
  }

  partitioned_step const& of_;  // which the plan keeps until the step has ended
  kernel_call call_;
  std::vector<tensor> fed_;
  step_id id_ = running_steps::here().begin();
  std::shared_ptr<exchange> exchange_ = std::make_shared<memory_exchange>();
  std::stop_source stop_;
  step_context watched_;
  std::optional<one_at_a_time_observer> observer_;
  continuation* then_ = nullptr;
  std::atomic<std::size_t> left_;  // shares that run, and `start`
  std::mutex mutex_;
  failure asked_;  // why the step is to end
  failure why_;    // why it has failed
  bool is_over_ = false;
};

RILL_INLINE kernel remote_step_kernel(kernel_request const& r) {
  auto const step = std::make_shared<partitioned_step>(r);
  r.bodies->push_back(step);
  kernel k([step, inputs = std::vector<type>(r.inputs.begin(), r.inputs.end())](kernel_call const& call) {
    std::make_shared<remote_call>(*step, call, inputs)->start();
  });
  k.names_nodes = true;
  return waiting(std::move(k), true);
}

}  // namespace detail
}  // namespace rill
#endif
