// Derivatives times vectors: vjp (backwards), jvp (forwards) and hvp.
#pragma once
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "rill/grad/gradients.hpp"
#include "rill/ops/control/map.hpp"

namespace rill {

/// Returns dy · ∂y/∂x for each x: the derivatives of the sum of y's elements times `dy`, which has y's type. Zeros for
/// an x on which y does not depend. Other errors are the errors of `gradients`.
std::vector<value> vjp(value y, std::vector<value> const& x, value dy);
/// Returns ∂y/∂x · dx: how y changes if x moves along `dx`, which has x's types. Zeros if y depends on no x. It is
/// computed by the double-backward trick: the derivatives dy · ∂y/∂x are linear in dy, and their derivative with
/// respect to dy times dx is the result. A step computes neither dy nor these derivatives, so the cost is the cost of a
/// gradient. Throws error(unimplemented) if an operation on the way can't be differentiated twice.
std::vector<value> jvp(std::vector<value> const& y, std::vector<value> const& x, std::vector<value> const& dx);
/// Returns the Hessian of the sum of y's elements times `v`, which has x's types: ∂²y/∂x² · v, without the matrix.
std::vector<value> hvp(value y, std::vector<value> const& x, std::vector<value> const& v);

namespace detail {

template <operands X> std::vector<value> list_of(X const& x) {
  if constexpr (operand<X>) return {x};
  else return std::apply([](auto const&... each) { return std::vector<value>{each...}; }, x);
}

/// Returns the values as handles like X: one, or a tuple.
template <operands X> auto handles_like(std::vector<value> const& v) {
  auto const one = []<class Each>(std::type_identity<Each>, value const& of) {
    if constexpr (typed<Each>) return expr<Each::static_type>{of};
    else return of;
  };
  if constexpr (operand<X>) return one(std::type_identity<X>{}, v[0]);
  else
    return [&]<class... Each, std::size_t... Index>(std::type_identity<std::tuple<Each...>>,
                                                    std::index_sequence<Index...>) {
      return std::tuple{one(std::type_identity<Each>{}, v[Index])...};
    }(std::type_identity<X>{}, std::make_index_sequence<std::tuple_size_v<X>>{});
}

/// Whether D has, for each value of X, a value that may have its type.
template <class X, class D>
inline constexpr bool has_types_of = [] {
  if constexpr (typed<X> && typed<D>) return accepts(X::static_type, D::static_type);
  else return operand<X> && operand<D>;
}();
template <class... X, class... D>
  requires(sizeof...(X) == sizeof...(D))
inline constexpr bool has_types_of<std::tuple<X...>, std::tuple<D...>> = (has_types_of<X, D> && ...);

}  // namespace detail

/// Returns the same for typed handles, with x's type: `auto dx = vjp(y, x, dy)`; a tuple for a tuple of x.
template <operand Y, detail::operands X, operand D> auto vjp(Y y, X const& x, D dy) try {
  if constexpr (!detail::has_types_of<Y, D>) {
    constexpr auto said = detail::sentence_of_handles<D, Y>("vjp: the third operand must have the type of y");
    detail::named<said>().compiles();
  } else return detail::handles_like<X>(vjp(static_cast<value>(y), detail::list_of(x), static_cast<value>(dy)));
} catch (...) {
  rethrow_as_error();
}
/// The number is every element of dy.
template <operand Y, detail::operands X, number N> auto vjp(Y y, X const& x, N dy) try {
  return detail::handles_like<X>(vjp(static_cast<value>(y), detail::list_of(x), broadcast_like(like(y, dy), y)));
} catch (...) {
  rethrow_as_error();
}
/// Returns the same for typed handles, with y's types: `auto dy = jvp(y, x, dx)`. y, x and dx may be tuples.
template <detail::operands Y, detail::operands X, detail::operands D>
auto jvp(Y const& y, X const& x, D const& dx) try {
  if constexpr (!detail::has_types_of<X, D>) {
    constexpr auto said = detail::sentence_of_handles<D, X>("jvp: the third operand must have the type of x");
    detail::named<said>().compiles();
  } else return detail::handles_like<Y>(jvp(detail::list_of(y), detail::list_of(x), detail::list_of(dx)));
} catch (...) {
  rethrow_as_error();
}
/// Returns the same for typed handles, with x's type; a tuple for a tuple of x.
template <operand Y, detail::operands X, detail::operands D> auto hvp(Y y, X const& x, D const& v) try {
  if constexpr (!detail::has_types_of<X, D>) {
    constexpr auto said = detail::sentence_of_handles<D, X>("hvp: the third operand must have the type of x");
    detail::named<said>().compiles();
  } else return detail::handles_like<X>(hvp(static_cast<value>(y), detail::list_of(x), detail::list_of(v)));
} catch (...) {
  rethrow_as_error();
}

#if RILL_RUNTIME

namespace detail {

/// Fails unless `d` has, for each value of `x`, a value that may have its type.
RILL_INLINE void check_directions(char const* operation, std::vector<value> const& x, std::vector<value> const& d) {
  if (x.size() != d.size())
    throw error(code::invalid_argument, std::string(operation) + ": expected a direction for each of " +
                                            std::to_string(x.size()) + " values, got " + std::to_string(d.size()));
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!accepts(x[i].type(), d[i].type()))
      throw error(code::invalid_argument,
                  std::string(operation) + ": expected a direction of the value's type, " + x[i].type().text() +
                      ", got " + d[i].type().text(),
                  d[i].name());
}

RILL_INLINE std::vector<value> dense_or_zeros(std::vector<gradient> const& parts, std::vector<value> const& x) {
  std::vector<value> all;
  for (std::size_t i = 0; i < x.size(); ++i) all.push_back(dense_or_zeros(parts[i], x[i]));
  return all;
}

}  // namespace detail

RILL_INLINE std::vector<value> vjp(value y, std::vector<value> const& of, value dy) try {
  detail::check_directions("vjp", {y}, {dy});
  std::vector<value> x;
  for (auto const& v : of) x.push_back(detail::inside_of(y, v));
  return detail::dense_or_zeros(detail::pull_back(y, x, dy, {}), x);
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE std::vector<value> jvp(std::vector<value> const& y, std::vector<value> const& of,
                                   std::vector<value> const& dx) try {
  detail::check_directions("jvp", of, dx);
  std::vector<value> all;
  for (auto const& one : y) {
    std::vector<value> x, pulled, along;
    for (auto const& v : of) x.push_back(detail::inside_of(one, v));
    value const dy = broadcast_like(zero(one), one);  // any value: the derivatives are linear in it
    auto const parts = detail::pull_back(one, x, dy, {});
    for (std::size_t i = 0; i < x.size(); ++i)
      if (parts[i]) pulled.push_back(densify(parts[i], x[i])), along.push_back(dx[i]);
    auto const moved = detail::differentiator::derive(pulled, {dy}, along);
    all.push_back(detail::dense_or_zeros(moved.empty() ? gradient() : moved[0], one));
  }
  return all;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE std::vector<value> hvp(value y, std::vector<value> const& of, std::vector<value> const& v) try {
  detail::check_directions("hvp", of, v);
  std::vector<value> x, slopes, along;
  for (auto const& each : of) x.push_back(detail::inside_of(y, each));
  auto const parts = detail::pull_back(y, x, {}, {});
  for (std::size_t i = 0; i < x.size(); ++i)
    if (parts[i]) slopes.push_back(densify(parts[i], x[i])), along.push_back(v[i]);
  auto const moved = y.graph->scope("gradients", [&] { return detail::differentiator::derive(slopes, x, along); });
  return detail::dense_or_zeros(moved, x);
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill
