// sinh, cosh and their inverses of packets.
#pragma once
#include "rill/program/elementary.hpp"

namespace rill {

namespace detail {

/// Returns e^|x| / 2, which is infinite only where sinh and cosh are.
template <class T, std::size_t Bytes> [[gnu::always_inline]] inline packet<T, Bytes> half_power(packet<T, Bytes> x) {
  packet<T, Bytes> const most = elementary<T>::exp_most + 2;  // from here on the result is infinite
  exponential const power(minimum(abs(x), most));
  return power.scale(T(0.5) * (1 + power.rest));
}

/// From here on sqrt(x^2 + 1) and sqrt(x^2 - 1) round to x, and x^2 is far from overflow in either type.
inline constexpr double far_out = 0x1p60;
inline constexpr double ln2 = 0x1.62e42fefa39efp-1;

}  // namespace detail

/// Returns the hyperbolic sine within 3 units in the last place: through expm1 near 0, where e^x - e^-x would cancel.
template <class T, std::size_t Bytes> [[gnu::always_inline]] inline packet<T, Bytes> sinh(packet<T, Bytes> x) {
  auto const a = abs(x);
  auto const near = a < 1;
  auto const less = expm1(select(near, a, 0));
  auto const small = (less + less / (less + 1)) * T(0.5);
  auto const half = detail::half_power(x);
  return detail::with_sign(select(near, small, half - T(0.25) / half), x);
}

/// Returns the hyperbolic cosine within 2 units in the last place.
template <class T, std::size_t Bytes> [[gnu::always_inline]] inline packet<T, Bytes> cosh(packet<T, Bytes> x) {
  auto const half = detail::half_power(x);
  return half + T(0.25) / half;
}

/// Returns the number whose hyperbolic sine is x, within 3 units in the last place: log(|x| + sqrt(x^2 + 1)), computed
/// by log1p, with x's sign.
template <class T, std::size_t Bytes> [[gnu::always_inline]] inline packet<T, Bytes> asinh(packet<T, Bytes> x) {
  auto const a = abs(x);
  auto const far = a > T(detail::far_out);
  auto const b = select(far, 0, a);
  auto const less = select(far, a, b + b * b / (1 + sqrt(b * b + 1)));
  return detail::with_sign(log1p(less) + select(far, T(detail::ln2), packet<T, Bytes>(0)), x);
}

/// Returns the number above 0 whose hyperbolic cosine is x, within 3 units in the last place; NaN below 1.
template <class T, std::size_t Bytes> [[gnu::always_inline]] inline packet<T, Bytes> acosh(packet<T, Bytes> x) {
  auto const far = x > T(detail::far_out);
  auto const above = select(far, 0, x) - 1;
  auto const less = select(far, x, above + sqrt(above * (above + 2)));
  auto const result = log1p(less) + select(far, T(detail::ln2), packet<T, Bytes>(0));
  return select(x >= 1, result, std::numeric_limits<T>::quiet_NaN());
}

/// Returns the number whose hyperbolic tangent is x, within 3 units in the last place: log((1 + |x|) / (1 - |x|)) / 2,
/// computed by log1p, with x's sign. Infinite at 1 and -1, NaN beyond.
template <class T, std::size_t Bytes> [[gnu::always_inline]] inline packet<T, Bytes> atanh(packet<T, Bytes> x) {
  auto const a = abs(x);
  return detail::with_sign(abs(log1p((a + a) / (1 - a)) * T(0.5)), x);
}

}  // namespace rill
