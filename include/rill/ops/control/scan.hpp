// scan and fold: a state that goes from row to row.
#pragma once
#include "rill/ops/control/map.hpp"

namespace rill {

namespace detail {

/// What the lambda of a scan or fold returns: the next state, or a pair of the next state and results to stack.
template <class R> struct step_of {
  using next = outside<R>;
  static constexpr bool makes_results = false;
  static std::vector<value> values(R const& r, bool twice) {
    auto all = list_of_values(r);
    for (std::size_t i = 0, n = all.size(); twice && i < n; ++i) all.push_back(all[i]);
    return all;
  }
};
template <class Next, class Made> struct step_of<std::pair<Next, Made>> {
  using next = outside<Next>;
  using made = outside<Made>;
  static constexpr bool makes_results = true;
  static std::vector<value> values(std::pair<Next, Made> const& r, bool) {
    auto all = list_of_values(r.first);
    for (auto const& v : list_of_values(r.second)) all.push_back(v);
    return all;
  }
};

/// What a loop over rows keeps: the last state, or the state or results of each row.
enum class kept { last, each };

/// The handles of a state in a body: one after the other, from the values of its arguments.
template <class... S, class... X>
auto arguments_inside(std::vector<value> const& in, std::tuple<S...> const&, std::tuple<X...> const&) {
  std::size_t at = 0;
  auto const next = [&] { return in[at++]; };
  return std::tuple<outside<S>..., row_handle<X>...>{handle_from<outside<S>>(next)..., row_inside<X>(next())...};
}

template <kept Keep, class Step, class State, class... X> auto results_of_fold(value node, std::uint32_t states) {
  if constexpr (Keep == kept::last) return handles_from<State>(node);
  else if constexpr (Step::makes_results)
    return std::pair{handles_from<State>(node), stacked_rows<typename Step::made, X...>(node, states + 1)};
  else return stacked_rows<State, X...>(node, states + 1);
}

/// What the compiler knows of a scan or fold from the types of its lambda, its state (a handle or a tuple) and its
/// rows.
template <class F, class State, class States, class Rows> struct fold_rules;
template <class F, class State, class... S, class... X>
struct fold_rules<F, State, std::tuple<S...>, std::tuple<X...>> {
  using step = step_of<std::remove_cvref_t<decltype(std::declval<F const&>()(std::declval<outside<S>>()...,
                                                                             std::declval<row_handle<X>>()...))>>;
  static constexpr bool of_rows = (may_have_rows<X> && ...);
  static constexpr bool same = std::same_as<typename step::next, outside<State>>;
  static constexpr bool makes_values = [] {
    if constexpr (step::makes_results) return handles<typename step::made>;
    else return true;
  }();
  static constexpr row_count counted = count_rows<X...>();
  static constexpr bool accepted = of_rows && same && makes_values && !counted.refused();
};

template <kept Keep, class Step, class State, class F, class... S, class... X>
auto record_fold(F const& f, std::tuple<S...> const& first, std::tuple<X...> const& x, bool backwards,
                 parallel_iterations most) try {
  auto const list = [](auto const&... each) { return values_of(each...); };
  loop_request r{.variables = std::apply(list, first),
                 .rows = std::apply(list, x),
                 .counted = true,
                 .backwards = backwards,
                 .parallel = most.count};
  auto types = std::apply([](auto const&... each) { return types_of(each...); }, first);
  std::apply([&](auto const&... each) { (types.push_back(row_of(argument_type(each))), ...); }, x);
  r.body = record_body(graph_of(r.rows[0]), "body", types, [&](std::vector<value> const& in) {
    return Step::values(std::apply(f, arguments_inside(in, first, x)), Keep == kept::each);
  });
  auto const states = static_cast<std::uint32_t>(r.variables.size());
  return results_of_fold<Keep, Step, outside<State>, X...>(record_loop(std::move(r)), states);
} catch (...) {
  rethrow_as_error();
}

// The checks stand here and not deeper, so that the compiler's words stay near the user's line.
template <kept Keep, class F, first_values S, operands X>
auto fold(F const& f, S const& first, X const& x, bool backwards, parallel_iterations most) try {
  using State = decltype(first_handle(std::declval<graph&>(), first));
  using Rules = fold_rules<F, State, decltype(tuple_of(std::declval<State>())), decltype(tuple_of(x))>;
  constexpr bool may_make = !Rules::step::makes_results || Keep == kept::each, makes_values = Rules::makes_values;
  static_assert(Rules::of_rows, "scan, fold: a scalar has no rows");
  static_assert(may_make, "fold: the lambda must return the next state alone; scan stacks results beside it");
  static_assert(makes_values, "scan: the results beside the state must be a value of the graph, or a tuple of them");
  if constexpr (!Rules::same) {
    constexpr auto said = sentence_of_handles<typename Rules::step::next, outside<State>>(
        "scan, fold: the lambda must return the state's own type");
    named<said>().compiles();
  }
  if constexpr (Rules::counted.refused()) {
    constexpr auto said = sentence_of(Rules::counted);
    named<said>().compiles();
  }
  if constexpr (Rules::accepted && may_make) {
    auto const rows = tuple_of(x);
    auto const states = tuple_of(first_handle(graph_of(std::get<0>(rows)), first));
    return record_fold<Keep, typename Rules::step, State>(f, states, rows, backwards, most);
  } else return refused{};
} catch (...) {
  rethrow_as_error();
}

}  // namespace detail

/// Returns the states s₁ = f(first, row 0), s₂ = f(s₁, row 1), …, stacked. `first` may be a number, and both `first`
/// and x may be tuples: `f` then takes each of the states and a row of each of the values, returns a tuple of the next
/// states, and `scan` returns a tuple. If `f` returns a pair of the next states and of results, each one value or a
/// tuple, `scan` returns a pair: the last states, and the results stacked, as in JAX. A tensor_array becomes a tuple:
/// all rows, and which of them are written.
template <class F, detail::first_values S, detail::operands X>
auto scan(F const& f, S const& first, X const& x, parallel_iterations most = parallel_iterations()) {
  return detail::fold<detail::kept::each>(f, first, x, false, most);
}
/// Returns the same from the last row to the first. What belongs to a row stands where the row stands.
template <class F, detail::first_values S, detail::operands X>
auto scan_right(F const& f, S const& first, X const& x, parallel_iterations most = parallel_iterations()) {
  return detail::fold<detail::kept::each>(f, first, x, true, most);
}
/// Returns the last of the states that `scan` returns; `first` if x has no rows.
template <class F, detail::first_values S, detail::operands X>
auto fold(F const& f, S const& first, X const& x, parallel_iterations most = parallel_iterations()) {
  return detail::fold<detail::kept::last>(f, first, x, false, most);
}
/// Returns the same from the last row to the first.
template <class F, detail::first_values S, detail::operands X>
auto fold_right(F const& f, S const& first, X const& x, parallel_iterations most = parallel_iterations()) {
  return detail::fold<detail::kept::last>(f, first, x, true, most);
}

}  // namespace rill
