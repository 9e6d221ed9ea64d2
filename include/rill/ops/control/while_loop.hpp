// while_loop, map, scan, fold and fold_right: loops as functions of lambdas.
#pragma once
#include "rill/ops/control/loop.hpp"

namespace rill {

/// How many iterations of a loop may run at once, at the most, where they can: where a body waits, or a session asks
/// for execution::tagged (EuroSys'18 §4.3). The results are the same bits.
struct parallel_iterations {
  constexpr explicit parallel_iterations(std::int64_t n = 10) : count(n) {}
  std::int64_t count;
};

namespace detail {

/// The type of which a body's argument is.
template <operand X> type argument_type(X const& x) {
  if constexpr (typed<X>) return X::static_type;
  else return x.type();
}
/// The types of the values that handles are made of.
template <handle X> void append_types(std::vector<type>& to, X const& x) {
  if constexpr (operand<X>) to.push_back(argument_type(x));
  else std::apply([&](auto const&... sub) { (append_types(to, sub), ...); }, x.as_parts());
}
template <handle... X> std::vector<type> types_of(X const&... x) {
  std::vector<type> all;
  (append_types(all, x), ...);
  return all;
}
/// Whether a value may be split into rows, as far as the compiler knows.
template <class X>
inline constexpr bool may_have_rows = [] {
  if constexpr (typed<X>) return X::static_type.has_rank() && X::static_type.rank > 0;
  else return true;
}();
template <class X> inline constexpr bool is_handle = handle<X>;
template <class X> auto row_inside(value v) {
  if constexpr (typed<X> && may_have_rows<X>) return expr<row_of(X::static_type)>{v};
  else return v;
}
/// A handle of rows like X, as many as Rows has; of a handle that is made of several, a tuple of those of its parts.
/// `next()` gives one value after the other.
template <handle X, class Rows, class Next> auto stacked_handle(Next& next) {
  if constexpr (typed<X> && typed<Rows>) return as<stacked(X::static_type, Rows::static_type[0])>(next());
  else if constexpr (operand<X>) return next();
  else
    return [&]<class... Part>(std::type_identity<std::tuple<Part...>>) {
      return std::tuple<decltype(stacked_handle<Part, Rows>(next))...>{stacked_handle<Part, Rows>(next)...};
    }(std::type_identity<typename X::parts>{});
}
template <handle X, class Rows> auto stacked_handle(value node, std::uint32_t at) {
  auto next = [&] { return value{node.graph, node.node, at++}; };
  return stacked_handle<X, Rows>(next);
}

template <class... X> using last_of = std::tuple_element_t<sizeof...(X) - 1, std::tuple<X...>>;

template <class R> struct as_tuple {
  using type = std::tuple<R>;
};
template <class... X> struct as_tuple<std::tuple<X...>> {
  using type = std::tuple<X...>;
};
/// What a lambda returns, as handles outside of the body, in a tuple.
template <class R> using returned = typename as_tuple<typename handle_outside<R>::type>::type;
template <class X> using outside = typename handle_outside<X>::type;

/// What `f` returns for handles like X that stand for these values.
template <class... X, class F> std::vector<value> results_inside(F const& f, std::vector<value> const& in) {
  std::size_t at = 0;
  auto const next = [&] { return in[at++]; };
  std::tuple<outside<X>...> const handles{handle_from<outside<X>>(next)...};
  return std::apply([&](auto const&... each) { return results_of(f, each...); }, handles);
}

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

/// Runs `body` again and again while `condition` holds: both are lambdas of the loop variables, whose first values are
/// `x`. The body returns the variables' next values, of their own types: a handle, or a tuple of them. What the lambdas
/// mention from outside is computed once, before the loop; variables are read, and updated, in each iteration. Returns
/// the last values. A tensor_array can be a loop variable. `parallel_iterations` may follow the first values.
template <class Condition, class Body, detail::handle... X>
  requires(sizeof...(X) > 0)
auto while_loop(Condition const& condition, Body const& body, X... x) {
  return detail::while_loop(parallel_iterations(), condition, body, x...);
}
template <class Condition, class Body, class... X>
  requires(sizeof...(X) > 1 && std::same_as<detail::last_of<X...>, parallel_iterations>)
auto while_loop(Condition const& condition, Body const& body, X... x) {
  return [&]<std::size_t... I>(std::index_sequence<I...>, auto const& each) {
    return detail::while_loop(std::get<sizeof...(I)>(each), condition, body, std::get<I>(each)...);
  }(std::make_index_sequence<sizeof...(X) - 1>{}, std::tuple{x...});
}

/// The same with variables whose number and types only the run knows: the lambdas take and return vectors of erased
/// handles, the condition's one handle.
template <class Condition, class Body>
erased_results while_loop(Condition const& condition, Body const& body, std::vector<value> const& variables) try {
  if (variables.empty()) throw error(code::invalid_argument, "while_loop: there is no variable to begin with");
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

/// f(row) for each row of x: the results, stacked; those of a tensor_array as a tuple, all rows and which are written.
template <class F, operand X> auto map(F const& f, X x, parallel_iterations most = parallel_iterations()) {
  using Row = decltype(detail::row_inside<X>(x));
  using Made = detail::outside<decltype(f(std::declval<Row>()))>;
  constexpr bool of_rows = detail::may_have_rows<X>, makes_one = detail::is_handle<Made>;
  static_assert(of_rows, "map: a scalar has no rows");
  static_assert(makes_one, "map: the lambda must return one value");
  if constexpr (of_rows && makes_one) {
    detail::loop_request r{.rows = {x}, .counted = true, .parallel = most.count};
    r.body = record_body(detail::graph_of(x), "body", {row_of(detail::argument_type(x))},
                         [&](std::vector<value> const& in) { return detail::results_of(f, Row{in[0]}); });
    auto const node = detail::record_loop(std::move(r));
    return detail::stacked_handle<Made, X>(node, 1);
  } else return detail::refused{};
}

namespace detail {

// The state after each row if `all`, else the last.
template <bool All, class F, class S, class X>
auto fold(F const& f, S first, X x, bool backwards, parallel_iterations most) {
  using Row = decltype(row_inside<X>(x));
  using State = outside<S>;
  using Returned = outside<decltype(f(std::declval<State>(), std::declval<Row>()))>;
  constexpr bool of_rows = may_have_rows<X>;
  static_assert(of_rows, "scan, fold: a scalar has no rows");
  if constexpr (!std::same_as<Returned, State>) {
    constexpr auto said =
        sentence_of_handles<Returned, State>("scan, fold: the lambda must return the state's own type");
    named<said>().compiles();
  }
  loop_request r{
      .variables = values_of(first), .rows = {x}, .counted = true, .backwards = backwards, .parallel = most.count};
  auto types = types_of(first);
  types.push_back(row_of(argument_type(x)));
  r.body = record_body(graph_of(x), "body", types, [&](std::vector<value> const& in) {
    auto const state = results_inside<S, Row>(f, in);
    auto made = state;
    if (All) made.insert(made.end(), state.begin(), state.end());
    return made;
  });
  auto const states = static_cast<std::uint32_t>(r.variables.size());
  auto const node = record_loop(std::move(r));
  if constexpr (All) return stacked_handle<S, X>(node, states + 1);
  else return handles_from<State>(node);
}

}  // namespace detail

/// The states s₁ = f(first, row 0), s₂ = f(s₁, row 1), …, stacked; those of a tensor_array as a tuple, all rows and
/// which are written.
template <class F, detail::handle S, operand X>
auto scan(F const& f, S first, X x, parallel_iterations most = parallel_iterations()) {
  return detail::fold<true>(f, first, x, false, most);
}
/// The last state of such a chain; `first` if x has no rows.
template <class F, detail::handle S, operand X>
auto fold(F const& f, S first, X x, parallel_iterations most = parallel_iterations()) {
  return detail::fold<false>(f, first, x, false, most);
}
/// The same from the last row to the first.
template <class F, detail::handle S, operand X>
auto fold_right(F const& f, S first, X x, parallel_iterations most = parallel_iterations()) {
  return detail::fold<false>(f, first, x, true, most);
}

}  // namespace rill
