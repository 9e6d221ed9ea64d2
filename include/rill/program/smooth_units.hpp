// silu, gelu, gelu_tanh and mish of packets: x times a smooth step from 0 to 1; and the normal distribution function.
//
// Each is computed as a whole: the step alone would underflow where its product with x does not, and rounding its
// argument would cost as many units in the last place as the argument is large.
#pragma once
#include <iterator>

#include "rill/program/power.hpp"

namespace rill {

namespace detail {

/// The constants of smooth units for a type. From each `…_most` on, x times the step is x, and rounds to 0 for -x.
template <class T> struct smooth_units;

template <> struct smooth_units<float> {
  static constexpr float silu_most = 110, gelu_most = 14.5f, gelu_tanh_most = 11;
  // (t + 3.5) e^(t^2 / 2) (1 - Phi(t)) as a polynomial in t / (t + 3.5) - 957 / 2048, for t from 0 to 14.5, with an
  // error of 2^-31.0. Phi is the normal distribution function.
  static constexpr float normal_shift = 3.5f, normal_middle = 957.f / 2048;
  static constexpr float normal_terms[] = {0x1.90cba8p-1f, -0x1.377952p+0f, 0x1.5ac284p+0f,  -0x1.eccc62p-1f,
                                           0x1.ee7172p-3f, 0x1.f76254p-3f,  -0x1.7fe9e0p-3f, -0x1.65a5b8p-4f,
                                           0x1.b7be44p-4f, 0x1.d01040p-5f,  -0x1.a9d838p-5f, -0x1.5ee646p-5f};
  // 2 sqrt(2 / pi), and 0.044715 times that
  static constexpr float line = 0x1.988454p+0f, line_low = -0x1.857936p-25f;
  static constexpr float cube = 0x1.2444f2p-4f, cube_low = 0x1.49b16ap-29f;
};

template <> struct smooth_units<double> {
  static constexpr double silu_most = 753, gelu_most = 38.8, gelu_tanh_most = 22;
  // as above in t / (t + 4) - 441 / 1024, for t from 0 to 38.8, with an error of 2^-58.4
  static constexpr double normal_shift = 4, normal_middle = 441. / 1024;
  static constexpr double normal_terms[] = {
      0x1.b1f1cf59aba45p-1, -0x1.740ff2e7a1b65p+0, 0x1.e33507143e5ebp+0,   -0x1.c527927042fa2p+0,
      0x1.081584a4c376ep+0, -0x1.074134af922e6p-3, -0x1.43c1bef802b9ep-2,  0x1.5c0d0cb870acbp-3,
      0x1.a8d46f63131d9p-4, -0x1.951969ffc2339p-4, -0x1.a755c1b15510dp-5,  0x1.b65842e1f6a5ep-5,
      0x1.36fe2655fa031p-5, -0x1.a545a7a96fa7dp-6, -0x1.052f60d642fcap-5,  0x1.b5aafc2e0606cp-8,
      0x1.9bf983b05bb3ap-6, 0x1.a5e176fe8e6e3p-8,  -0x1.071f2f5576e01p-6,  -0x1.b067297238adbp-7,
      0x1.b4d0c3e02cb66p-8, 0x1.995cf30fb07fdp-7,  -0x1.f7a8abac8dff3p-11, -0x1.800e53b1cecdep-8};
  static constexpr double line = 0x1.9884533d43651p+0, line_low = -0x1.cbc0d30ebfd15p-54;
  static constexpr double cube = 0x1.2444f2a4d8b4bp-4, cube_low = -0x1.6c843a29d1c70p-61;
};

/// Returns x / (1 + part) for x >= 0 and x e^-|a| / (1 + part) below, where `power` is e^-|a|. Beyond `most` that is x,
/// or rounds to 0. As in sigmoid, the numerator makes up for the rounding error of the sum.
template <class T, std::size_t Bytes>
[[gnu::always_inline]] inline packet<T, Bytes> times_step(packet<T, Bytes> x, exponential<T, Bytes> const& power,
                                                          packet<T, Bytes> part, T most) {
  auto const below = x < 0;
  auto const t = abs(x), sum = 1 + part, lost = part - (sum - 1);
  auto const quotient = (t + t * select(below, power.rest - lost * (1 + power.rest), -lost)) / sum;
  auto const near = with_sign(select(below, power.scale(quotient), quotient), x);
  return select(x < -most, T(-0.0), select(x > most, x, near));
}

/// Returns a + b in two parts, whichever is larger (D. E. Knuth, The Art of Computer Programming, volume 2, section
/// 4.2.2).
template <class T, std::size_t Bytes>
[[gnu::always_inline]] inline twofold<T, Bytes> exact_sum(packet<T, Bytes> a, packet<T, Bytes> b) {
  auto const sum = a + b, added = sum - a;
  return {sum, (a - (sum - added)) + (b - added)};
}

/// 1 - Phi(t) = factor / (t + normal_shift) * e^(-t^2 / 2) for t >= 0.
template <class T, std::size_t Bytes> struct normal_tail {
  using two = twofold<T, Bytes>;
  two sum;                       ///< t + normal_shift
  packet<T, Bytes> inverse;      ///< 1 / sum.high
  packet<T, Bytes> ratio, less;  ///< t / sum in two parts
  two factor;
  exponential<T, Bytes> power;  ///< e^(-t^2 / 2)

  [[gnu::always_inline]] explicit normal_tail(packet<T, Bytes> t) {
    using known = smooth_units<T>;
    packet<T, Bytes> const shift = known::normal_shift;
    sum = two::sum(maximum(t, shift), minimum(t, shift));
    inverse = 1 / sum.high;
    ratio = t * inverse;
    less = lost(t, ratio);
    // The last two steps of the polynomial are in two parts, because their terms are as large as the result.
    auto const q = (ratio - known::normal_middle) + less;
    constexpr std::size_t further = std::size(known::normal_terms) - 2;
    auto const higher = q * polynomial<further>(q, &known::normal_terms[2]);
    auto const slope = exact_sum<T, Bytes>(known::normal_terms[1], higher);
    auto const rise = two::product(q, slope.high);
    factor = exact_sum<T, Bytes>(known::normal_terms[0], rise.high);
    factor.low = factor.low + (rise.low + q * slope.low);
    auto const square = two::product(t, t);
    power = exponential(square.high * T(-0.5), square.low * T(-0.5));
  }
  /// Returns x / sum - quotient for a quotient that was rounded.
  [[gnu::always_inline]] packet<T, Bytes> lost(packet<T, Bytes> x, packet<T, Bytes> quotient) const {
    auto const back = two::product(quotient, sum.high);
    return (((x - back.high) - back.low) - quotient * sum.low) * inverse;
  }
  /// Returns (by + more) * factor * e^(-t^2 / 2), where `more` is small.
  [[gnu::always_inline]] packet<T, Bytes> times(packet<T, Bytes> by, packet<T, Bytes> more) const {
    auto const part = two::product(by, factor.high);
    auto const rest = part.low + (more * factor.high + by * factor.low);
    return power.scale(part.high + (part.high * power.rest + rest));
  }
};

}  // namespace detail

/// Returns x / (1 + e^-x) within 2 units in the last place.
template <class T, std::size_t Bytes> [[gnu::always_inline]] inline packet<T, Bytes> silu(packet<T, Bytes> x) {
  constexpr T most = detail::smooth_units<T>::silu_most;
  detail::exponential const power(-minimum(abs(x), packet<T, Bytes>(most)));
  return detail::times_step(x, power, power.scale(1 + power.rest), most);
}

/// Returns Phi(x), the standard normal distribution function, within 3 units in the last place.
template <class T, std::size_t Bytes> [[gnu::always_inline]] inline packet<T, Bytes> normal_cdf(packet<T, Bytes> x) {
  detail::normal_tail const tail(minimum(abs(x), packet<T, Bytes>(detail::smooth_units<T>::gelu_most)));
  auto const below = tail.times(tail.inverse, tail.lost(1, tail.inverse));
  return select(x < 0, below, 1 - below);
}

/// Returns x Phi(x) within 2.4 units in the last place, as max(x, 0) - |x| Phi(-|x|).
template <class T, std::size_t Bytes> [[gnu::always_inline]] inline packet<T, Bytes> gelu(packet<T, Bytes> x) {
  auto const t = minimum(abs(x), packet<T, Bytes>(detail::smooth_units<T>::gelu_most));
  detail::normal_tail const tail(t);
  // The low parts of the smallest numbers would be subnormal.
  auto const below = select(t < T(0x1p-60), t * T(0.5), tail.times(tail.ratio, tail.less));
  return select(x < 0, -below, x - below);
}

/// Returns x / (1 + e^-a) within 2.2 units in the last place, for a = 2 sqrt(2 / pi) (x + 0.044715 x^3). This is x (1 +
/// tanh(a / 2)) / 2.
template <class T, std::size_t Bytes> [[gnu::always_inline]] inline packet<T, Bytes> gelu_tanh(packet<T, Bytes> x) {
  using known = detail::smooth_units<T>;
  using two = detail::twofold<T, Bytes>;
  auto const t = minimum(abs(x), packet<T, Bytes>(known::gelu_tanh_most));
  auto const curve = two::product(t, t) * two{known::cube, known::cube_low};
  auto const sum = detail::exact_sum<T, Bytes>(known::line, curve.high);
  auto const a = two::sum(sum.high, sum.low + (known::line_low + curve.low)) * two{t, 0};
  detail::exponential const power(-a.high, -a.low);
  return detail::times_step(x, power, power.scale(1 + power.rest), known::gelu_tanh_most);
}

/// Returns x tanh(log(1 + e^x)) within 2.4 units in the last place. With e = e^-|x| that is x / (1 + 2 e^2 / (1 + 2 e))
/// for x >= 0, and x e / (1 + e (1 + e) / (2 + e)) below.
template <class T, std::size_t Bytes> [[gnu::always_inline]] inline packet<T, Bytes> mish(packet<T, Bytes> x) {
  constexpr T most = detail::smooth_units<T>::silu_most;
  detail::exponential const power(-minimum(abs(x), packet<T, Bytes>(most)));
  auto const e = power.scale(1 + power.rest), twice = e + e;
  auto const below = x < 0;
  auto const part = e * select(below, 1 + e, twice) / select(below, 2 + e, 1 + twice);
  return detail::times_step(x, power, part, most);
}

}  // namespace rill
