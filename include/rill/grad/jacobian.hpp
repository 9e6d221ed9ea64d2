// Whole matrices of derivatives: jacobian and hessian.
#pragma once
#include <utility>
#include <vector>

#include "rill/grad/products.hpp"
#include "rill/ops/array/expand_dims.hpp"
#include "rill/ops/array/positions.hpp"
#include "rill/ops/array/reshape.hpp"
#include "rill/ops/array/stack.hpp"
#include "rill/ops/control/map.hpp"
#include "rill/ops/math/cast.hpp"
#include "rill/ops/math/comparison.hpp"

namespace rill {

namespace detail {

/// Returns the type of the derivatives of each element of y with respect to each element of x: y's extents, then x's.
constexpr type jacobian_type(type const& y, type const& x, checks expects = {}) {
  if (!y.has_rank() || !x.has_rank()) return type::of_unknown_rank(x.element);
  if (!expects(y.rank + x.rank <= static_cast<int>(max_rank), "jacobian: the result has more than 8 axes")) return x;
  type t{x.element};
  for (auto const* each : {&y, &x})
    for (std::size_t i = 0; i < each->rank; ++i) t.push_back((*each)[i]);
  return t;
}

value jacobian(value y, value x);
value hessian(value y, value x);

}  // namespace detail

/// Returns the derivative of each element of y with respect to each element of x, with y's extents and then x's: of a
/// vector [m] by a vector [n], the matrix [m, n]. Zeros where y does not depend on x. Each row is a backward pass: a
/// loop (`map`) over the elements of y, or a pass recorded for each element if y has at most
/// `jacobian_rows_unrolled` of them. Where x has far fewer elements than y, `jvp` along each element of x costs less.
/// For complex values, a row is the gradient of the element as `gradients` defines it. Throws error(invalid_argument)
/// if a rank is unknown; other errors are the errors of `gradients`.
template <operand Y, operand X> auto jacobian(Y y, X x) {
  if constexpr (typed<Y> && typed<X>) {
    constexpr auto result = detail::jacobian_type(Y::static_type, X::static_type);
    detail::check_target<Y>();
    return as<result>(detail::jacobian(y, x));
  } else return detail::jacobian(y, x);
}

/// Returns the second derivatives of the sum of y's elements, usually of a loss, with respect to each pair of elements
/// of x: for x [n], the matrix [n, n], which is symmetric. It is the Jacobian of the gradient; `hvp` multiplies by it
/// without computing it.
template <operand Y, operand X> auto hessian(Y y, X x) {
  if constexpr (typed<X>) {
    constexpr auto result = detail::jacobian_type(X::static_type, X::static_type);
    detail::check_target<Y>();
    return as<result>(detail::hessian(y, x));
  } else return detail::hessian(y, x);
}

/// The largest number of rows of a Jacobian for which a backward pass is recorded each; more are a loop. Of a network
/// of three layers, recorded passes ran 1 to 1.2 times as fast as the loop up to 4 rows, and 1.3 to 14 times at 8,
/// where the network is small; but each of them adds its nodes to the graph, and to the time of planning.
inline constexpr std::int64_t jacobian_rows_unrolled = 8;

#if RILL_RUNTIME

namespace detail {

/// Returns the rows of a Jacobian, stacked: one for each element of y, in row-major order.
RILL_INLINE value jacobian_rows(value y, value x) {
  auto const flat = reshape(y, extents{-1});
  auto const which = positions(flat, 0, dtype::int64);
  auto const row = [&](value i) {
    auto const chosen = cast(equal(which, i), y.type().element);
    return rill::vjp(y, std::vector<value>{x}, reshape_like(chosen, y))[0];
  };
  auto const count = flat.type()[0];
  if (!count.known() || count.extent == 0 || count.extent > jacobian_rows_unrolled) return rill::map(row, which);
  std::vector<value> rows;
  for (std::int64_t i = 0; i < count.extent; ++i) rows.push_back(row(constant(*y.graph, i)));
  return stack(rows);
}

/// Returns a value of the extents of y and then those of x, for its extents alone.
RILL_INLINE value like_both(value y, value x) {
  auto wide = y;
  for (std::size_t i = 0; i < x.type().rank; ++i) wide = expand_dims(wide, -1);
  return logical_or(equal(wide, wide), equal(x, x));
}

RILL_INLINE value jacobian(value y, value of) try {
  auto const x = inside_of(y, of);
  for (auto const& v : {y, x})
    if (!v.type().has_rank())
      throw error(code::invalid_argument,
                  "jacobian: expected a value of known rank, got " + v.type().text() + "; rill::as gives it one",
                  v.name());
  auto const result = jacobian_type(y.type(), x.type());
  if (y.type().is_scalar()) return rill::vjp(y, std::vector<value>{x}, like(y, std::int8_t{1}))[0];
  return y.graph->scope("jacobian", [&] {
    auto const rows = jacobian_rows(y, x);
    if (y.type().rank == 1) return rows;
    return result.is_known() ? reshape(rows, extents(result.shape())) : reshape_like(rows, like_both(y, x));
  });
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE value hessian(value y, value of) try {
  auto const x = inside_of(y, of);
  return jacobian(gradients(y, std::vector<value>{x}, true)[0], x);
} catch (...) {
  rethrow_as_error();
}

}  // namespace detail

#endif

}  // namespace rill
