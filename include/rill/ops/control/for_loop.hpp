// for_loop: a loop with a counter.
#pragma once
#include <type_traits>

#include "rill/ops/check/check.hpp"
#include "rill/ops/control/loop_handles.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/cast.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/math/rounding.hpp"
#include "rill/ops/math/select.hpp"

namespace rill {

namespace detail {

/// A counter's first value, limit or step: a value or a whole number.
template <class X>
concept counting = operand<X> || std::integral<X>;

/// Returns the number of iterations from `start` towards `limit`, an int64.
value iterations(value start, value limit, value step);

/// Returns the graph of the first handle among the arguments.
template <class First, class... Rest> graph& graph_among(First const& first, Rest const&... rest) {
  if constexpr (handle<First>) return graph_of(values_of(first)[0]);
  else return graph_among(rest...);
}

/// Returns a counter's bound of the element type of the first handle among `others`; without one, as a constant of the
/// type that the numbers have in common.
template <class Number, counting X, class... Others> auto counter_value(graph& g, X const& x, Others const&... others) {
  if constexpr (operand<X>) return x;
  else if constexpr (sizeof...(Others) == 0) return constant(g, static_cast<Number>(x));
  else
    return [&]<class First, class... Rest>(First const& first, Rest const&... rest) {
      if constexpr (operand<First>) return like(first, x);
      else return counter_value<Number>(g, x, rest...);
    }(others...);
}
template <class X> using number_or_int = std::conditional_t<std::integral<X>, X, int>;

template <class Index>
inline constexpr bool may_count = [] {
  if constexpr (typed<Index>)
    return Index::static_type.rank == 0 && dtypes::indices.contains(Index::static_type.element);
  else return true;
}();

/// Records the loop of a counter and of loop variables. `checked`: the step may turn out to be 0.
template <class Index, class Body, class... X>
auto record_for_loop(parallel_iterations most, bool checked, Index start, value limit, value step, Body const& body,
                     X const&... x) try {
  loop_request r{.variables = values_of(start, x...), .counted = true, .parallel = most.count};
  r.count = iterations(start, limit, step);
  r.body = record_body(graph_of(start), "body", types_of(start, x...), [&](std::vector<value> const& in) {
    std::size_t at = 0;
    auto const next = [&] { return in[at++]; };
    std::tuple<Index, outside<X>...> const handles{handle_from<Index>(next), handle_from<outside<X>>(next)...};
    auto made = std::apply([&](auto const&... each) { return results_of(body, each...); }, handles);
    made.insert(made.begin(), add(value(std::get<0>(handles)), step));
    return made;
  });
  std::vector<operation> first;
  if (checked) first.push_back(check(not_equal(step, zero(step)), "for_loop: the step is 0"));
  auto const node = graph_of(start).after(first, [&] { return record_loop(std::move(r)); });
  if constexpr (sizeof...(X) == 0) return operation(node);
  else if constexpr (sizeof...(X) == 1) return handles_from<outside<X>...>(node, 1);
  else return handles_from<std::tuple<outside<X>...>>(node, 1);
} catch (...) {
  rethrow_as_error();
}

template <class X> using first_handle_of = decltype(first_handle(std::declval<graph&>(), std::declval<X const&>()));

// The checks stand here and not deeper, so that the compiler's words stay near the user's line.
template <class Start, class Limit, class Step, class Body, class... X>
auto for_loop(parallel_iterations most, Start start, Limit limit, Step step, Body const& body, X const&... x) try {
  constexpr bool has_graph = operand<Start> || operand<Limit> || operand<Step> || (handle<X> || ... || false);
  static_assert(has_graph, "for_loop: a bound or a first value must be a value of the graph: constant(g, 0) for 0");
  if constexpr (std::integral<Step>) expects(step != 0, "for_loop: the step is 0");
  if constexpr (has_graph) {
    using Number = std::common_type_t<number_or_int<Start>, number_or_int<Limit>, number_or_int<Step>>;
    auto& g = graph_among(start, limit, step, x...);
    auto const from = counter_value<Number>(g, start, limit, step);
    auto const to = counter_value<Number>(g, limit, start, step);
    auto const by = counter_value<Number>(g, step, start, limit);
    using Counter = std::remove_const_t<decltype(from)>;
    constexpr bool counts = may_count<Counter> && may_count<std::remove_const_t<decltype(to)>> &&
                            may_count<std::remove_const_t<decltype(by)>>;
    static_assert(counts, "for_loop: the counter must be a scalar of int32 or int64");
    if constexpr (counts) {
      using Variables = std::tuple<outside<first_handle_of<X>>...>;
      using Returned = returned<decltype(body(from, std::declval<outside<first_handle_of<X>>>()...))>;
      constexpr bool of_graph = are_of_graph<Returned>, same = std::same_as<Returned, Variables>;
      static_assert(of_graph, "for_loop: the body must return values of the graph: one, a tuple of them, or nothing");
      if constexpr (of_graph && !same) {
        constexpr auto said =
            sentence_of_handles<Returned, Variables>("for_loop: the body must return the loop variables' own types");
        named<said>().compiles();
      }
      if constexpr (of_graph && same)
        return record_for_loop(most, !std::integral<Step>, from, to, by, body, first_handle(g, x)...);
      else return refused{};
    } else return refused{};
  } else return refused{};
} catch (...) {
  rethrow_as_error();
}

}  // namespace detail

/// Runs `body` with a counter that goes from `start` by `step` until it reaches or passes `limit`; `step` may be
/// negative. All three are numbers or scalars of int32 or int64. The body takes the counter and the loop variables,
/// whose first values are `x`, handles or numbers; it returns the next values, of the same types: a handle, a tuple of
/// handles, or nothing if there are no loop variables. Returns the last values; without loop variables, an operation
/// that runs the loop. `parallel_iterations` may follow the first values. A step of 0 is refused when the loop is
/// recorded, or ends the step with error(failed_precondition).
template <detail::counting Start, detail::counting Limit, detail::counting Step, class Body, detail::first_value... X>
auto for_loop(Start start, Limit limit, Step step, Body const& body, X... x) {
  return detail::for_loop(parallel_iterations(), start, limit, step, body, x...);
}
template <detail::counting Start, detail::counting Limit, detail::counting Step, class Body, class... X>
  requires(sizeof...(X) > 0 && std::same_as<detail::last_of<X...>, parallel_iterations>)
auto for_loop(Start start, Limit limit, Step step, Body const& body, X... x) {
  return [&]<std::size_t... Index>(std::index_sequence<Index...>, auto const& each) {
    return detail::for_loop(std::get<sizeof...(Index)>(each), start, limit, step, body, std::get<Index>(each)...);
  }(std::make_index_sequence<sizeof...(X) - 1>{}, std::tuple{x...});
}

#if RILL_RUNTIME
RILL_INLINE value detail::iterations(value start, value limit, value step) {
  for (auto const& v : {start, limit, step})
    if (v.type().element != start.type().element || !accepts(type(v.type().element), v.type()) ||
        !dtypes::indices.contains(v.type().element))
      throw error(
          code::invalid_argument,
          "for_loop: expected the counter's first value, limit and step to be scalars of int32 or of int64, got " +
              v.type().text(),
          v.name());
  auto const from = cast(start, dtype::int64), to = cast(limit, dtype::int64), by = cast(step, dtype::int64);
  auto const none = zero(from), one = like(from, 1);
  auto const distance = select(less(none, by), sub(to, from), sub(from, to));
  // Rounded up; a distance that has been passed already is no iteration.
  return select(less(none, distance), add(div(sub(distance, one), abs(by)), one), none);
}
#endif

}  // namespace rill
