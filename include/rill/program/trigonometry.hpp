// sin, cos, tan, atan2, asin, acos and atan of packets.
//
// The argument is reduced by a multiple of pi / 2: by the method of Cody and Waite, with pi / 2 as the sum of four
// numbers, and for large arguments lane by lane in integers, after M. H. Payne and R. N. Hanek, Radian reduction for
// trigonometric functions (SIGNUM Newsletter 18:1, 1983). The reduced argument is the sum of two numbers, so that
// results near 0 are as precise as others.
#pragma once
#include <array>
#include <cstdint>

#include "rill/program/elementary.hpp"

namespace rill {

namespace detail {

/// The constants of sin, cos, tan and atan2 for a type.
template <class T> struct circular;

template <> struct circular<float> {
  static constexpr float two_over_pi = 0x1.45f306p-1f;
  // pi / 2. The first three have 13 bits: their products with numbers up to 2^11 are exact.
  static constexpr float half_pi[] = {0x1.921p+0f, 0x1.f6ap-13f, 0x1.11p-26f, 0x1.68c234p-39f};
  static constexpr float most = 3200;
  // (sin(x) / x - 1) / x^2 in x^2 for x <= pi / 4, sin to 2^-28.0; (cos(x) - 1 + x^2 / 2) / x^4, cos to 2^-33.1
  static constexpr float sin_terms[] = {-0x1.555546p-3f, 0x1.110776p-7f, -0x1.995282p-13f};
  static constexpr float cos_terms[] = {0x1.55554ap-5f, -0x1.6c0c1ap-10f, 0x1.99e0f0p-16f};
  // (atan(x) / x - 1) / x^2 in x^2 for x <= tan(pi / 8), to 2^-30.5
  static constexpr float atan_terms[] = {-0x1.55554ap-2f, 0x1.9991e6p-3f, -0x1.23ba0ap-3f, 0x1.b22aeap-4f,
                                         -0x1.f30760p-5f};
  static constexpr float eighth = 0x1.a8279ap-2f;                                         // tan(pi / 8)
  static constexpr float quarter_pi = 0x1.921fb8p-1f, quarter_pi_low = -0x1.5dde98p-24f;  // the first has 22 bits
};

template <> struct circular<double> {
  static constexpr double two_over_pi = 0x1.45f306dc9c883p-1;
  // 33 bits, for numbers up to 2^20
  static constexpr double half_pi[] = {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2ep-69, 0x1.b839a252049c1p-104};
  static constexpr double most = 1.6e6;
  // to 2^-58.0 and 2^-64.1
  static constexpr double sin_terms[] = {-0x1.5555555555549p-3, 0x1.111111110f87dp-7,   -0x1.a01a019c0defap-13,
                                         0x1.71de357232cedp-19, -0x1.ae5e608d82665p-26, 0x1.5d910c21deba7p-33};
  static constexpr double cos_terms[] = {0x1.555555555554bp-5,   -0x1.6c16c16c15003p-10, 0x1.a01a019c8b2c5p-16,
                                         -0x1.27e4f7ed037fcp-22, 0x1.1ee9d7947806dp-29,  -0x1.8fa3c32afedefp-37};
  // to 2^-57.5
  static constexpr double atan_terms[] = {-0x1.555555555553dp-2, 0x1.999999999589bp-3,  -0x1.24924922af0cbp-3,
                                          0x1.c71c70e6c947bp-4,  -0x1.745cf8f1cd842p-4, 0x1.3b11198df5f31p-4,
                                          -0x1.10eba0194c007p-4, 0x1.df0b4ae8b1025p-5,  -0x1.9cb14cc1a5402p-5,
                                          0x1.3752e2b816a3ap-5,  -0x1.23de14daa6567p-6};
  static constexpr double eighth = 0x1.a827999fcef32p-2;
  static constexpr double quarter_pi = 0x1.921fb54442d18p-1, quarter_pi_low = 0x1.1a62633145c07p-55;  // 51 bits
};

/// The bits of 2 / pi, after 64 zeros.
inline constexpr std::array<std::uint64_t, 20> two_over_pi_bits = {0,
                                                                   0xa2f9836e4e441529,
                                                                   0xfc2757d1f534ddc0,
                                                                   0xdb6295993c439041,
                                                                   0xfe5163abdebbc561,
                                                                   0xb7246e3a424dd2e0,
                                                                   0x06492eea09d1921c,
                                                                   0xfe1deb1cb129a73e,
                                                                   0xe88235f52ebb4484,
                                                                   0xe99c7026b45f7e41,
                                                                   0x3991d639835339f4,
                                                                   0x9c845f8bbdf9283b,
                                                                   0x1ff897ffde05980f,
                                                                   0xef2f118b5a0a6d1f,
                                                                   0x6d367ecf27cb09b7,
                                                                   0x4f463f669e5fea2d,
                                                                   0x7527bac7ebe5f17b,
                                                                   0x3d0739f78a5292ea,
                                                                   0x6bfb5fb11f8d5d08,
                                                                   0x56033046fc7b6bab};

/// A finite angle of at least 2^11 as a number of quarter turns, modulo 4, and a remaining angle, `high + low`.
struct large_angle {
  double high, low;
  std::uint64_t quarters;

  [[gnu::always_inline]] explicit large_angle(double x) {
    __extension__ typedef unsigned __int128 wide;
    // x = m 2^e. Bits of 2 / pi whose product with x is a multiple of 4 are skipped, and the next 192 bits are used.
    auto const bits = std::bit_cast<std::uint64_t>(x);
    auto const m = (bits & 0xf'ffff'ffff'ffff) | 0x10'0000'0000'0000;
    auto const at =
        static_cast<unsigned>(bits >> 52) - 1075 + 62;  // the position of the bit worth 2 / 2^e, after the zeros
    auto const word = [at](unsigned i) {
      auto const* from = &two_over_pi_bits[at / 64 + i];
      return at % 64 == 0 ? *from : *from << at % 64 | from[1] >> (64 - at % 64);
    };
    wide const middle =
        static_cast<wide>(m) * word(1) + static_cast<std::uint64_t>(static_cast<wide>(m) * word(2) >> 64);
    wide const turns = (static_cast<wide>(m * word(0)) << 64) + middle;  // in units of 2^-126 quarters
    wide const fraction = turns << 2;
    auto const upper = static_cast<std::uint64_t>(fraction >> 64), lower = static_cast<std::uint64_t>(fraction);
    quarters = static_cast<std::uint64_t>(turns >> 126) + (upper >> 63);  // to the nearest
    // The fraction, from -1/2 to 1/2, in pieces that fit doubles.
    double const a = static_cast<double>(static_cast<std::int32_t>(upper >> 32)) * 0x1p-32,
                 b = static_cast<double>(static_cast<std::uint32_t>(upper)) * 0x1p-64,
                 c = static_cast<double>(static_cast<std::uint32_t>(lower >> 32)) * 0x1p-96,
                 d = static_cast<double>(static_cast<std::uint32_t>(lower)) * 0x1p-128;
    double const ab = a + b, f = ab + c, more = (b - (ab - a)) + ((c - (f - ab)) + d);
    // Times pi / 2, with the rounding error of the first product.
    constexpr double p = 0x1.921fb54442d18p+0, p1 = 0x1.921fb54p+0, p2 = p - p1, low_p = 0x1.1a62633145c07p-54;
    double const f1 = std::bit_cast<double>(std::bit_cast<std::uint64_t>(f) & ~std::uint64_t{0x7ff'ffff}), f2 = f - f1;
    double const product = f * p, lost = ((f1 * p1 - product) + f1 * p2 + f2 * p1) + f2 * p2;
    double const rest = lost + (f * low_p + more * p);
    high = product + rest;
    low = rest - (high - product);
  }
};

/// A nonnegative angle as a number of quarter turns and a remaining angle, from -pi / 4 to pi / 4.
template <class T, std::size_t Bytes> struct reduced_angle {
  using word = word_of<T>;
  packet<T, Bytes> high, low;
  packet<word, Bytes> quarters;

  [[gnu::always_inline]] explicit reduced_angle(packet<T, Bytes> x) {
    using known = circular<T>;
    auto const shifted = x * known::two_over_pi + rounder<T>;
    auto const n = shifted - rounder<T>;
    quarters = reinterpret<word>(shifted);
    auto const a = x - n * known::half_pi[0];  // exact, and so are the next two products
    auto const b = a - n * known::half_pi[1];
    auto const b_lost = lost(a, n * known::half_pi[1], b);
    auto const c = b - n * known::half_pi[2];
    auto const c_lost = lost(b, n * known::half_pi[2], c);
    auto const rest = (b_lost + c_lost) - n * known::half_pi[3];
    high = c + rest;
    low = rest - (high - c);
    if (auto const near = x <= known::most; !near.all()) reduce_others(x);
  }

  /// Return the sine and the cosine of the remaining angle.
  [[gnu::always_inline]] packet<T, Bytes> sine() const {
    auto const z = high * high;
    return high + (high * z * polynomial(z, circular<T>::sin_terms) + low * (1 - z * T(0.5)));
  }
  [[gnu::always_inline]] packet<T, Bytes> cosine() const {
    auto const z = high * high, half_square = z * T(0.5);
    auto const most = 1 - half_square;
    return most + (((1 - most) - half_square) + (z * z * polynomial(z, circular<T>::cos_terms) - high * low));
  }
  [[gnu::always_inline]] mask<T, Bytes> odd() const { return mask<T, Bytes>(((quarters & 1) == 1).raw); }

 private:
  /// Returns the rounding error of difference = a - b (D. E. Knuth's method, for operands of any size).
  [[gnu::always_inline]] static packet<T, Bytes> lost(packet<T, Bytes> a, packet<T, Bytes> b,
                                                      packet<T, Bytes> difference) {
    auto const b_seen = a - difference;
    return (a - (difference + b_seen)) - (b - b_seen);
  }

  [[gnu::always_inline]] void reduce_others(packet<T, Bytes> x) {
    constexpr std::size_t lanes = packet<T, Bytes>::lanes;
    T angles[lanes], highs[lanes], lows[lanes];
    word turns[lanes];
    x.store(angles), high.store(highs), low.store(lows), quarters.store(turns);
    for (std::size_t i = 0; i < lanes; ++i) {
      if (angles[i] <= circular<T>::most) continue;
      highs[i] = std::numeric_limits<T>::quiet_NaN();
      if (!(angles[i] < std::numeric_limits<T>::infinity())) continue;
      large_angle const large(static_cast<double>(angles[i]));
      highs[i] = static_cast<T>(large.high);
      lows[i] = static_cast<T>((large.high - static_cast<double>(highs[i])) + large.low);
      turns[i] = static_cast<word>(large.quarters);
    }
    high = packet<T, Bytes>::load(highs), low = packet<T, Bytes>::load(lows);
    quarters = packet<word, Bytes>::load(turns);
  }
};

/// Returns x with its sign flipped where bit `Place` of `bits` is set.
template <std::size_t Place, class T, std::size_t Bytes>
[[gnu::always_inline]] inline packet<T, Bytes> turned(packet<T, Bytes> x, packet<word_of<T>, Bytes> bits) {
  constexpr int by = static_cast<int>(8 * sizeof(T) - 1 - Place);
  return reinterpret<T>(reinterpret<word_of<T>>(x) ^ ((bits << by) & bits_of(T(-0.0))));
}

}  // namespace detail

/// Returns the sine within 1 unit in the last place, whatever the size of x.
template <class T, std::size_t Bytes> [[gnu::always_inline]] inline packet<T, Bytes> sin(packet<T, Bytes> x) {
  using word = detail::word_of<T>;
  detail::reduced_angle const angle(abs(x));
  auto const y = detail::turned<1>(select(angle.odd(), angle.cosine(), angle.sine()), angle.quarters);
  return detail::reinterpret<T>(detail::reinterpret<word>(y) ^
                                (detail::reinterpret<word>(x) & detail::bits_of(T(-0.0))));
}

/// Returns the cosine within 1 unit in the last place, whatever the size of x.
template <class T, std::size_t Bytes> [[gnu::always_inline]] inline packet<T, Bytes> cos(packet<T, Bytes> x) {
  detail::reduced_angle const angle(abs(x));
  return detail::turned<1>(select(angle.odd(), angle.sine(), angle.cosine()), angle.quarters + 1);
}

/// Returns the tangent within 2.4 units in the last place, whatever the size of x.
template <class T, std::size_t Bytes> [[gnu::always_inline]] inline packet<T, Bytes> tan(packet<T, Bytes> x) {
  using word = detail::word_of<T>;
  detail::reduced_angle const angle(abs(x));
  auto const s = angle.sine(), c = angle.cosine();
  auto const y = detail::turned<0>(select(angle.odd(), c, s) / select(angle.odd(), s, c), angle.quarters);
  return detail::reinterpret<T>(detail::reinterpret<word>(y) ^
                                (detail::reinterpret<word>(x) & detail::bits_of(T(-0.0))));
}

/// Returns the angle of the point (x, y), from -pi to pi, within 2.2 units in the last place. The angle of (0, 0) has
/// y's sign and is 0, or pi if x is -0.
template <class T, std::size_t Bytes>
[[gnu::always_inline]] inline packet<T, Bytes> atan2(packet<T, Bytes> y, std::type_identity_t<packet<T, Bytes>> x) {
  using known = detail::circular<T>;
  using limits = std::numeric_limits<T>;
  using lanes = packet<T, Bytes>;
  auto const a = abs(x), b = abs(y);
  auto const steep = b > a;
  auto const scale = select(maximum(a, b) > limits::max() / 4, T(0.25), lanes(1));  // so that no sum overflows
  auto const endless = (a == limits::infinity()) & (b == limits::infinity());
  auto const less = select(endless, 1, select(steep, a, b) * scale),
             more = select(endless, 1, select(steep, b, a) * scale);
  auto const beyond = less > more * known::eighth;
  auto const t = select(more == 0, 0, select(beyond, less - more, less) / select(beyond, less + more, more));
  auto const z = t * t;
  auto const p = t + t * z * detail::polynomial(z, known::atan_terms);
  // The angle is p plus a number of eighth turns, reflected for the other axis, then for the other side.
  auto const left = mask<T, Bytes>((detail::reinterpret<detail::signed_word<sizeof(T)>>(x) < 0).raw);
  lanes eighths = select(beyond, 1, lanes(0)), way = 1;
  eighths = select(steep, 2 - eighths, eighths), way = select(steep, -way, way);
  eighths = select(left, 4 - eighths, eighths), way = select(left, -way, way);
  auto const angle = eighths * known::quarter_pi + (way * p + eighths * known::quarter_pi_low);
  return select(x != x, x, select(y != y, y, detail::with_sign(angle, y)));
}
template <class N, class T, std::size_t Bytes>
  requires std::is_arithmetic_v<N>
[[gnu::always_inline]] inline packet<T, Bytes> atan2(N y, packet<T, Bytes> x) {
  return atan2(packet<T, Bytes>(y), x);
}

/// Returns the angle, from -pi / 2 to pi / 2, whose sine is x, within 3 units in the last place; NaN beyond 1 and -1.
template <class T, std::size_t Bytes> [[gnu::always_inline]] inline packet<T, Bytes> asin(packet<T, Bytes> x) {
  return atan2(x, sqrt((1 - x) * (1 + x)));
}

/// Returns the angle, from 0 to pi, whose cosine is x, within 3 units in the last place; NaN beyond 1 and -1.
template <class T, std::size_t Bytes> [[gnu::always_inline]] inline packet<T, Bytes> acos(packet<T, Bytes> x) {
  return atan2(sqrt((1 - x) * (1 + x)), x);
}

/// Returns the angle, from -pi / 2 to pi / 2, whose tangent is x, within 2.2 units in the last place.
template <class T, std::size_t Bytes> [[gnu::always_inline]] inline packet<T, Bytes> atan(packet<T, Bytes> x) {
  return atan2(x, 1);
}

}  // namespace rill
