// What optimizers share: which variables a loss trains, the derivatives for them, their slots, and rates.
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

/// A derivative and the variable that it is for.
struct variable_gradient {
  gradient by;
  variable_value variable;
};

/// The variables that `loss` is computed from, were declared as trainable, and hold floats or complex numbers.
std::vector<variable_value> trainable_variables(value loss);
/// All such variables of a graph; those whose names begin with `prefix`: `trainable_variables(g, "generator/")`.
std::vector<variable_value> trainable_variables(graph& g, std::string_view prefix = {});

/// The derivatives of `loss` with respect to the given variables, trainable or not, or to all `trainable_variables`
/// that have one. error(invalid_argument) if there is none for a variable that was given, or if there is nothing to
/// train.
std::vector<variable_gradient> variable_gradients(value loss, std::vector<variable_value> const& of = {});

/// A number that an optimizer is given: written down, or a scalar of the graph that changes from step to step.
class rate {
 public:
  template <number N> constexpr rate(N n) : number_(static_cast<double>(n)) {}
  rate(value scalar);

  /// As a scalar of x's element type.
  value like(value x) const;

 private:
  double number_ = 0;
  value from_;
};

namespace detail {

/// x in float32 if its elements have 16 bits, in which small steps and squares are nothing; else x.
inline value widened(value x) { return size_of(x.type().element) == 2 ? cast(x, dtype::float32) : x; }

/// A variable of v's extents, of `widened(v)`'s elements, that starts as zeros and is not trainable:
/// "<v>/<optimizer><rest>", numbered where another optimizer of that kind trains v.
variable_value slot(variable_value v, std::string_view optimizer, std::string_view rest = {});

/// Records `update(variable_gradient)` beside each variable, and the operation that stands for all of them.
template <class Update>
operation update_each(std::vector<variable_gradient> const& all, std::string_view name, Update&& update) {
  expects(!all.empty(), "an optimizer was given no gradients");
  auto& g = graph_of(all[0].variable);
  std::vector<operation> updates;
  for (auto const& each : all) {
    if (!each.by) throw error(code::invalid_argument, "an optimizer was given an empty gradient", each.variable.name());
    updates.push_back(g.near(each.variable, [&] { return operation(update(each)); }));
  }
  return group(g, updates, name);
}

}  // namespace detail

#if RILL_RUNTIME

namespace detail {
// Whether a node is a variable that optimizers change which are given none.
inline bool trains(node const& n) {
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
    if (seen[i] && detail::trains(g[i])) found.push_back({{&g, i, 0}});
  return found;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE std::vector<variable_value> trainable_variables(graph& g, std::string_view prefix) {
  std::vector<variable_value> found;
  for (std::uint32_t i = 0, n = static_cast<std::uint32_t>(g.size()); i < n; ++i)
    if (detail::trains(g[i]) && g[i].name.starts_with(prefix)) found.push_back({{&g, i, 0}});
  return found;
}

RILL_INLINE std::vector<variable_gradient> variable_gradients(value loss, std::vector<variable_value> const& of) try {
  auto const variables = of.empty() ? trainable_variables(loss) : of;
  auto const parts = partial_gradients(loss, std::vector<value>(variables.begin(), variables.end()));
  std::vector<variable_gradient> all;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i]) all.push_back({parts[i], variables[i]});
    else if (!of.empty())
      throw error(code::invalid_argument, "'" + loss.name() + "' does not depend on the variable that is to be trained",
                  variables[i].name());
  }
  if (all.empty())
    throw error(code::invalid_argument, "'" + loss.name() + "' depends on no variable that was declared as trainable");
  return all;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE rate::rate(value scalar) : from_(scalar) { expects(scalar.type().is_scalar(), "a rate is a scalar"); }

RILL_INLINE value rate::like(value x) const { return from_ ? cast(from_, x.type().element) : rill::like(x, number_); }

namespace detail {

RILL_INLINE variable_value slot(variable_value v, std::string_view optimizer, std::string_view rest) {
  auto& g = graph_of(v);
  auto const& of = v.origin();
  auto const nothing = widened(zero(value(v)));
  auto const named = [&](value first) {  // after the variable alone, wherever the optimizer is recorded
    return g.unscoped([&] {
      auto const name = numbered_variable(g, of.name + "/" + std::string(optimizer), rest);
      return variable(first, name, {.trainable = false});
    });
  };
  if (of.outputs[0].is_known()) return named(fill(nothing, of.outputs[0].shape()));
  if (auto const first = find_initial_value(v)) return named(broadcast_like(nothing, first));
  throw error(code::failed_precondition, "an optimizer can't tell the extents of a variable that has no first value",
              of.name);
}

}  // namespace detail

#endif

}  // namespace rill
