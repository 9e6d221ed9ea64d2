// Shared by all optimizers: the variables that a loss trains, their gradients, slots, decay and count of steps.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "rill/base/config.hpp"
#include "rill/device/device_name.hpp"
#include "rill/grad/gradients.hpp"
#include "rill/ops/array/fill.hpp"
#include "rill/ops/array/truncated.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/ops/math/cast.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/math/select.hpp"
#include "rill/ops/state/assign.hpp"
#include "rill/train/rate.hpp"

namespace rill {

/// A gradient with its variable.
struct variable_gradient {
  rill::gradient gradient;
  variable_value variable;
};

/// Returns the trainable variables of floats or complex numbers that `loss` depends on, in the order of recording.
std::vector<variable_value> trainable_variables(value loss);
/// Returns the graph's trainable variables of floats or complex numbers whose names begin with `prefix`:
/// `trainable_variables(g, "generator/")`.
std::vector<variable_value> trainable_variables(graph& g, std::string_view prefix = {});

/// Returns the gradients of `loss` with respect to the given variables, trainable or not. An empty list stands for all
/// `trainable_variables(loss)`; of these, variables without a gradient are left out. Throws error(invalid_argument) if
/// the loss does not depend on a given variable, or depends on no trainable variable.
std::vector<variable_gradient> variable_gradients(value loss, std::vector<variable_value> const& of = {});

/// Returns the gradients, whose float32 elements go to other tasks as 16 bits (ops/array/truncated.hpp):
/// `adam{}.apply(truncated(variable_gradients(loss)))`.
std::vector<variable_gradient> truncated(std::vector<variable_gradient> gradients);

/// How an optimizer shrinks weights, besides what the gradient says: `adam{.weight_decay = {.decoupled = 0.01}}`. A
/// sparse gradient is made dense if either is set, because every row shrinks.
struct weight_decay {
  double l2 = 0;         ///< adds l2 * w to the gradient, as a penalty l2 / 2 * |w|² in the loss would
  double decoupled = 0;  ///< subtracts rate * decoupled * w in each step (I. Loshchilov and F. Hutter, ICLR 2019)

  bool is_set() const { return l2 != 0 || decoupled != 0; }
};

namespace detail {

/// Creates the untrainable variable "<v>/<optimizer><rest>" with `start` as every element, with v's extents and the
/// element type of `widened(v)`. The name has a number if another optimizer of the same kind trains v.
variable_value slot(variable_value v, std::string_view optimizer, std::string_view rest = {}, double start = 0);
/// Creates the untrainable variable with this first value.
variable_value slot_from(value first, variable_value v, std::string_view optimizer, std::string_view rest = {});

/// Returns a gradient with respect to the variable as a dense value, 16-bit floats as float32.
inline value wide_gradient(gradient const& g, variable_value v) {
  return g.sparse() ? scatter_like(g.indices, widened(g.rows), v) : widened(g.dense);
}

/// Whether the elements of a variable are 16-bit floats, for which optimizers keep master values.
inline bool has_master(variable_value v) {
  auto const element = v.type().element;
  return wide_element(element) != element;
}
/// Returns the float32 values that an optimizer goes on from: the master values of the slot, or the variable's where
/// something else has changed it since, so that a checkpoint without the slot, an `assign` or a swap needs no care.
inline value exact_values(value master, value now) {
  return select(equal(cast(master, now.type().element), now), master, widened(now));
}
/// Records w -= down. For 16-bit floats, the slot "<variable>/<optimizer>/master" holds w in float32, of which the
/// variable is the rounded copy: a step of 1e-4 from 1 would be lost in 16 bits, and so would a thousand of them.
operation descend_by(variable_value w, value down, std::string_view optimizer);

/// Returns the graph of the gradients. Throws error(invalid_argument) if there are none.
inline graph& graph_of(std::vector<variable_gradient> const& all) {
  expects(!all.empty(), "an optimizer expected at least one gradient, got an empty list");
  return graph_of(all[0].variable);
}

/// Returns the job and the task that a variable, or the variable that it is near, was recorded for; empty: none.
std::string task_asked_for(variable_value v);

/// Runs `f`, which records state besides slots, such as a count of steps, and its updates. If `v` asks for a job or a
/// task, so does the state, so training `v` needs no other task.
template <class F> auto with_task_of(variable_value v, F&& f) {
  auto task = task_asked_for(v);
  return task.empty() ? f() : graph_of(v).placed_as(std::move(task), {}, std::forward<F>(f));
}

/// Counts the steps of an optimizer in the variable "<optimizer>/step", if something asks for their number.
class step_count {
 public:
  step_count(std::vector<variable_gradient> const& all, std::string_view optimizer)
      : graph_(graph_of(all)), trains_(all[0].variable), optimizer_(optimizer) {}

  /// Returns the number of this step, from 1 on.
  value number();
  /// Returns a rate as it is in this step.
  rate at(rate const& r) { return r.is_scheduled() ? r.at(number() - 1) : r; }

 private:
  graph& graph_;
  variable_value trains_;
  std::string_view optimizer_;
  value number_;
};

/// Records `update(variable_gradient)` near each variable, and returns a group of all updates.
template <class Update>
operation update_each(std::vector<variable_gradient> const& all, std::string_view name, Update&& update) try {
  auto& g = graph_of(all);
  std::vector<operation> updates;
  for (auto const& each : all) {
    if (!each.gradient)
      throw error(code::invalid_argument, "an optimizer expected a gradient for this variable, got an empty one",
                  each.variable.name());
    updates.push_back(g.near(each.variable, [&] { return operation(update(each)); }));
  }
  return group(g, updates, name);
} catch (...) {
  rethrow_as_error();
}

/// What an optimizer computes the update of a variable from.
struct descent {
  variable_value variable;
  value gradient;  ///< dense, in float32 for variables of 16-bit floats, with the penalty's part
  std::string_view optimizer;
  std::vector<operation> updates = {};  ///< of slots whose new value the step doesn't use

  /// Returns a slot of the variable.
  variable_value slot(std::string_view rest = {}, double start = 0) const {
    return detail::slot(variable, optimizer, rest, start);
  }
};

/// Records w -= step(descent) for each variable, its decay, and the other updates that `step` adds. The rate is not
/// scheduled.
template <class Step>
operation descend(std::vector<variable_gradient> const& all, std::string_view name, rate const& r,
                  weight_decay const& decay, Step&& step) {
  return update_each(all, name, [&](variable_gradient const& each) {
    value const w = each.variable, wide = widened(w);
    value dw = wide_gradient(each.gradient, each.variable);
    if (decay.l2 != 0) dw = dw + wide * decay.l2;
    descent at{each.variable, dw, name};
    value down = step(at);
    if (decay.decoupled != 0) down = down + wide * (r.like(wide) * decay.decoupled);
    operation const update = descend_by(each.variable, down, name);
    if (at.updates.empty()) return update;
    at.updates.push_back(update);
    return group(graph_of(w), at.updates, name);
  });
}

}  // namespace detail

#if RILL_RUNTIME

namespace detail {
// Whether a node is a trainable variable of floats or complex numbers.
inline bool is_trained_by_default(node const& n) {
  return n.op == &definition<ops::variable_op>() && is_differentiable(n.outputs[0].element) &&
         decode<ops::variable_op::attributes>(n.attributes).trainable;
}
}  // namespace detail

RILL_INLINE std::vector<variable_value> trainable_variables(value loss) try {
  auto& g = detail::graph_of(loss);
  std::vector<bool> seen(loss.node + 1);
  seen[loss.node] = true;
  for (auto i = loss.node + 1; i-- > 0;)
    if (seen[i])
      for (auto e : g[i].inputs) seen[e.node] = true;
  std::vector<variable_value> found;
  for (std::uint32_t i = 0; i <= loss.node; ++i)
    if (seen[i] && detail::is_trained_by_default(g[i])) found.push_back({{&g, i, 0}});
  return found;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE std::vector<variable_value> trainable_variables(graph& g, std::string_view prefix) try {
  std::vector<variable_value> found;
  for (std::uint32_t i = 0, n = static_cast<std::uint32_t>(g.size()); i < n; ++i)
    if (detail::is_trained_by_default(g[i]) && g[i].name.starts_with(prefix)) found.push_back({{&g, i, 0}});
  return found;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE std::vector<variable_gradient> variable_gradients(value loss, std::vector<variable_value> const& of) try {
  auto const variables = of.empty() ? trainable_variables(loss) : of;
  auto const parts = partial_gradients(loss, std::vector<value>(variables.begin(), variables.end()));
  std::vector<variable_gradient> all;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i]) all.push_back({parts[i], variables[i]});
    else if (!of.empty())
      throw error(code::invalid_argument,
                  "'" + loss.name() + "' does not depend on the variable '" + variables[i].name() +
                      "': leave the variable out of the list",
                  variables[i].name());
  }
  if (all.empty())
    throw error(code::invalid_argument,
                "'" + loss.name() +
                    "' depends on no trainable variable of floats or complex numbers: list the variables to train, "
                    "or declare one without {.trainable = false}");
  return all;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE std::vector<variable_gradient> truncated(std::vector<variable_gradient> gradients) try {
  for (auto& each : gradients) {
    auto& sent = each.gradient.sparse() ? each.gradient.rows : each.gradient.dense;
    if (sent && sent.type().element == dtype::float32) sent = truncated(sent);
  }
  return gradients;
} catch (...) {
  rethrow_as_error();
}

namespace detail {

RILL_INLINE std::string task_asked_for(variable_value v) {
  auto const& g = graph_of(v).outermost();
  auto const* n = &v.origin();
  for (int steps = 0; n && steps < 1000; ++steps) {
    auto name = device_name::parse(n->device);
    name.type.clear(), name.index.reset();
    if (!name.empty() || n->colocated.empty()) return name.text();
    n = g.find_node(n->colocated);
  }
  return {};
}

RILL_INLINE value step_count::number() try {
  if (!number_)
    number_ = with_task_of(trains_, [&] {
      auto const count = variable(constant(graph_, std::int64_t{0}), numbered_variable(graph_, optimizer_, "/step"),
                                  {.trainable = false});
      return value(assign_add(count, constant(graph_, std::int64_t{1})));
    });
  return number_;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE variable_value slot_from(value first, variable_value v, std::string_view optimizer,
                                     std::string_view rest) try {
  auto& g = graph_of(v);
  return g.unscoped([&] {  // the name has the variable's scope, not the optimizer's
    auto const name = numbered_variable(g, v.origin().name + "/" + std::string(optimizer), rest);
    return variable(first, name, {.trainable = false});
  });
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE operation descend_by(variable_value w, value down, std::string_view optimizer) {
  if (!has_master(w)) return assign_sub(w, down);
  auto const master = slot(w, optimizer, "/master");
  value const now = read(w), exact = exact_values(read(master), now) - down;
  return assign(w, cast(value(assign(master, exact)), now.type().element));
}

RILL_INLINE variable_value slot(variable_value v, std::string_view optimizer, std::string_view rest, double start) try {
  auto const& of = v.origin();
  auto const element = like(widened(zero(value(v))), start);
  if (of.outputs[0].is_known()) return slot_from(fill(element, of.outputs[0].shape()), v, optimizer, rest);
  if (auto const first = find_initial_value(v)) return slot_from(broadcast_like(element, first), v, optimizer, rest);
  throw error(code::failed_precondition,
              "an optimizer needs the variable's extents, but the variable is " + with_article(of.outputs[0]) +
                  " without a first value: declare known extents or give a first value",
              of.name);
} catch (...) {
  rethrow_as_error();
}

}  // namespace detail

#endif

}  // namespace rill
