// while_loop, map, scan, fold and fold_right: loops as functions of lambdas.
#pragma once
#include "rill/ops/control/loop.hpp"

namespace rill {

namespace detail {

/// The type of which a body's argument is.
template <operand X> type argument_type(X const& x) {
  if constexpr (typed<X>) return X::static_type;
  else return x.type();
}
/// The handle that a body's lambda is given: typed if what it stands for is.
template <class X> auto handle_inside(value v) {
  if constexpr (typed<X>) return expr<X::static_type>{v};
  else return v;
}
template <class X> auto row_inside(value v) {
  if constexpr (typed<X>) return expr<row_of(X::static_type)>{v};
  else return v;
}
/// A handle of rows like X, as many as Rows has.
template <class X, class Rows> auto stacked_handle(value v) {
  if constexpr (typed<X> && typed<Rows>) return expr<stacked(X::static_type, Rows::static_type[0])>{v};
  else return v;
}

template <class R> struct as_tuple {
  using type = std::tuple<R>;
};
template <class... X> struct as_tuple<std::tuple<X...>> {
  using type = std::tuple<X...>;
};
/// What a lambda returns, as handles outside of the body, in a tuple.
template <class R> using returned = typename as_tuple<typename handle_outside<R>::type>::type;
template <class X> using outside = typename handle_outside<X>::type;

template <class Condition, class Body, class... X, std::size_t... I>
auto while_loop(std::index_sequence<I...>, Condition const& condition, Body const& body, X... x) {
  using Verdict = decltype(condition(handle_inside<X>(x)...));
  using Returned = returned<decltype(body(handle_inside<X>(x)...))>;
  static_assert(operand<Verdict>, "while_loop: the condition must be a scalar of bool, a value of the graph");
  if constexpr (typed<Verdict>)
    static_assert(accepts(of<bool>, Verdict::static_type), "while_loop: the condition must be a scalar of bool");
  static_assert(std::same_as<Returned, std::tuple<outside<X>...>>,
                "while_loop: the body must return the loop variables' own types");
  auto& g = graph_of(x...);
  loop_request r{.variables = {x...}};
  r.condition = record_body(g, "condition", {argument_type(x)...}, [&](std::vector<value> const& in) {
    return results_of(condition, handle_inside<X>(in[I])...);
  });
  r.body = record_body(g, "body", {argument_type(x)...},
                       [&](std::vector<value> const& in) { return results_of(body, handle_inside<X>(in[I])...); });
  auto const made = handles_from<std::tuple<outside<X>...>>(record_loop(std::move(r)));
  if constexpr (sizeof...(X) == 1) return std::get<0>(made);
  else return made;
}

}  // namespace detail

/// Runs `body` again and again while `condition` holds: both are lambdas of the loop variables, whose first values are
/// `x`. The body returns the variables' next values, of their own types: a handle, or a tuple of them. What the lambdas
/// mention from outside is computed once, before the loop; variables are read, and updated, in each iteration. Returns
/// the last values.
template <class Condition, class Body, operand... X>
  requires(sizeof...(X) > 0)
auto while_loop(Condition const& condition, Body const& body, X... x) {
  return detail::while_loop(std::index_sequence_for<X...>{}, condition, body, x...);
}

/// The same with variables whose number and types only the run knows: the lambdas take and return vectors of erased
/// handles, the condition's one handle.
template <class Condition, class Body>
erased_results while_loop(Condition const& condition, Body const& body, std::vector<value> const& variables) {
  if (variables.empty()) throw error(code::invalid_argument, "while_loop: there is no variable to begin with");
  auto& g = detail::graph_of(variables[0]);
  std::vector<type> types;
  for (auto const& v : variables) types.push_back(v.type());
  detail::loop_request r{.variables = variables};
  r.condition = record_body(g, "condition", types,
                            [&](std::vector<value> const& in) { return detail::results_of(condition, in); });
  r.body = record_body(g, "body", types, [&](std::vector<value> const& in) { return detail::results_of(body, in); });
  if (r.body.part.outputs.size() != variables.size() || r.condition.part.outputs.size() != 1)
    throw error(code::invalid_argument, r.condition.part.outputs.size() != 1
                                            ? "while_loop: the condition must be a scalar of bool"
                                            : "while_loop: the body must return the loop variables' own types");
  auto const node = detail::record_loop(std::move(r));
  return {node, detail::erased_outputs(node, variables.size())};
}

/// f(row) for each row of x: the results, stacked.
template <class F, operand X> auto map(F const& f, X x) {
  using Row = decltype(detail::row_inside<X>(x));
  using Made = detail::outside<decltype(f(std::declval<Row>()))>;
  static_assert(operand<Made>, "map: the lambda must return one value");
  detail::loop_request r{.rows = {x}, .counted = true};
  r.body = record_body(detail::graph_of(x), "body", {row_of(detail::argument_type(x))},
                       [&](std::vector<value> const& in) { return detail::results_of(f, Row{in[0]}); });
  auto const node = detail::record_loop(std::move(r));
  return detail::stacked_handle<Made, X>({node.graph, node.node, 1});
}

namespace detail {

// The state after each row if `all`, else the last.
template <bool All, class F, class S, class X> auto fold(F const& f, S first, X x, bool backwards) {
  using Row = decltype(row_inside<X>(x));
  using State = decltype(handle_inside<S>(first));
  static_assert(std::same_as<outside<decltype(f(std::declval<State>(), std::declval<Row>()))>, outside<S>>,
                "scan, fold: the lambda must return the state's own type");
  loop_request r{.variables = {first}, .rows = {x}, .counted = true, .backwards = backwards};
  r.body = record_body(graph_of(first, x), "body", {argument_type(first), row_of(argument_type(x))},
                       [&](std::vector<value> const& in) {
                         auto made = results_of(f, State{in[0]}, Row{in[1]});
                         if (All) made.push_back(made[0]);
                         return made;
                       });
  auto const node = record_loop(std::move(r));
  if constexpr (All) return stacked_handle<S, X>({node.graph, node.node, 2});
  else return outside<S>{node};
}

}  // namespace detail

/// The states s₁ = f(first, row 0), s₂ = f(s₁, row 1), …, stacked.
template <class F, operand S, operand X> auto scan(F const& f, S first, X x) {
  return detail::fold<true>(f, first, x, false);
}
/// The last state of such a chain; `first` if x has no rows.
template <class F, operand S, operand X> auto fold(F const& f, S first, X x) {
  return detail::fold<false>(f, first, x, false);
}
/// The same from the last row to the first.
template <class F, operand S, operand X> auto fold_right(F const& f, S first, X x) {
  return detail::fold<false>(f, first, x, true);
}

}  // namespace rill
