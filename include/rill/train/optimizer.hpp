// Shared by all optimizers: the variables that a loss trains, their gradients and slots, and learning rates.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "rill/base/config.hpp"
#include "rill/grad/gradients.hpp"
#include "rill/ops/array/fill.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/ops/math/cast.hpp"
#include "rill/ops/state/assign.hpp"

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

/// A learning rate or another number of an optimizer: a constant, or a scalar of the graph that may change in each
/// step.
class rate {
 public:
  template <number N> constexpr rate(N n) : number_(static_cast<double>(n)) {}
  /// Throws error(invalid_argument) unless `scalar` is a scalar.
  rate(value scalar);

  /// Returns the number as a scalar of x's element type.
  value like(value x) const;

 private:
  double number_ = 0;
  value from_;
};

namespace detail {

/// Casts 16-bit elements to float32, because small updates and squares round to 0 in 16 bits. Returns other x
/// unchanged.
inline value widened(value x) { return size_of(x.type().element) == 2 ? cast(x, dtype::float32) : x; }

/// Creates the untrainable variable "<v>/<optimizer><rest>" of zeros, with v's extents and the element type of
/// `widened(v)`. The name has a number if another optimizer of the same kind trains v.
variable_value slot(variable_value v, std::string_view optimizer, std::string_view rest = {});

/// Records `update(variable_gradient)` near each variable, and returns a group of all updates.
template <class Update>
operation update_each(std::vector<variable_gradient> const& all, std::string_view name, Update&& update) {
  expects(!all.empty(), "an optimizer expected at least one gradient, got an empty list");
  auto& g = graph_of(all[0].variable);
  std::vector<operation> updates;
  for (auto const& each : all) {
    if (!each.gradient)
      throw error(code::invalid_argument, "an optimizer expected a gradient for this variable, got an empty one",
                  each.variable.name());
    updates.push_back(g.near(each.variable, [&] { return operation(update(each)); }));
  }
  return group(g, updates, name);
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

RILL_INLINE std::vector<variable_value> trainable_variables(graph& g, std::string_view prefix) {
  std::vector<variable_value> found;
  for (std::uint32_t i = 0, n = static_cast<std::uint32_t>(g.size()); i < n; ++i)
    if (detail::is_trained_by_default(g[i]) && g[i].name.starts_with(prefix)) found.push_back({{&g, i, 0}});
  return found;
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

RILL_INLINE rate::rate(value scalar) : from_(scalar) {
  if (!scalar.type().is_scalar())
    throw error(code::invalid_argument, "a rate: expected a scalar, got " + scalar.type().text(), scalar.name());
}

RILL_INLINE value rate::like(value x) const { return from_ ? cast(from_, x.type().element) : rill::like(x, number_); }

namespace detail {

RILL_INLINE variable_value slot(variable_value v, std::string_view optimizer, std::string_view rest) {
  auto& g = graph_of(v);
  auto const& of = v.origin();
  auto const zeros = widened(zero(value(v)));
  auto const named = [&](value first) {  // the name has the variable's scope, not the optimizer's
    return g.unscoped([&] {
      auto const name = numbered_variable(g, of.name + "/" + std::string(optimizer), rest);
      return variable(first, name, {.trainable = false});
    });
  };
  if (of.outputs[0].is_known()) return named(fill(zeros, of.outputs[0].shape()));
  if (auto const first = find_initial_value(v)) return named(broadcast_like(zeros, first));
  throw error(code::failed_precondition,
              "an optimizer needs the variable's extents, but the variable is a " + of.outputs[0].text() +
                  " without a first value: declare known extents or give a first value",
              of.name);
}

}  // namespace detail

#endif

}  // namespace rill
