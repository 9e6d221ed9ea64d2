// Reverse-mode differentiation, which extends the graph (white paper §4.1): it goes backwards from the target and adds
// partial derivatives where paths meet.
#pragma once
#include <algorithm>
#include <concepts>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "rill/grad/differentiator.hpp"
#include "rill/graph/prune.hpp"
#include "rill/graph/subgraph.hpp"
#include "rill/ops/array/constant.hpp"
#include "rill/ops/sum/sum.hpp"

#if RILL_RUNTIME
#include "rill/ops/list/operations.hpp"
#endif

namespace rill {

/// Returns the derivatives of the sum of y's elements with respect to each x, for optimizers: dense, sparse, or empty
/// if y does not depend on x. Throws error(invalid_argument) if y or an x has integers, bools or strings, or an x
/// belongs to another graph or body, error(unimplemented) if an operation on the way has no gradient, and
/// error(not_found) if the graph has a gradient rule for an unknown operation.
std::vector<gradient> partial_gradients(value y, std::vector<value> const& x);

/// Values that a differentiation treats as constants, although they are computed: `gradients(loss, w, held_constant(a,
/// b))` follows no path through a or b. A value may be held and differentiated by: its derivative is then partial. The
/// same as TensorFlow's stop_gradients, without a change of the model.
struct held_constant {
  std::vector<value> values;
  explicit held_constant(std::vector<value> all) : values(std::move(all)) {}
  template <operand... X> explicit held_constant(X... x) : values{x...} {}
};

/// Returns the dense derivatives of the sum of y's elements with respect to each x. If y does not depend on an x,
/// throws error(invalid_argument), or returns zeros if `zeros`; other errors are the errors of `partial_gradients`. In
/// the body of a branch, loop or function, x may also be a value from outside that the body mentions. For complex
/// values, it returns dL/d(Re x) + i dL/d(Im x) with L = Re(sum of y), the direction in which L grows fastest, as in
/// PyTorch and TensorFlow.
std::vector<value> gradients(value y, std::vector<value> const& x, bool zeros = false);
/// Returns the same with values held constant.
std::vector<value> gradients(value y, std::vector<value> const& x, held_constant const& held, bool zeros = false);

namespace detail {

/// Returns the derivatives of the sum of y's elements times dy, with an empty dy for ones; empty where y does not
/// depend on an x.
std::vector<gradient> pull_back(value y, std::vector<value> const& x, value dy, std::vector<value> const& held);
/// Returns a derivative with respect to x as a dense value; zeros if there is none.
value dense_or_zeros(gradient const& g, value x);

/// Whether the values to differentiate by end with the values to hold constant.
template <class... X>
concept with_held_constant =
    sizeof...(X) > 1 && std::same_as<std::tuple_element_t<sizeof...(X) - 1, std::tuple<X...>>, held_constant>;

template <class... X, std::size_t... Index>
auto typed_gradients(std::vector<value> const& d, std::index_sequence<Index...>) {
  return std::tuple{[&] {
    if constexpr (typed<X>) return expr<X::static_type>{d[Index]};
    else return d[Index];
  }()...};
}

template <class Y> constexpr void check_target() {
  if constexpr (typed<Y>)
    static_assert(is_differentiable(Y::static_type.element),
                  "gradients: the target must have floats or complex numbers");
}

template <operand Y, class... X, std::size_t... Index>
auto gradients_holding(Y y, bool zeros, std::tuple<X...> const& x, std::index_sequence<Index...> by) try {
  check_target<Y>();
  auto const d = rill::gradients(static_cast<value>(y), std::vector<value>{std::get<Index>(x)...},
                                 std::get<sizeof...(Index)>(x), zeros);
  return typed_gradients<std::tuple_element_t<Index, std::tuple<X...>>...>(d, by);
} catch (...) {
  rethrow_as_error();
}

}  // namespace detail

/// Returns the derivatives of the sum of y's elements with respect to each x, with x's type:
/// `auto [dw, db] = gradients(loss, w, b)`. Throws error(invalid_argument) if y does not depend on an x.
template <operand Y, operand... X> auto gradients(Y y, X... x) try {
  detail::check_target<Y>();
  return detail::typed_gradients<X...>(gradients(static_cast<value>(y), std::vector<value>{x...}),
                                       std::index_sequence_for<X...>{});
} catch (...) {
  rethrow_as_error();
}
/// Returns the same with values held constant: `auto [dw] = gradients(loss, w, held_constant(a, b))`.
template <operand Y, class... X>
  requires detail::with_held_constant<X...>
auto gradients(Y y, X... x) {
  return detail::gradients_holding(y, false, std::tuple{x...}, std::make_index_sequence<sizeof...(X) - 1>{});
}
/// Returns the derivatives as `gradients` does, with zeros for an x on which y does not depend.
template <operand Y, operand... X> auto gradients_or_zeros(Y y, X... x) try {
  return detail::typed_gradients<X...>(gradients(static_cast<value>(y), std::vector<value>{x...}, true),
                                       std::index_sequence_for<X...>{});
} catch (...) {
  rethrow_as_error();
}
template <operand Y, class... X>
  requires detail::with_held_constant<X...>
auto gradients_or_zeros(Y y, X... x) {
  return detail::gradients_holding(y, true, std::tuple{x...}, std::make_index_sequence<sizeof...(X) - 1>{});
}

#if RILL_RUNTIME

namespace detail {

// Whether a value depends on an earlier value of the same graph.
inline bool depends(value const& v, value const& on) {
  auto const& g = *v.graph;
  auto const all = needed(g, {g, {}}, {v.endpoint()}, {});
  return std::binary_search(all.begin(), all.end(), on.node);
}

// Returns the value in the target's body that stands for x from outside. Derivatives end at a body's edge, so the body
// must mention x itself, not a value that is computed from x outside.
inline value inside_of(value const& y, value const& x) {
  auto& body = *y.graph;
  if (!x || x.graph == &body || !body.is_within(*x.graph)) return x;
  auto const here = body.inside(x);
  for (auto const& c : body.captures())
    if (c.inside.endpoint() != here.endpoint() && c.outside.graph == x.graph && depends(c.outside, x) &&
        depends(y, c.inside))
      throw error(code::invalid_argument,
                  "gradients: in a body, the target depends on '" + x.name() + "' through '" + c.outside.name() +
                      "', which is computed outside: compute it in the body, or differentiate the body's result",
                  y.name());
  return here;
}

template <class... Op> constexpr bool any_is(std::string_view name, type_list<Op...>) {
  return ((Op::name == name) || ...);
}

inline bool has_operation(subgraph const& s, std::string_view name) {
  return std::any_of(s.nodes.begin(), s.nodes.end(), [&](node const& n) {
    bool found = n.op->name == name;
    for_each_body(n, [&](subgraph const& body) { found = found || has_operation(body, name); });
    return found;
  });
}
/// Whether rill or the graph has the operation. It also looks into bodies, which in a loaded graph exist only in nodes.
inline bool is_operation(graph const& g, std::string_view name) {
  if (any_is(name, operations()) || g.has_operation(name)) return true;
  bool found = false;
  for (std::size_t i = 0; i < g.size() && !found; ++i)
    for_each_body(g[i], [&](subgraph const& body) { found = found || has_operation(body, name); });
  return found;
}
/// Throws error(not_found) if a rule's operation does not exist; the rule would be ignored silently.
inline void check_rules(graph const& g) {
  for (auto const& name : g.ruled_operations())
    if (!is_operation(g, name))
      throw error(code::not_found, "gradients: the graph has a gradient rule for the operation '" + name +
                                       "', but neither rill nor this graph has that operation");
}

}  // namespace detail

namespace detail {

RILL_INLINE std::vector<gradient> pull_back(value y, std::vector<value> const& of, value dy,
                                            std::vector<value> const& held) {
  std::vector<value> x, fixed;
  for (auto const& v : of) x.push_back(inside_of(y, v));
  for (auto const& v : held) fixed.push_back(v && y.graph->is_within(*v.graph) ? y.graph->inside(v) : v);
  check_rules(y.graph->outermost());
  if (!is_differentiable(y.type().element))
    throw error(code::invalid_argument,
                "gradients: expected a target of floats or complex numbers, got " + y.type().text(), y.name());
  return y.graph->scope("gradients", [&] {
    if (!dy) {
      value const one = like(y, std::int8_t{1});
      dy = y.type().is_scalar() ? one : broadcast_like(one, y);
    }
    return differentiator::derive_holding({y}, x, {dy}, fixed);
  });
}

RILL_INLINE value dense_or_zeros(gradient const& g, value x) { return g ? densify(g, x) : broadcast_like(zero(x), x); }

}  // namespace detail

RILL_INLINE std::vector<gradient> partial_gradients(value y, std::vector<value> const& x) try {
  return detail::pull_back(y, x, {}, {});
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE std::vector<value> gradients(value y, std::vector<value> const& x, bool zeros) {
  return gradients(y, x, held_constant(std::vector<value>()), zeros);
}

RILL_INLINE std::vector<value> gradients(value y, std::vector<value> const& of, held_constant const& held,
                                         bool zeros) try {
  std::vector<value> dense, x;
  for (auto const& v : of) x.push_back(detail::inside_of(y, v));
  auto const parts = detail::pull_back(y, x, {}, held.values);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!parts[i] && !zeros)
      throw error(code::invalid_argument,
                  "gradients: '" + y.name() + "' does not depend on '" + x[i].name() +
                      "'; gradients_or_zeros gives zeros for it",
                  x[i].name());
    dense.push_back(detail::dense_or_zeros(parts[i], x[i]));
  }
  return dense;
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill
