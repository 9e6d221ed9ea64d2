// What loops take and return as handles: loop variables and states, rows, and results.
#pragma once
#include "rill/ops/array/as.hpp"
#include "rill/ops/array/constant.hpp"
#include "rill/ops/control/loop.hpp"

namespace rill {

/// The maximum number of iterations of a loop that run at once, if a body waits or the session uses execution::tagged
/// (EuroSys'18 §4.3). The results have the same bits.
struct parallel_iterations {
  constexpr explicit parallel_iterations(std::int64_t n = 10) : count(n) {}
  std::int64_t count;
};

namespace detail {

/// Returns the type of which a body's argument is.
template <operand X> type argument_type(X const& x) {
  if constexpr (typed<X>) return X::static_type;
  else return x.type();
}
/// The types of the values that make up handles.
template <handle X> void append_types(std::vector<type>& to, X const& x) {
  if constexpr (operand<X>) to.push_back(argument_type(x));
  else std::apply([&](auto const&... sub) { (append_types(to, sub), ...); }, x.as_parts());
}
template <handle... X> std::vector<type> types_of(X const&... x) {
  std::vector<type> all;
  (append_types(all, x), ...);
  return all;
}
template <class R> struct as_tuple {
  using type = std::tuple<R>;
};
template <class... X> struct as_tuple<std::tuple<X...>> {
  using type = std::tuple<X...>;
};
/// A lambda's results as a tuple of handles outside of the body.
template <class R> using returned = typename as_tuple<typename handle_outside<R>::type>::type;
template <class X> using outside = typename handle_outside<X>::type;

/// Returns the result of `f` for handles like X of these values.
template <class... X, class F> std::vector<value> results_inside(F const& f, std::vector<value> const& in) {
  std::size_t at = 0;
  auto const next = [&] { return in[at++]; };
  std::tuple<outside<X>...> const handles{handle_from<outside<X>>(next)...};
  return std::apply([&](auto const&... each) { return results_of(f, each...); }, handles);
}

template <class X> inline constexpr bool is_tuple_of_handles = false;
template <handle... X> inline constexpr bool is_tuple_of_handles<std::tuple<X...>> = sizeof...(X) > 0;
/// A handle or a tuple of handles.
template <class X>
concept handles = handle<X> || is_tuple_of_handles<X>;

/// Returns the values that make up what a lambda returned.
template <handles R> std::vector<value> list_of_values(R const& r) {
  if constexpr (handle<R>) return values_of(r);
  else return std::apply([](auto const&... each) { return values_of(each...); }, r);
}

/// Returns one value or several as a tuple.
template <class X> auto tuple_of(X const& x) { return std::tuple{x}; }
template <class... X> std::tuple<X...> tuple_of(std::tuple<X...> const& x) { return x; }

/// What a loop's state begins with: a handle or a number.
template <class X>
concept first_value = handle<X> || number<X>;
template <class X> inline constexpr bool is_tuple_of_first_values = false;
template <first_value... X> inline constexpr bool is_tuple_of_first_values<std::tuple<X...>> = sizeof...(X) > 0;
template <class X>
concept first_values = first_value<X> || is_tuple_of_first_values<X>;

/// Returns a handle as it is, and numbers as constants of their own type.
template <first_value X> auto first_handle([[maybe_unused]] graph& g, X const& x) {
  if constexpr (handle<X>) return x;
  else return constant(g, x);
}
template <first_value... X> auto first_handle(graph& g, std::tuple<X...> const& x) {
  return std::apply([&](auto const&... each) { return std::tuple{first_handle(g, each)...}; }, x);
}

}  // namespace detail

}  // namespace rill
