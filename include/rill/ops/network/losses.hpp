// Losses: squared and absolute errors, Huber's loss, the hinge, and the Kullback-Leibler divergence. Each returns one
// loss for each element or example; only mse and mae return the mean.
#pragma once
#include "rill/ops/math/cast.hpp"
#include "rill/ops/math/exponential.hpp"
#include "rill/ops/math/relu.hpp"
#include "rill/ops/sum/sum.hpp"

namespace rill::ops {

struct absolute_error_op : elementwise<absolute_error_op, 2> {
  using library = void;
  static constexpr std::string_view name = "absolute_error",
                                    doc = "|x - y|, broadcast; the derivative is 0 where x = y";
  static constexpr dtypes elements = dtypes::floats;
  template <class S> static S apply(S x, S y) { return abs(x - y); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V x = r.in(0), y = r.in(1), dz = r.dy();
    V slope = select(less(y, x), dz, select(less(x, y), -dz, zero(dz)));
    return binary_gradients(r, [&] { return slope; }, [&] { return -slope; });
  }
};

struct huber_op : elementwise<huber_op, 3> {
  using library = void;
  static constexpr std::string_view
      name = "huber",
      doc = "half of the squared distance of x and y up to delta, linear beyond; all three broadcast";
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 5;
  static constexpr type infer(no_attributes, type const& x, type const& y, type const& delta, checks expects = {}) {
    expects(x.element == y.element && x.element == delta.element,
            "huber: the operands have different element types; cast them");
    expects(elements.contains(x.element), "huber: the operands are not of floats; cast them");
    return broadcast(x, broadcast(y, delta, expects), expects);
  }
  template <class S> static S apply(S x, S y, S delta) {
    return rill::detail::in_wide(
        [](auto a, auto b, auto most) {
          auto const far = abs(a - b), near = minimum(far, most);
          return near * (far - decltype(a)(0.5) * near);
        },
        x, y, delta);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V x = r.in(0), y = r.in(1), delta = r.in(2), dz = r.dy();
    V apart = x - y, slope = dz * maximum(minimum(apart, delta), -delta);
    std::vector<gradient> all(3);
    if (r.wanted[0]) all[0] = sum_like(slope, r.in(0));
    if (r.wanted[1]) all[1] = sum_like(-slope, r.in(1));
    if (r.wanted[2]) all[2] = sum_like(dz * relu(V(absolute_error(x, y)) - delta), r.in(2));
    return all;
  }
};

struct relative_entropy_op : elementwise<relative_entropy_op, 2> {
  using library = void;
  static constexpr std::string_view name = "relative_entropy",
                                    doc =
                                        "p (log p - l) for probabilities p and log-probabilities l, broadcast; where p "
                                        "is 0, 0 with derivative 0 with respect to p";
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 13;
  template <class S> static S apply(S p, S l) {
    return rill::detail::in_wide(
        [](auto a, auto b) { return select(a == decltype(a)(0), decltype(a)(0), a * (log(a) - b)); }, p, l);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V p = r.in(0), l = r.in(1), dz = r.dy();
    return binary_gradients(
        r,
        [&] {
          V none = equal(p, zero(p));
          return dz * select(none, zero(p), log(select(none, like(p, 1), p)) + 1 - l);
        },
        [&] { return -(dz * p); });
  }
};

}  // namespace rill::ops

namespace rill {

/// Returns (x - y)² for each pair of elements; both broadcast.
template <operand X, operand Y> auto squared_error(X x, Y y) {
  if constexpr (detail::is_refused<ops::sub_op, X, Y>()) return record<ops::sub_op>(x, y);
  else return detail::in_wide([](auto a, auto b) { return square(a - b); }, x, y);
}
/// Returns |x - y| for each pair of elements; both broadcast. The derivative where they are equal is 0.
template <operand X, operand Y> auto absolute_error(X x, Y y) { return record<ops::absolute_error_op>(x, y); }
/// Returns the mean of (x - y)² over all elements: a scalar.
template <operand X, operand Y> auto mse(X x, Y y) {
  if constexpr (detail::is_refused<ops::sub_op, X, Y>()) return record<ops::sub_op>(x, y);
  else return detail::in_wide([](auto a, auto b) { return mean(square(a - b)); }, x, y);
}
/// Returns the mean of |x - y| over all elements: a scalar.
template <operand X, operand Y> auto mae(X x, Y y) {
  if constexpr (detail::is_refused<ops::absolute_error_op, X, Y>()) return record<ops::absolute_error_op>(x, y);
  else return detail::in_wide([](auto a, auto b) { return mean(absolute_error(a, b)); }, x, y);
}

/// Returns Huber's loss (P. J. Huber, Robust Estimation of a Location Parameter, 1964), for each pair of elements: (x -
/// y)² / 2 for distances up to `delta` (positive), linear beyond.
template <operand X, operand Y> auto huber(X x, Y y, double delta = 1) {
  expects(delta > 0, "huber: delta must be positive");
  return detail::in_wide([delta](auto a, auto b) { return record<ops::huber_op>(a, b, like(a, delta)); }, x, y);
}

/// Returns max(0, 1 - label x) for each pair of elements: the hinge loss of support vector machines. Labels are -1 or
/// 1. The derivative is 0 where label x is 1.
template <operand X, operand L> auto hinge(X x, L labels) {
  return detail::in_wide([](auto a, auto z) { return relu(1 - a * z); }, x, labels);
}

/// Returns the Kullback-Leibler divergence [...] between distributions p [..., n] and distributions with logarithms l
/// [..., n], for instance from log_softmax: the sum of p (log p - l) over the last axis. Terms with p = 0 are 0.
template <operand P, operand L> auto kl_divergence(P p, L l) {
  return detail::in_wide(
      [](auto a, auto b) {
        auto const each = record<ops::relative_entropy_op>(a, b);
        if constexpr (typed<P> && typed<L>) return sum<-1>(each);
        else return sum(value(each), extents{-1});
      },
      p, l);
}

}  // namespace rill
