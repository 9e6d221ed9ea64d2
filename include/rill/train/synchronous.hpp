// Synchronous training by several workers (OSDI'16 §4.4, without backup workers): each step of a worker is one round,
// in which all workers add their gradients and worker 0 updates the variables by the average.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "rill/train/optimizer.hpp"

namespace rill {

/// The sessions that train together.
class replicas {
 public:
  /// Throws error(invalid_argument) unless the number is positive.
  template <std::integral N> constexpr explicit replicas(N count) : count_(static_cast<std::int64_t>(count)) {
    expects(count_ > 0, "replicas: expected a positive number of workers");
  }
  constexpr std::int64_t count() const { return count_; }

 private:
  std::int64_t count_;
};

namespace detail {

using update_by = std::function<operation(std::vector<variable_gradient> const&)>;
operation update_in_rounds(std::vector<variable_gradient> const& all, replicas of, update_by const& update);

}  // namespace detail

/// An optimizer whose update waits for the gradients of all workers:
/// `synchronous(adam{.rate = 1e-3f}, replicas(3)).minimize(loss)`.
///
/// Each worker runs the same graph in a session of its own; `session_options::worker` is its number. Its step adds its
/// gradients, and ends when the variables are updated by the average over the workers: what is recorded after the
/// update reads the new values, as with any optimizer. Worker 0 makes the update, in its own step. Gradients are added
/// in the order of the workers, so the bits are those of one graph that adds the gradients of all batches in that
/// order.
///
/// A worker runs one such step at a time. A step that has failed can be repeated: gradients that it has added are not
/// added again. But worker 0's may have updated some variables before it failed, as any failed step may, and updates
/// them again: restore a checkpoint. A step waits for the others as long as they take: give it a `timeout`. A worker
/// whose gradients are computed by another graph than worker 0's gets error(failed_precondition).
template <class Optimizer> class synchronous {
 public:
  synchronous(Optimizer optimizer, replicas of) : optimizer_(std::move(optimizer)), of_(of) {}

  /// Records an update of the given variables, or of all `trainable_variables(loss)`, that decreases the loss. Throws
  /// error(failed_precondition) in the body of a loop, branch or function.
  operation minimize(value loss, std::vector<variable_value> const& of = {}) const {
    return apply(variable_gradients(loss, of));
  }
  /// Records an update by the averages of these gradients. Throws error(invalid_argument) if there are none or one is
  /// empty.
  operation apply(std::vector<variable_gradient> const& all) const {
    return detail::update_in_rounds(all, of_, [&](auto const& averages) { return optimizer_.apply(averages); });
  }

 private:
  Optimizer optimizer_;
  replicas of_;
};

}  // namespace rill

#if RILL_RUNTIME
#include <string>
#include <string_view>

#include "rill/graph/fingerprint.hpp"
#include "rill/graph/prune.hpp"
#include "rill/ops/sync/training_rounds.hpp"
#include "rill/ops/sync/worker.hpp"

namespace rill::detail {

/// Returns what a gradient consists of: one value, or indices and rows.
inline std::vector<value> parts_of(gradient const& g) {
  return g.sparse() ? std::vector<value>{g.indices, g.rows} : std::vector<value>{g.dense};
}

/// Returns the fingerprint of the graph that computes some gradients.
inline std::int64_t fingerprint_of(std::vector<variable_gradient> const& all) {
  std::vector<endpoint> fetched;
  for (auto const& each : all)
    for (auto const& v : parts_of(each.gradient)) fetched.push_back(v.endpoint());
  return fingerprint(prune(graph_of(all[0].variable), {}, fetched, {}));
}

/// Records the rounds of one optimizer.
class round_recorder {
 public:
  round_recorder(std::vector<variable_gradient> const& all, replicas of)
      : graph_(graph_of(all[0].variable)), all_(all), workers_(of.count()), home_(all[0].variable) {
    worker_ = worker_number(graph_);
    round_ = at_variable<ops::begin_round_op>({workers_, fingerprint_of(all)}, {home_, worker_}, "rounds");
    rounds_ = round_.name();
  }

  operation record(update_by const& update) {
    auto const added = each([&](auto const& g) { return add(g); });
    auto const updated = update(graph_.after(added, [&] { return averages(); }));
    auto const ended =
        graph_.after({updated}, [&] { return operation(at_variable<ops::end_round_op>({rounds_}, {home_, round_})); });
    auto const own = on_worker(graph_, 0, {ended});
    auto before = added;
    before.push_back(own);
    auto const over = graph_.after(
        before, [&] { return operation(at_variable<ops::await_round_op>({rounds_}, {home_, round_, worker_})); });
    return group(graph_, graph_.after({over}, [&] { return each([&](auto const& g) { return after(g); }); }),
                 "synchronous");
  }

 private:
  // Records a node that takes a variable by reference where that lies, whatever is asked for around the optimizer.
  template <class Op>
  value at_variable(rill::attributes_of<Op> const& a, std::vector<value> const& inputs,
                    std::string_view name = {}) const {
    return graph_.near(inputs.front(), [&] { return record_erased<Op>(graph_, a, inputs, name); });
  }
  template <class F> std::vector<operation> each(F const& f) const {
    std::vector<operation> made;
    for (auto const& g : all_) made.push_back(f(g));
    return made;
  }
  operation add(variable_gradient const& g) const {
    std::vector<value> inputs{g.variable, round_, worker_};
    for (auto const& v : parts_of(g.gradient)) inputs.push_back(v);
    return operation(at_variable<ops::add_to_round_op>({rounds_, workers_}, inputs));
  }
  operation after(variable_gradient const& g) const {
    return operation(at_variable<ops::after_round_op>({}, {g.variable}));
  }
  std::vector<variable_gradient> averages() const {
    std::vector<variable_gradient> made;
    for (auto const& g : all_) {
      std::vector<type> types;
      for (auto const& v : parts_of(g.gradient)) types.push_back(v.type());
      if (g.gradient.sparse()) types = {stacked(row_of(types[0]), unknown), stacked(row_of(types[1]), unknown)};
      auto const v = at_variable<ops::average_of_round_op>({rounds_, types}, {g.variable, round_});
      made.push_back({g.gradient.sparse() ? gradient(v, {&graph_, v.node, 1}) : gradient(v), g.variable});
    }
    return made;
  }

  graph& graph_;
  std::vector<variable_gradient> const& all_;
  std::int64_t workers_;
  variable_value home_;  // where the rounds are
  value worker_, round_;
  std::string rounds_;
};

RILL_INLINE operation update_in_rounds(std::vector<variable_gradient> const& all, replicas of,
                                       update_by const& update) try {
  expects(!all.empty(), "an optimizer expected at least one gradient, got an empty list");
  for (auto const& each : all)
    if (!each.gradient)
      throw error(code::invalid_argument, "an optimizer expected a gradient for this variable, got an empty one",
                  each.variable.name());
  return round_recorder(all, of).record(update);
} catch (...) {
  rethrow_as_error();
}

}  // namespace rill::detail
#endif
