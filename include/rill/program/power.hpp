// x to the power of y, of packets.
//
// e^(y log x), where the logarithm and its product with y are sums of two numbers, because y would multiply the
// rounding error of the larger one. Products are split by the method of T. J. Dekker (A floating-point technique for
// extending the available precision, Numerische Mathematik 18, 1971): a fused multiply-add would give other bits.
#pragma once
#include "rill/program/rounding.hpp"

namespace rill {

namespace detail {

/// (log((1 + s) / (1 - s)) / s - 2 - 2/3 s^2) / s^4 in s^2.
template <class T> struct power_terms;
template <> struct power_terms<float> {
  static constexpr float terms[] = {0x1.999a00p-2f, 0x1.24527ap-2f, 0x1.dfa306p-3f};  // the logarithm to 2^-36.8
  static constexpr float two_thirds = 0x1.555556p-1f, more = -0x1.555556p-26f;
};
template <> struct power_terms<double> {
  static constexpr double terms[] = {0x1.9999999999996p-2, 0x1.2492492492f56p-2, 0x1.c71c71c59594fp-3,
                                     0x1.745d1829efbf2p-3, 0x1.3b136499ef15fp-3, 0x1.11207705d16d6p-3,
                                     0x1.de3c1d5fb5e41p-4, 0x1.ead131f211375p-4};  // to 2^-72.3
  static constexpr double two_thirds = 0x1.5555555555555p-1, more = 0x1.5555555555555p-55;
};

/// A number as the sum of two, the second of which is at most half a unit in the last place of the first.
template <class T, std::size_t Bytes> struct twofold {
  using part = packet<T, Bytes>;
  part high, low;

  /// Returns a + b, where |a| >= |b|, or a is 0.
  [[gnu::always_inline]] static twofold sum(part a, part b) {
    part const s = a + b;
    return {s, b - (s - a)};
  }
  [[gnu::always_inline]] static twofold product(part a, part b) {
    part const p = a * b, a1 = upper(a), a2 = a - a1, b1 = upper(b), b2 = b - b1;
    return {p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2};
  }
  [[gnu::always_inline]] friend twofold operator*(twofold a, twofold b) {
    twofold const p = product(a.high, b.high);
    return sum(p.high, p.low + (a.high * b.low + a.low * b.high));
  }

 private:
  /// Returns the number with the lower half of its fraction cleared.
  [[gnu::always_inline]] static part upper(part a) {
    constexpr auto lower_bits = (word_of<T>{1} << ((elementary<T>::fraction + 2) / 2)) - 1;
    return reinterpret<T>(reinterpret<word_of<T>>(a) & ~lower_bits);
  }
};

/// Returns log(x) for finite x > 0, with about 12 bits more than x has.
template <class T, std::size_t Bytes> [[gnu::always_inline]] inline twofold<T, Bytes> precise_log(packet<T, Bytes> x) {
  using known = elementary<T>;
  using two = twofold<T, Bytes>;
  using terms = power_terms<T>;
  binary_parts const parts(x);
  auto const f = parts.m - 1;
  // s = f / (2 + f), where both operands are exact
  auto const by = two::sum(packet<T, Bytes>(2), f);
  auto const first = f / by.high;
  auto const back = two::product(first, by.high);
  two const s{first, (((f - back.high) - back.low) - first * by.low) / by.high};
  // 2 s + 2/3 s^3 + s^5 R(s^2) + exponent * log(2)
  two const square = s * s;
  two const cube = s * (square * two{terms::two_thirds, terms::more});
  auto const rest = s.high * square.high * square.high * polynomial(square.high, terms::terms);
  auto const a = two::sum(parts.exponent * known::ln2_high, s.high + s.high);
  auto const b = two::sum(a.high, cube.high);
  return two::sum(b.high, a.low + b.low + (s.low + s.low + cube.low + parts.exponent * known::ln2_low + rest));
}

template <class T, std::size_t Bytes>
  requires std::floating_point<T>
[[gnu::always_inline]] inline packet<T, Bytes> power_of(packet<T, Bytes> x, packet<T, Bytes> y) {
  using known = elementary<T>;
  using limits = std::numeric_limits<T>;
  auto const square = y == 2;
  if (square.all()) return x * x;
  auto const a = abs(x);
  auto const plain = (a > 0) & (a < limits::infinity());
  auto const logarithm = precise_log(select(plain, a, 1));
  auto const product = twofold<T, Bytes>::product(y, logarithm.high);
  exponential<T, Bytes> const e(product.high, product.low + y * logarithm.low);
  auto size = e.scale(1 + e.rest);
  size = select(product.high > known::exp_most, limits::infinity(), size);
  size = select(product.high < known::exp_least, 0, size);
  auto const at_end = select((a == 0) == (y > 0), 0, limits::infinity());  // of 0 or infinity
  size = select(plain, select(a == 1, 1, size), at_end);
  size = select((x != x) | (y != y), limits::quiet_NaN(), size);
  auto const whole = round(y) == y, odd = whole & (round(y * T(0.5)) != y * T(0.5)) & (abs(y) < limits::infinity());
  auto const below = reinterpret<signed_word<sizeof(T)>>(x) < 0;  // -0 as well
  auto const negative = mask<T, Bytes>(below.raw);
  size = select(negative & odd, -size, select(negative & plain & ~whole, limits::quiet_NaN(), size));
  size = select((y == 0) | (x == 1), 1, size);
  return select(square, x * x, select(y == 1, x, size));
}

/// Integer powers wrap around; a negative power is 1 / x^-y rounded toward 0, and 0 if x is 0.
template <class T, std::size_t Bytes>
  requires std::integral<T>
[[gnu::always_inline]] inline packet<T, Bytes> power_of(packet<T, Bytes> x, packet<T, Bytes> y) {
  packet<T, Bytes> result(1), base = x, left = y;
  if constexpr (std::is_signed_v<T>) left = select(y < 0, 0, y);
  while (!(left == 0).all()) {
    result = select((left & 1) == 1, result * base, result);
    base = base * base;
    left = left >> 1;
  }
  if constexpr (std::is_signed_v<T>) {
    packet<T, Bytes> const turned = select((y & 1) == 1, -1, packet<T, Bytes>(1));
    return select(y < 0, select(x == 1, 1, select(x == -1, turned, 0)), result);
  } else return result;
}

}  // namespace detail

/// Returns x^y within 1 unit in the last place; x * x if y is 2. A negative x has only powers by integers; 0 and NaN to
/// the power of 0 are 1. Integers wrap around, and their negative powers round toward 0.
template <class T, std::size_t Bytes>
[[gnu::always_inline]] inline packet<T, Bytes> pow(packet<T, Bytes> x, std::type_identity_t<packet<T, Bytes>> y) {
  return detail::power_of(x, y);
}
template <class N, class T, std::size_t Bytes>
  requires std::is_arithmetic_v<N>
[[gnu::always_inline]] inline packet<T, Bytes> pow(N x, packet<T, Bytes> y) {
  return detail::power_of(packet<T, Bytes>(x), y);
}

}  // namespace rill
