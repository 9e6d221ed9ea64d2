// exp2, log2 and log10 of packets. Powers of two, and of ten, have the logarithms that they have on paper.
#pragma once
#include "rill/program/elementary.hpp"

namespace rill {

namespace detail {

/// The constants of logarithms to the bases 2 and 10 for a type.
template <class T> struct other_bases;

template <> struct other_bases<float> {
  static constexpr float ln2 = 0x1.62e430p-1f, log2_e = 0x1.715476p+0f, log2_e_low = 0x1.4ae0c0p-26f;
  static constexpr float log10_e = 0x1.bcb7b2p-2f;
  static constexpr float log10_2_high = 0x1.3440p-2f;  // its product with an exponent is exact
  static constexpr float log10_2_low = 0x1.3509f8p-18f;
};

template <> struct other_bases<double> {
  static constexpr double ln2 = 0x1.62e42fefa39efp-1, log2_e = 0x1.71547652b82fep+0, log2_e_low = 0x1.777d0ffda0d24p-56;
  static constexpr double log10_e = 0x1.bcb7b1526e50ep-2;
  static constexpr double log10_2_high = 0x1.34413509f78p-2;
  static constexpr double log10_2_low = 0x1.fef311f12b358p-46;
};

/// Returns `result` where x is a positive number, and elsewhere what every logarithm gives.
template <class T, std::size_t Bytes>
[[gnu::always_inline]] inline packet<T, Bytes> with_ends(packet<T, Bytes> result, packet<T, Bytes> x) {
  using limits = std::numeric_limits<T>;
  result = select(x >= 0, result, limits::quiet_NaN());
  result = select(x == limits::infinity(), x, result);
  return select(x == 0, -limits::infinity(), result);
}

}  // namespace detail

/// Returns 2^x within 1.1 units in the last place, subnormal results included.
template <class T, std::size_t Bytes> [[gnu::always_inline]] inline packet<T, Bytes> exp2(packet<T, Bytes> x) {
  using known = detail::elementary<T>;
  constexpr T most = known::bias + 1, least = -(known::bias + known::fraction + 2);
  auto const shifted = x + detail::rounder<T>;
  auto const r = (x - (shifted - detail::rounder<T>)) * detail::other_bases<T>::ln2;
  detail::exponential<T, Bytes> power;
  power.rest = r + r * r * detail::polynomial(r, known::exp_terms);
  power.exponent_bits = detail::reinterpret<detail::word_of<T>>(shifted);
  auto const result = select(x >= most, std::numeric_limits<T>::infinity(), power.scale(1 + power.rest));
  return select(x < least, 0, result);
}

/// Returns the logarithm to the base 2 within 2 units in the last place; exact for powers of two.
template <class T, std::size_t Bytes> [[gnu::always_inline]] inline packet<T, Bytes> log2(packet<T, Bytes> x) {
  using known = detail::other_bases<T>;
  detail::binary_parts const parts(x);
  packet<T, Bytes> const none = 0;
  auto const fraction = detail::logarithm(parts.m - 1, none, none);
  return detail::with_ends(parts.exponent + (fraction * known::log2_e + fraction * known::log2_e_low), x);
}

/// Returns the logarithm to the base 10 within 2 units in the last place.
template <class T, std::size_t Bytes> [[gnu::always_inline]] inline packet<T, Bytes> log10(packet<T, Bytes> x) {
  using known = detail::other_bases<T>;
  detail::binary_parts const parts(x);
  packet<T, Bytes> const none = 0;
  auto const fraction = detail::logarithm(parts.m - 1, none, none);
  auto const low = parts.exponent * known::log10_2_low + fraction * known::log10_e;
  return detail::with_ends(parts.exponent * known::log10_2_high + low, x);
}

}  // namespace rill
