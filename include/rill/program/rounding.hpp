// Rounding of packets to integers: round, floor, ceil and trunc; and division with an integer quotient: floor_div and
// mod.
#pragma once
#include "rill/program/elementary.hpp"

namespace rill {

/// Returns the nearest integer, ties to even.
template <class T, std::size_t Bytes>
  requires std::floating_point<T>
[[gnu::always_inline]] inline packet<T, Bytes> round(packet<T, Bytes> x) {
  constexpr T unit = T(detail::word_of<T>{1} << detail::elementary<T>::fraction);
  auto const a = abs(x);
  // Numbers from `unit` on are integers; below, the sum with `unit` is one.
  return select(a < unit, detail::with_sign((a + unit) - unit, x), x);
}

/// Returns the largest integer that is not above x.
template <class T, std::size_t Bytes>
  requires std::floating_point<T>
[[gnu::always_inline]] inline packet<T, Bytes> floor(packet<T, Bytes> x) {
  auto const nearest = round(x);
  return select(nearest > x, nearest - 1, nearest);
}

/// Returns the smallest integer that is not below x.
template <class T, std::size_t Bytes>
  requires std::floating_point<T>
[[gnu::always_inline]] inline packet<T, Bytes> ceil(packet<T, Bytes> x) {
  return -floor(-x);
}

/// Returns x without its fraction, that is, rounded toward 0.
template <class T, std::size_t Bytes>
  requires std::floating_point<T>
[[gnu::always_inline]] inline packet<T, Bytes> trunc(packet<T, Bytes> x) {
  return detail::with_sign(floor(abs(x)), x);
}

namespace detail {

/// Returns a modulo b, exactly, for finite a >= 0 and b > 0: subtracts b times the largest power of two that fits until
/// none does; no difference is rounded.
template <class T, std::size_t Bytes>
[[gnu::always_inline]] inline packet<T, Bytes> remainder(packet<T, Bytes> a, packet<T, Bytes> b) {
  using word = word_of<T>;
  constexpr word fraction_bits = (word{1} << elementary<T>::fraction) - 1;
  constexpr T up = T(word{1} << elementary<T>::fraction) * 4, least = std::numeric_limits<T>::min();
  // The fraction bits of b, scaled to a normal number.
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

/// Quotient and remainder of a division with the quotient rounded down: x = quotient * y + rest, where the remainder
/// has y's sign. Division by zero gives 0 and 0 for integers, x / y and NaN for floats.
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

  // As NumPy does it: the remainder is exact, and the quotient is (x - rest) / y, which is nearly an integer, rounded
  // to one.
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

/// Returns the remainder of x / y with the quotient rounded down: exact, with y's sign. Division by zero gives NaN, or
/// 0 for integers.
template <class T, std::size_t Bytes>
[[gnu::always_inline]] inline packet<T, Bytes> mod(packet<T, Bytes> x, std::type_identity_t<packet<T, Bytes>> y) {
  return detail::whole_division<T, Bytes>(x, y).rest;
}
/// Returns x / y rounded down; for integers 0 if y is 0.
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
