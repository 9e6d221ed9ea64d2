// exp, expm1, log, log1p, tanh, sigmoid and softplus of packets. They use only additions, multiplications, divisions
// and integer operations, in a fixed order: every processor and every lane gives the same bits, as long as the compiler
// does not contract a * b + c (-ffp-contract=off).
//
// Methods: reduction of the argument by a multiple of ln 2 in two parts, after W. J. Cody and W. Waite, Software Manual
// for the Elementary Functions (1980), chapters 6 and 13; the logarithm through s = f / (2 + f), as in fdlibm's
// e_log.c. The polynomials are minimax approximations by the Remez exchange; each states its error.
#pragma once
#include <bit>
#include <limits>

#include "rill/program/packet.hpp"

namespace rill {

namespace detail {

/// The constants of the elementary functions for a type.
template <class T> struct elementary;

template <> struct elementary<float> {
  static constexpr int fraction = 23;  // bits of fraction
  static constexpr int bias = 127;     // of the exponent
  static constexpr float log2_e = 0x1.715476p+0f;
  static constexpr float ln2_high = 0x1.62e4p-1f;  // 15 bits: its product with an exponent is exact
  static constexpr float ln2_low = 0x1.7f7d1cp-20f;
  static constexpr float sqrt_half = 0x1.6a09e6p-1f;
  static constexpr float exp_least = -104;  // below it exp is 0, above exp_most infinity
  static constexpr float exp_most = 89;
  // (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2; e^r to 2^-28.3
  static constexpr float exp_terms[] = {0x1.fffffcp-2f, 0x1.555492p-3f, 0x1.5558f2p-5f, 0x1.1239e2p-7f,
                                        0x1.6a2434p-10f};
  // (log((1 + s) / (1 - s)) / s - 2) / s^2 in s^2; the logarithm to 2^-30.2
  static constexpr float log_terms[] = {0x1.55557ap-1f, 0x1.995eccp-2f, 0x1.31e138p-2f};
  // (tanh(x) / x - 1) / x^2 in x^2 for x <= 0.625; tanh to 2^-27.8
  static constexpr float tanh_terms[] = {-0x1.555532p-2f, 0x1.110726p-3f, -0x1.b83c3ap-5f, 0x1.5225c2p-6f,
                                         -0x1.75ddd4p-8f};
};

template <> struct elementary<double> {
  static constexpr int fraction = 52;
  static constexpr int bias = 1023;
  static constexpr double log2_e = 0x1.71547652b82fep+0;
  static constexpr double ln2_high = 0x1.62e42fefa38p-1;  // 42 bits
  static constexpr double ln2_low = 0x1.ef35793c7673p-45;
  static constexpr double sqrt_half = 0x1.6a09e667f3bcdp-1;
  static constexpr double exp_least = -746;
  static constexpr double exp_most = 710;
  // as above, to 2^-57.9
  static constexpr double exp_terms[] = {0x1.000000000000ap-1,  0x1.55555555554fap-3,  0x1.555555555087cp-5,
                                         0x1.1111111127be8p-7,  0x1.6c16c1842a146p-10, 0x1.a01a012a56c0fp-13,
                                         0x1.a0199a0c6368fp-16, 0x1.71df255496407p-19, 0x1.28ad72ce28903p-22,
                                         0x1.ad7f6b01c89e1p-26};
  // to 2^-59.5
  static constexpr double log_terms[] = {0x1.5555555555592p-1, 0x1.999999997fea9p-2, 0x1.24924941e4985p-2,
                                         0x1.c71c5212f6e3fp-3, 0x1.74663d0d783b7p-3, 0x1.39a1e7d32e436p-3,
                                         0x1.2f03b7223eb8cp-3};
  // to 2^-56.4
  static constexpr double tanh_terms[] = {-0x1.55555555554ffp-2,  0x1.111111110acb6p-3,  -0x1.ba1ba1b5053a7p-5,
                                          0x1.664f477aaa380p-6,   -0x1.226e162704967p-7, 0x1.d6cf276face5ep-9,
                                          -0x1.7d689cd279e64p-10, 0x1.3365e94702a5fp-11, -0x1.df5429621d4d8p-13,
                                          0x1.438e24687077cp-14,  -0x1.0da14e1760847p-16};
};

template <class T> using word_of = unsigned_word<sizeof(T)>;

template <class T> inline constexpr word_of<T> bits_of(T value) { return std::bit_cast<word_of<T>>(value); }

/// 1.5 * 2^fraction: adding it rounds to an integer, which is then in the lowest bits.
template <class T> inline constexpr T rounder = static_cast<T>(word_of<T>{3} << (elementary<T>::fraction - 1));

/// Returns x^N for a power of two N.
template <std::size_t N, class P> [[gnu::always_inline]] inline P power(P x) {
  if constexpr (N == 1) return x;
  else return power<N / 2>(x * x);
}

/// Evaluates the polynomial with N coefficients, constant term first, by Estrin's scheme, which is half as deep as
/// Horner's. A last term that would need a power of its own joins the upper half: as deep, with one product less.
template <std::size_t N, class P> [[gnu::always_inline]] inline P polynomial(P x, typename P::element const* terms) {
  if constexpr (N == 1) return P(terms[0]);
  else {
    constexpr std::size_t most = std::bit_floor(N - 1), low = N == most + 1 && most > 2 ? most / 2 : most;
    return polynomial<low>(x, terms) + power<low>(x) * polynomial<N - low>(x, terms + low);
  }
}

template <class P, std::size_t N>
[[gnu::always_inline]] inline P polynomial(P x, typename P::element const (&terms)[N]) {
  return polynomial<N>(x, &terms[0]);
}

/// Returns `magnitude`, whose sign bit is clear, with the sign of `x`.
template <class T, std::size_t Bytes>
[[gnu::always_inline]] inline packet<T, Bytes> with_sign(packet<T, Bytes> magnitude, packet<T, Bytes> x) {
  using word = word_of<T>;
  return reinterpret<T>(reinterpret<word>(magnitude) | (reinterpret<word>(x) & bits_of(T(-0.0))));
}

/// e^x = (1 + rest) * 2^exponent, with 1 + rest between sqrt(1/2) and sqrt(2).
template <class T, std::size_t Bytes> struct exponential {
  packet<T, Bytes> rest;
  packet<word_of<T>, Bytes> exponent_bits;  ///< bits of rounder + exponent

  exponential() = default;
  [[gnu::always_inline]] explicit exponential(packet<T, Bytes> x) {
    using known = elementary<T>;
    auto const shifted = x * known::log2_e + rounder<T>;
    auto const n = shifted - rounder<T>;
    auto const r = (x - n * known::ln2_high) - n * known::ln2_low;  // the first difference is exact
    rest = r + r * r * polynomial(r, known::exp_terms);
    exponent_bits = reinterpret<word_of<T>>(shifted);
  }

  /// The same for x + `more`, where `more` is a small number, such as the rounding error of x. The rounding error of r
  /// is included, so that `rest` is within one unit in its last place.
  [[gnu::always_inline]] exponential(packet<T, Bytes> x, packet<T, Bytes> more) {
    using known = elementary<T>;
    auto const shifted = x * known::log2_e + rounder<T>;
    auto const n = shifted - rounder<T>;
    auto const high = x - n * known::ln2_high;  // exact
    auto const low = n * known::ln2_low - more;
    auto const r = high - low;
    rest = r + (r * r * polynomial(r, known::exp_terms) + ((high - r) - low));
    exponent_bits = reinterpret<word_of<T>>(shifted);
  }

  /// Returns fraction * 2^exponent, for exponents of normal numbers.
  [[gnu::always_inline]] packet<T, Bytes> scale_to_normal(packet<T, Bytes> fraction) const {
    return fraction * power_of_two(exponent_bits - (bits_of(rounder<T>) - elementary<T>::bias));
  }

  /// Returns fraction * 2^exponent, multiplied in two steps by half the exponent each, so that only the last product
  /// overflows or underflows.
  [[gnu::always_inline]] packet<T, Bytes> scale(packet<T, Bytes> fraction) const {
    auto const biased_twice = exponent_bits - (bits_of(rounder<T>) - 2 * elementary<T>::bias);
    auto const first = biased_twice >> 1;
    return fraction * power_of_two(first) * power_of_two(biased_twice - first);
  }

  /// Returns 2^-exponent, for exponents of normal numbers; 0 if it is negligible beside 1.
  [[gnu::always_inline]] packet<T, Bytes> inverse_power() const {
    constexpr auto zero_bits = bits_of(rounder<T>);
    auto const exponent = reinterpret<T>(exponent_bits) - rounder<T>;
    auto const inverse = power_of_two((zero_bits + elementary<T>::bias) - exponent_bits);
    return select(exponent > elementary<T>::fraction + 2, 0, inverse);
  }

 private:
  [[gnu::always_inline]] static packet<T, Bytes> power_of_two(packet<word_of<T>, Bytes> biased) {
    return reinterpret<T>(biased << elementary<T>::fraction);
  }
};

/// m * 2^exponent = x for positive finite x, with m between sqrt(1/2) and sqrt(2).
template <class T, std::size_t Bytes> struct binary_parts {
  packet<T, Bytes> m;
  packet<T, Bytes> exponent;

  [[gnu::always_inline]] explicit binary_parts(packet<T, Bytes> x) {
    using known = elementary<T>;
    using word = word_of<T>;
    constexpr T one_unit = T(word{1} << known::fraction);  // its lowest bit is worth 1
    constexpr word one = bits_of(T(1)), least = bits_of(known::sqrt_half);
    auto const subnormal = x < std::numeric_limits<T>::min();
    auto const shifted = reinterpret<word>(select(subnormal, x * one_unit, x)) + (one - least);
    m = reinterpret<T>((shifted & ((word{1} << known::fraction) - 1)) + least);
    auto const biased = reinterpret<T>((shifted >> known::fraction) | bits_of(one_unit));
    exponent = biased - select(subnormal, one_unit + known::bias + known::fraction, one_unit + known::bias);
  }
};

}  // namespace detail

/// Returns e^x within 1.1 units in the last place, subnormal results included.
template <class T, std::size_t Bytes> [[gnu::always_inline]] inline packet<T, Bytes> exp(packet<T, Bytes> x) {
  using known = detail::elementary<T>;
  detail::exponential const power(x);
  // Results outside of the range are computed, too, and replaced: clamping x first would delay every computation.
  auto const result = select(x > known::exp_most, std::numeric_limits<T>::infinity(), power.scale(1 + power.rest));
  return select(x < known::exp_least, 0, result);
}

namespace detail {
/// Returns log(1 + f) + exponent * log(2) + `more`, for 1 + f between sqrt(1/2) and sqrt(2). Its large terms are exact:
/// log(1 + f) = f - (f^2 / 2 - s (f^2 / 2 + R(s^2))).
template <class T, std::size_t Bytes>
[[gnu::always_inline]] inline packet<T, Bytes> logarithm(packet<T, Bytes> f, packet<T, Bytes> exponent,
                                                         packet<T, Bytes> more) {
  using known = elementary<T>;
  auto const s = f / (2 + f);
  auto const z = s * s;
  auto const half_square = f * f * T(0.5);
  auto const correction = s * (half_square + z * polynomial(z, known::log_terms));
  auto const rest = half_square - (correction + more);
  return exponent * known::ln2_high - (rest - f);
}
}  // namespace detail

/// Returns the natural logarithm within 0.9 units in the last place: -infinity for zeros, NaN for negative numbers.
template <class T, std::size_t Bytes> [[gnu::always_inline]] inline packet<T, Bytes> log(packet<T, Bytes> x) {
  using known = detail::elementary<T>;
  using limits = std::numeric_limits<T>;
  detail::binary_parts const parts(x);
  auto result = detail::logarithm(parts.m - 1, parts.exponent, parts.exponent * known::ln2_low);
  result = select(x >= 0, result, limits::quiet_NaN());
  result = select(x == limits::infinity(), x, result);
  return select(x == 0, -limits::infinity(), result);
}

/// Returns log(1 + x) within 1 unit in the last place, also near 0: -infinity for -1, NaN below.
template <class T, std::size_t Bytes> [[gnu::always_inline]] inline packet<T, Bytes> log1p(packet<T, Bytes> x) {
  using known = detail::elementary<T>;
  using limits = std::numeric_limits<T>;
  auto const u = 1 + x;
  // The rounding error of u: log(u + lost) is log(u) + lost / u.
  auto const lost = select(x > 1, 1 - (u - x), x - (u - 1));
  detail::binary_parts const parts(u);
  auto const near = parts.exponent == 0;
  auto const f = select(near, x, parts.m - 1);
  auto result = detail::logarithm(f, parts.exponent, parts.exponent * known::ln2_low + select(near, 0, lost / u));
  result = select(x >= -1, result, limits::quiet_NaN());
  result = select(x == limits::infinity(), x, result);
  result = select(x == -1, -limits::infinity(), result);
  return select(x == 0, x, result);
}

/// Returns e^x - 1 within 1.75 units in the last place, also near 0.
template <class T, std::size_t Bytes> [[gnu::always_inline]] inline packet<T, Bytes> expm1(packet<T, Bytes> x) {
  using known = detail::elementary<T>;
  constexpr T least = -48;  // below it e^x is negligible beside 1
  detail::exponential const power(select(x < least, least, x), packet<T, Bytes>(0));
  // (1 + rest) 2^n - 1 = (rest + (1 - 2^-n)) 2^n
  auto result = power.scale(power.rest + (1 - power.inverse_power()));
  result = select(x > known::exp_most, std::numeric_limits<T>::infinity(), result);
  return select(x == 0, x, result);
}

/// Returns the hyperbolic tangent within 1.4 units in the last place: a polynomial near 0, which preserves the relative
/// error, else 1 - 2 / (e^2x + 1).
template <class T, std::size_t Bytes> [[gnu::always_inline]] inline packet<T, Bytes> tanh(packet<T, Bytes> x) {
  auto const z = x * x;
  auto const small = x * (1 + z * detail::polynomial(z, detail::elementary<T>::tanh_terms));
  auto const near = z < T(0.625 * 0.625);
  if (near.all()) return small;
  auto const a = abs(x);
  detail::exponential const power(a + a);
  auto const large = 1 - 2 / (power.scale_to_normal(1 + power.rest) + 1);
  // From 22 on tanh rounds to 1 in either type, and e^44 is far from overflow.
  return select(near, small, detail::with_sign(select(a > 22, 1, large), x));
}

/// Returns 1 / (1 + e^-x) within 1.8 units in the last place, computed from e = e^-|x|, which cannot overflow: 1 / (1 +
/// e) or e / (1 + e).
template <class T, std::size_t Bytes> [[gnu::always_inline]] inline packet<T, Bytes> sigmoid(packet<T, Bytes> x) {
  using known = detail::elementary<T>;
  auto const least = -abs(x);
  detail::exponential const power(select(least < known::exp_least, known::exp_least, least));
  auto const fraction = 1 + power.rest;
  auto const e = power.scale(fraction);
  auto const sum = 1 + e;
  // The errors of e, of the sum and of the quotient would add up to more than two units. So the relative rounding error
  // of the sum is subtracted from the numerator before that is rounded.
  auto const lost = e - (sum - 1);
  auto const numerator = power.scale(1 + (power.rest - lost * fraction));
  return select(x < 0, numerator, 1) / sum;
}

/// Returns log(1 + e^x) within 1.7 units in the last place, computed as max(x, 0) + log(1 + e^-|x|), which cannot
/// overflow.
template <class T, std::size_t Bytes> [[gnu::always_inline]] inline packet<T, Bytes> softplus(packet<T, Bytes> x) {
  return maximum(x, packet<T, Bytes>(0)) + log1p(exp(-abs(x)));
}

}  // namespace rill
