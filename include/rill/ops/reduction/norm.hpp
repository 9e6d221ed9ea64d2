// Norms over axes.
#pragma once
#include <cmath>

#include "rill/ops/control/flow.hpp"
#include "rill/ops/math/cast.hpp"
#include "rill/ops/math/power.hpp"
#include "rill/ops/math/rounding.hpp"
#include "rill/ops/reduction/logsumexp.hpp"
#include "rill/ops/reduction/max.hpp"

namespace rill {

namespace detail {

/// Returns the power of a number that is not negative; at 0 its derivative is 0, where a root's would be infinite.
template <class X> X root(X x, double power) {
  auto const at_zero = equal(x, 0);
  auto const y = [&](X safe) -> X { return power == 0.5 ? X(sqrt(safe)) : X(pow(safe, power)); }(select(at_zero, 1, x));
  return select(at_zero, 0, y);
}

/// Returns (sum of a^p)^(1/p) for a that is not negative. First divides a by an estimate of the norm (from logarithms),
/// so that powers neither overflow nor underflow. The estimate cancels, so derivatives hold it constant. Unlike the
/// maximum, it exists for empty axes. `log_sum_of` keeps the axes.
template <class X, class Sum, class LogSum> auto scaled_norm(X a, double p, Sum sum_of, LogSum log_sum_of) {
  auto const estimate = exp(log_sum_of(log(a) * p) * (1 / p));
  auto const scale = stop_gradient(select(logical_or(equal(estimate, 0), is_inf(estimate)), 1, estimate));
  return sum_of(scale) * root(sum_of(root(a / scale, p)), 1 / p);
}

/// Returns the norm of order p, from sums and maxima over the axes.
template <class X, class Sum, class Max, class LogSum>
auto norm_of(X x, double p, Sum sum_of, Max max_of, LogSum log_sum_of) {
  expects(is_differentiable(x.type().element), "norm: the operand is not of floats or complex numbers; cast it");
  expects(p >= 1, "norm: the order is at least 1, or infinite");
  return in_wide(
      [&](auto v) {
        auto const a = abs(v);
        using result = decltype(sum_of(a));
        if (p == 1) return sum_of(a);
        if (std::isinf(p)) return result{max_of(a)};
        if (p == 2) return root(result{sum_of(square(a))}, 0.5);
        return result{scaled_norm(a, p, sum_of, log_sum_of)};
      },
      x);
}

}  // namespace detail

/// Returns the norm of order p over the given axes, or all: the p-th root of the sum of |x|^p; the largest |x| if p is
/// `INFINITY`. `norm(x)`, `norm<-1>(x)`, `norm<1>(x, 1)`. Of complex numbers it is real. The derivative where the norm
/// is 0 is 0. Throws error(invalid_argument) if p is less than 1. Order 2 squares numbers as they are, because that is
/// the fastest: a square that overflows (of 2e19 in float32) makes an infinite norm, and one that underflows (of 1e-23)
/// counts as 0. Other finite orders up to 1e6 have no such limits.
template <std::int64_t... Axes, operand X> auto norm(X x, double p = 2) {
  return detail::norm_of(
      x, p, [](auto a) { return sum<Axes...>(a); }, [](auto a) { return max<Axes...>(a); },
      [](auto a) { return logsumexp<Axes...>(a, keep); });
}
/// Returns the norm, with the reduced axes left as extents of 1.
template <std::int64_t... Axes, operand X> auto norm(X x, keep_extents, double p = 2) {
  return detail::norm_of(
      x, p, [](auto a) { return sum<Axes...>(a, keep); }, [](auto a) { return max<Axes...>(a, keep); },
      [](auto a) { return logsumexp<Axes...>(a, keep); });
}
/// Returns the norm over axes known only at run time; an empty list means all axes.
inline value norm(value x, extents const& axes, bool keeping = false, double p = 2) {
  return detail::norm_of(
      x, p, [&](value a) { return sum(a, axes, keeping); }, [&](value a) { return max(a, axes, keeping); },
      [&](value a) { return logsumexp(a, axes, true); });
}

}  // namespace rill
