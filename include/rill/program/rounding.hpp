// Packets in whole numbers: round, floor, ceil, trunc, and division with a whole quotient, floor_div and mod.
#pragma once
#include "rill/program/elementary.hpp"

namespace rill {

/// The nearest integer, ties to even.
template <class T, std::size_t Bytes>
  requires std::floating_point<T>
[[gnu::always_inline]] inline packet<T, Bytes> round(packet<T, Bytes> x) {
  constexpr T unit = T(detail::word_of<T>{1} << detail::elementary<T>::fraction);
  auto const a = abs(x);
  // From `unit` on there are no fractions; below, its sum with x has none.
  return select(a < unit, detail::with_sign((a + unit) - unit, x), x);
}

/// The largest integer that is not above x.
template <class T, std::size_t Bytes>
  requires std::floating_point<T>
[[gnu::always_inline]] inline packet<T, Bytes> floor(packet<T, Bytes> x) {
  auto const nearest = round(x);
  return select(nearest > x, nearest - 1, nearest);
}

/// The smallest integer that is not below x.
template <class T, std::size_t Bytes>
  requires std::floating_point<T>
[[gnu::always_inline]] inline packet<T, Bytes> ceil(packet<T, Bytes> x) {
  return -floor(-x);
}

/// The integer next to x on the way to 0.
template <class T, std::size_t Bytes>
  requires std::floating_point<T>
[[gnu::always_inline]] inline packet<T, Bytes> trunc(packet<T, Bytes> x) {
  return detail::with_sign(floor(abs(x)), x);
}

namespace detail {

/// a modulo b for a >= 0 and b > 0, both finite, exactly: b times the largest power of two that fits is taken away
/// until none does, which no difference rounds.
template <class T, std::size_t Bytes>
[[gnu::always_inline]] inline packet<T, Bytes> remainder(packet<T, Bytes> a, packet<T, Bytes> b) {
  using word = word_of<T>;
  constexpr word fraction_bits = (word{1} << elementary<T>::fraction) - 1;
  constexpr T up = T(word{1} << elementary<T>::fraction) * 4, least = std::numeric_limits<T>::min();
  // The bits of b's fraction, of what b is as a normal number.
  auto const fraction = reinterpret<word>(select(b < least, b * up, b)) & fraction_bits;
  for (auto more = a >= b; !(!more).all(); more = a >= b) {
    auto const small = a < least;
    auto const r = select(small, a * up, a);
    auto const scaled = reinterpret<T>((reinterpret<word>(r) & ~fraction_bits) | fraction);
    auto const left = r - select(scaled > r, scaled * T(0.5), scaled);
    a = select(more, select(small, left * (1 / up), left), a);
  }
  return a;
}

/// Quotient and rest of a division whose quotient is rounded down: x = quotient * y + rest, and the rest has y's sign.
/// Of a number by zero integers have 0 and 0, floats x / y and NaN.
template <class T, std::size_t Bytes> struct whole_division {
  packet<T, Bytes> quotient, rest;

  [[gnu::always_inline]] whole_division(packet<T, Bytes> x, packet<T, Bytes> y)
    requires std::integral<T>
      : quotient(x / y), rest(select(y == 0, 0, x - quotient * y)) {
    if constexpr (std::is_signed_v<T>) {
      auto const turned = (rest != 0) & ((rest < 0) != (y < 0));
      rest = select(turned, rest + y, rest);
      quotient = select(turned, quotient - 1, quotient);
    }
  }

  // As NumPy does it: where the rest is exact, the quotient is that of what the rest leaves, which is nearly whole.
  [[gnu::always_inline]] whole_division(packet<T, Bytes> x, packet<T, Bytes> y)
    requires std::floating_point<T>
  {
    constexpr T infinity = std::numeric_limits<T>::infinity();
    auto const size = abs(x), by = abs(y);
    auto const plain = (size < infinity) & (by < infinity) & (by > 0);
    auto const over_infinity = (size < infinity) & (by == infinity);
    auto const r = with_sign(remainder(select(plain, size, 0), select(plain, by, 1)), x);
    rest = select(plain, r, select(over_infinity, x, std::numeric_limits<T>::quiet_NaN()));
    auto const turned = (rest != 0) & ((rest < 0) != (y < 0));
    auto const exact = (x - rest) / y;
    auto const below = select(turned, exact - 1, exact);
    auto const whole = floor(below);
    auto const nearest = select(below - whole > T(0.5), whole + 1, whole);
    quotient = select(y == 0, x / y, select(nearest == 0, with_sign(packet<T, Bytes>(0), x / y), nearest));
    rest = select(turned, rest + y, select(rest == 0, with_sign(packet<T, Bytes>(0), y), rest));
  }
};

}  // namespace detail

/// The rest of x / y, where the quotient is rounded down: exact, and of y's sign. By zero it is NaN, of integers 0.
template <class T, std::size_t Bytes>
[[gnu::always_inline]] inline packet<T, Bytes> mod(packet<T, Bytes> x, std::type_identity_t<packet<T, Bytes>> y) {
  return detail::whole_division<T, Bytes>(x, y).rest;
}
/// x / y rounded down: of integers 0 where y is 0.
template <class T, std::size_t Bytes>
[[gnu::always_inline]] inline packet<T, Bytes> floor_div(packet<T, Bytes> x, std::type_identity_t<packet<T, Bytes>> y) {
  return detail::whole_division<T, Bytes>(x, y).quotient;
}
template <class N, class T, std::size_t Bytes>
  requires std::is_arithmetic_v<N>
[[gnu::always_inline]] inline packet<T, Bytes> mod(N x, packet<T, Bytes> y) {
  return mod(packet<T, Bytes>(x), y);
}
template <class N, class T, std::size_t Bytes>
  requires std::is_arithmetic_v<N>
[[gnu::always_inline]] inline packet<T, Bytes> floor_div(N x, packet<T, Bytes> y) {
  return floor_div(packet<T, Bytes>(x), y);
}

}  // namespace rill
