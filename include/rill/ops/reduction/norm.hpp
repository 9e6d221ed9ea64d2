// Norms over axes.
#pragma once
#include <cmath>

#include "rill/ops/math/cast.hpp"
#include "rill/ops/math/power.hpp"
#include "rill/ops/math/rounding.hpp"
#include "rill/ops/reduction/max.hpp"

namespace rill {

namespace detail {

/// Returns the power of a number that is not negative; at 0 its derivative is 0, where a root's would be infinite.
template <class X> X root(X x, double power) {
  auto const at_zero = equal(x, 0);
  auto const y = [&](X safe) -> X { return power == 0.5 ? X(sqrt(safe)) : X(pow(safe, power)); }(select(at_zero, 1, x));
  return select(at_zero, 0, y);
}

/// Returns the norm of order p, from sums and maxima over the axes.
template <class X, class Sum, class Max> auto norm_of(X x, double p, Sum sum_of, Max max_of) {
  expects(is_differentiable(x.type().element), "norm: the operand is not of floats or complex numbers; cast it");
  expects(p >= 1, "norm: the order is at least 1, or infinite");
  return in_wide(
      [&](auto v) {
        auto const a = abs(v);
        using result = decltype(sum_of(a));
        if (p == 1) return sum_of(a);
        if (std::isinf(p)) return result{max_of(a)};
        if (p == 2) return root(result{sum_of(square(a))}, 0.5);
        return root(result{sum_of(pow(a, p))}, 1 / p);
      },
      x);
}

}  // namespace detail

/// Returns the norm of order p over the given axes, or all: the p-th root of the sum of |x|^p; the largest |x| if p is
/// `INFINITY`. `norm(x)`, `norm<-1>(x)`, `norm<1>(x, 1)`. Of complex numbers it is real. The derivative where the norm
/// is 0 is 0. Throws error(invalid_argument) if p is less than 1. Squares that overflow make an infinite norm.
template <std::int64_t... Axes, operand X> auto norm(X x, double p = 2) {
  return detail::norm_of(x, p, [](auto a) { return sum<Axes...>(a); }, [](auto a) { return max<Axes...>(a); });
}
/// Returns the norm, with the reduced axes left as extents of 1.
template <std::int64_t... Axes, operand X> auto norm(X x, keep_extents, double p = 2) {
  return detail::norm_of(
      x, p, [](auto a) { return sum<Axes...>(a, keep); }, [](auto a) { return max<Axes...>(a, keep); });
}
/// Returns the norm over axes known only at run time; an empty list means all axes.
inline value norm(value x, extents const& axes, bool keeping = false, double p = 2) {
  return detail::norm_of(
      x, p, [&](value a) { return sum(a, axes, keeping); }, [&](value a) { return max(a, axes, keeping); });
}

}  // namespace rill
