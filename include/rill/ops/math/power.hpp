// Powers.
#pragma once
#include "rill/ops/math/exponential.hpp"

namespace rill::ops {

struct pow_op : elementwise<pow_op, 2> {
  using library = void;
  static constexpr std::string_view name = "pow",
                                    doc =
                                        "x to the power of y, broadcast; NaN for negative x unless y is an integer; "
                                        "integers wrap, and negative powers of integers round toward 0";
  static constexpr dtypes elements = dtypes::reals;
  static constexpr double flops = 40;
  template <class S> static S apply(S x, S y) { return pow(x, y); }
  // z = x^y: dx = dz y x^(y - 1), which is 0 where y is 0; dy = dz z log(x), which is 0 where x is 0 and y is not
  // negative, or x is infinite and y negative. There no infinite factor is computed: it would be multiplied by 0.
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V x = r.in(0), y = r.in(1), z = r.out(), dz = r.dy();
    return binary_gradients(
        r,
        [&] {
          V steep = logical_and(equal(y, 0), is_inf(1 / x)), power = pow(select(steep, 1, x), y - 1);
          V none = logical_and(is_inf(y), equal(power, 0));
          return dz * (select(none, 0, y) * power);
        },
        [&] {
          V none = logical_or(logical_and(equal(x, 0), greater_equal(y, 0)), logical_and(is_inf(x), less(y, 0)));
          return dz * log(select(none, 1, x)) * z;
        });
  }
};

}  // namespace rill::ops

namespace rill {

/// Returns x to the power of y, broadcast. Non-integer powers of a negative x are NaN; x to the power of 0 is 1.
/// Integers wrap; negative powers of integers round toward 0, and are 0 for 0.
template <operand X, operand Y> auto pow(X x, Y y) { return record<ops::pow_op>(x, y); }
template <operand X, number N> auto pow(X x, N n) { return pow(x, like(x, n)); }
template <number N, operand X> auto pow(N n, X x) { return pow(like(x, n), x); }

}  // namespace rill
