// map: a lambda of each row of one value, or of several.
#pragma once
#include "rill/ops/control/loop_handles.hpp"

namespace rill {

namespace detail {

template <class X> inline constexpr bool is_tuple_of_operands = false;
template <operand... X> inline constexpr bool is_tuple_of_operands<std::tuple<X...>> = sizeof...(X) > 0;
/// A value or a tuple of values.
template <class X>
concept operands = operand<X> || is_tuple_of_operands<X>;

/// Whether a value can be split into rows, as far as its static type tells.
template <class X>
inline constexpr bool may_have_rows = [] {
  if constexpr (typed<X>) return X::static_type.has_rank() && X::static_type.rank > 0;
  else return true;
}();
/// The handle of a row in a body.
template <class X> auto row_inside(value v) {
  if constexpr (typed<X> && may_have_rows<X>) return expr<row_of(X::static_type)>{v};
  else return v;
}
template <class X> using row_handle = decltype(row_inside<X>(std::declval<value>()));

/// The number of rows that several values have in common, as far as their static types tell.
struct row_count {
  bool typed = false;  ///< a static type has it
  dim count = unknown;
  mismatch refusal = {};
  constexpr bool refused() const { return refusal.why != nullptr; }
};
template <class... X> constexpr row_count count_rows() {
  row_count made;
  [[maybe_unused]] auto const add = [&]<class Each>(std::type_identity<Each>) {
    if constexpr (typed<Each> && may_have_rows<Each>) {
      made.typed = true;
      made.count =
          agree(made.count, Each::static_type[0], "the values have different numbers of rows", checks(made.refusal));
    }
  };
  (add(std::type_identity<X>{}), ...);
  return made;
}
/// What the compiler says of values that certainly have different numbers of rows.
constexpr sentence sentence_of(row_count const& counted) {
  return sentence{} << "a loop over rows: " << counted.refusal;
}

/// Returns handles like X of `Count` rows each; of a handle of several values and of a tuple, a tuple with one for each
/// part. `next()` returns one value after the other. With `Typed`, the static types of the rows say their number.
template <class X, bool Typed, dim Count, class Next> auto stacked_handles(Next& next) {
  if constexpr (typed<X> && Typed) return as<stacked(X::static_type, Count)>(next());
  else if constexpr (operand<X>) return next();
  else {
    auto const parts = [&]<class... Part>(std::type_identity<std::tuple<Part...>>) {
      return std::tuple<decltype(stacked_handles<Part, Typed, Count>(next))...>{
          stacked_handles<Part, Typed, Count>(next)...};
    };
    if constexpr (handle<X>) return parts(std::type_identity<typename X::parts>{});
    else return parts(std::type_identity<X>{});
  }
}
/// Returns the outputs of a node from `at` on as stacked rows like Made; `X` are the values whose rows the loop read.
template <class Made, class... X> auto stacked_rows(value node, std::uint32_t at) {
  constexpr auto counted = count_rows<X...>();
  auto next = [&] { return value{node.graph, node.node, at++}; };
  return stacked_handles<Made, counted.typed, counted.count>(next);
}

template <class F, operand... X> auto map_rows(F const& f, std::tuple<X...> const& x, parallel_iterations most) try {
  using Made = outside<std::remove_cvref_t<decltype(f(std::declval<row_handle<X>>()...))>>;
  constexpr bool of_rows = (may_have_rows<X> && ...), makes_values = handles<Made>;
  constexpr auto counted = count_rows<X...>();
  static_assert(of_rows, "map: a scalar has no rows");
  static_assert(makes_values, "map: the lambda must return a value of the graph, or a tuple of them");
  if constexpr (counted.refused()) {
    constexpr auto said = sentence_of(counted);
    named<said>().compiles();
  }
  if constexpr (of_rows && makes_values && !counted.refused()) {
    auto const rows = std::apply([](auto const&... each) { return values_of(each...); }, x);
    loop_request r{.rows = rows, .counted = true, .parallel = most.count};
    auto const types =
        std::apply([](auto const&... each) { return std::vector<type>{row_of(argument_type(each))...}; }, x);
    r.body = record_body(graph_of(rows[0]), "body", types, [&](std::vector<value> const& in) {
      return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
        return results_of(f, row_inside<X>(in[Index])...);
      }(std::index_sequence_for<X...>{});
    });
    return stacked_rows<Made, X...>(record_loop(std::move(r)), 1);
  } else return refused{};
} catch (...) {
  rethrow_as_error();
}

}  // namespace detail

/// Returns f(row) for each row of x, stacked; f(row of x, row of y, …) for several values, which must have equally many
/// rows. If `f` returns a tuple, so does `map`: each part stacked. A tensor_array becomes a tuple: all rows, and which
/// of them are written. `parallel_iterations` may follow the values.
template <class F, operand... X>
  requires(sizeof...(X) > 0)
auto map(F const& f, X... x) {
  return detail::map_rows(f, std::tuple{x...}, parallel_iterations());
}
template <class F, operand First, class... X>
  requires(sizeof...(X) > 0 && std::same_as<detail::last_of<X...>, parallel_iterations>)
auto map(F const& f, First first, X... x) {
  return [&]<std::size_t... Index>(std::index_sequence<Index...>, auto const& rest) {
    return detail::map_rows(f, std::tuple{first, std::get<Index>(rest)...}, std::get<sizeof...(Index)>(rest));
  }(std::make_index_sequence<sizeof...(X) - 1>{}, std::tuple{x...});
}
/// Returns the same for a tuple of values.
template <class F, operand... X>
auto map(F const& f, std::tuple<X...> const& x, parallel_iterations most = parallel_iterations()) {
  return detail::map_rows(f, x, most);
}

}  // namespace rill
