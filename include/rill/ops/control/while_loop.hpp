// while_loop: a loop as a function of lambdas; and with it the loops over rows, map, scan and fold.
#pragma once
#include "rill/ops/control/loop_handles.hpp"
#include "rill/ops/control/map.hpp"
#include "rill/ops/control/scan.hpp"

namespace rill {

namespace detail {

template <class Condition, class Body, class... X>
auto while_loop(parallel_iterations most, Condition const& condition, Body const& body, X const&... x) try {
  using Verdict = decltype(condition(std::declval<outside<X>>()...));
  using Returned = returned<decltype(body(std::declval<outside<X>>()...))>;
  using Variables = std::tuple<outside<X>...>;
  constexpr bool asks = operand<Verdict>, of_graph = are_of_graph<Returned>;
  static_assert(asks, "while_loop: the condition must be a scalar of bool, a value of the graph");
  static_assert(of_graph, "while_loop: the body must return values of the graph: one, or a tuple of them");
  if constexpr (asks && !may_be<Verdict, of<bool>>) {
    constexpr auto said =
        sentence_of_handles<Verdict, expr<of<bool>>>("while_loop: the condition must be a scalar of bool");
    named<said>().compiles();
  }
  if constexpr (of_graph && !std::same_as<Returned, Variables>) {
    constexpr auto said =
        sentence_of_handles<Returned, Variables>("while_loop: the body must return the loop variables' own types");
    named<said>().compiles();
  }
  if constexpr (asks && of_graph) {
    loop_request r{.variables = values_of(x...), .parallel = most.count};
    auto& g = graph_of(r.variables[0]);
    r.condition = record_body(g, "condition", types_of(x...),
                              [&](std::vector<value> const& in) { return results_inside<X...>(condition, in); });
    r.body = record_body(g, "body", types_of(x...),
                         [&](std::vector<value> const& in) { return results_inside<X...>(body, in); });
    auto const made = handles_from<Variables>(record_loop(std::move(r)));
    if constexpr (sizeof...(X) == 1) return std::get<0>(made);
    else return made;
  } else return refused{};
} catch (...) {
  rethrow_as_error();
}

}  // namespace detail

/// Runs `body` while `condition` is true: both are lambdas of the loop variables, whose first values are `x`. The body
/// returns the next values, of the same types: a handle, or a tuple of handles. Captured values are computed once,
/// before the loop; variables are read and updated in each iteration. Returns the last values. A tensor_array can be a
/// loop variable. `parallel_iterations` may follow the first values.
template <class Condition, class Body, detail::handle... X>
  requires(sizeof...(X) > 0)
auto while_loop(Condition const& condition, Body const& body, X... x) {
  return detail::while_loop(parallel_iterations(), condition, body, x...);
}
template <class Condition, class Body, class... X>
  requires(sizeof...(X) > 1 && std::same_as<detail::last_of<X...>, parallel_iterations>)
auto while_loop(Condition const& condition, Body const& body, X... x) {
  return [&]<std::size_t... Index>(std::index_sequence<Index...>, auto const& each) {
    return detail::while_loop(std::get<sizeof...(Index)>(each), condition, body, std::get<Index>(each)...);
  }(std::make_index_sequence<sizeof...(X) - 1>{}, std::tuple{x...});
}

/// Returns the same for loop variables whose number and types are known only at run time: the lambdas take vectors of
/// erased handles; the body returns a vector, the condition one handle.
template <class Condition, class Body>
erased_results while_loop(Condition const& condition, Body const& body, std::vector<value> const& variables) try {
  if (variables.empty()) throw error(code::invalid_argument, "while_loop: there are no loop variables");
  auto& g = detail::graph_of(variables[0]);
  std::vector<type> types;
  for (auto const& v : variables) types.push_back(v.type());
  detail::loop_request r{.variables = variables};
  r.condition = record_body(g, "condition", types,
                            [&](std::vector<value> const& in) { return detail::results_of(condition, in); });
  r.body = record_body(g, "body", types, [&](std::vector<value> const& in) { return detail::results_of(body, in); });
  if (r.body.subgraph.outputs.size() != variables.size() || r.condition.subgraph.outputs.size() != 1)
    throw error(code::invalid_argument, r.condition.subgraph.outputs.size() != 1
                                            ? "while_loop: the condition must be a scalar of bool"
                                            : "while_loop: the body must return the loop variables' own types");
  auto const node = detail::record_loop(std::move(r));
  return {node, detail::erased_outputs(node, variables.size())};
} catch (...) {
  rethrow_as_error();
}

}  // namespace rill
