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

/// The variables that have a first value, hold floats or complex numbers, and that `loss` is computed from.
std::vector<variable_value> trainable_variables(value loss);

/// The derivatives of `loss` with respect to the given variables, or to all that it trains. error(invalid_argument) if
/// there is none for a variable that was given, or if there is nothing to train.
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

/// A variable of v's extents, of `widened(v)`'s elements, that starts as zeros: "<v>/<name>".
variable_value slot(variable_value v, std::string_view name);

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

RILL_INLINE std::vector<variable_value> trainable_variables(value loss) {
  auto& g = detail::graph_of(loss);
  std::vector<bool> seen(loss.node + 1);
  seen[loss.node] = true;
  for (auto i = loss.node + 1; i-- > 0;)
    if (seen[i])
      for (auto e : g[i].inputs) seen[e.node] = true;
  auto& whole = g.outermost();
  std::vector<variable_value> found;
  for (auto const& i : g.initials()) {
    auto const& name = whole[i.variable].name;
    auto const at = &g == &whole ? value{&g, i.variable, 0} : g.known_variable(name);
    if (at && at.node <= loss.node && seen[at.node] && is_differentiable(at.type().element)) found.push_back({at});
  }
  return found;
}

RILL_INLINE std::vector<variable_gradient> variable_gradients(value loss, std::vector<variable_value> const& of) {
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
    throw error(code::invalid_argument, "'" + loss.name() + "' depends on no variable that could be trained");
  return all;
}

RILL_INLINE rate::rate(value scalar) : from_(scalar) { expects(scalar.type().is_scalar(), "a rate is a scalar"); }

RILL_INLINE value rate::like(value x) const { return from_ ? cast(from_, x.type().element) : rill::like(x, number_); }

namespace detail {

RILL_INLINE variable_value slot(variable_value v, std::string_view name) {
  auto const& of = v.origin();
  auto const nothing = widened(zero(value(v)));
  auto const full = of.name + "/" + std::string(name);
  if (of.outputs[0].is_known()) return variable(fill(nothing, of.outputs[0].shape()), full);
  if (auto const first = find_initial_value(v)) return variable(broadcast_like(nothing, first), full);
  throw error(code::failed_precondition, "an optimizer can't tell the extents of a variable that has no first value",
              of.name);
}

}  // namespace detail

#endif

}  // namespace rill
