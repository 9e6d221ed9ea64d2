// A number with a packet's interface, for types that have no packets.
#pragma once
#include "rill/program/complex.hpp"
#include "rill/program/error_function.hpp"
#include "rill/program/hyperbolic.hpp"
#include "rill/program/other_bases.hpp"
#include "rill/program/smooth_units.hpp"
#include "rill/program/trigonometry.hpp"
#include "rill/type/half.hpp"

namespace rill {

namespace detail {

/// Converts between a scalar<T> and the type in which it is computed. Real numbers take one lane of a packet, so that a
/// function has one body and gives the same bits.
template <class T> struct carrier;

template <packable T> struct carrier<T> {
  [[gnu::always_inline]] static packet<T, 16> widen(T value) { return value; }
  [[gnu::always_inline]] static T narrow(packet<T, 16> value) { return value[0]; }
};

/// A type in which numbers are stored, while they are computed in float.
template <class T>
concept stored_narrow = std::same_as<T, half> || std::same_as<T, bfloat16>;

template <stored_narrow T> struct carrier<T> {
  [[gnu::always_inline]] static packet<float, 16> widen(T value) { return static_cast<float>(value); }
  [[gnu::always_inline]] static T narrow(packet<float, 16> value) { return T(value[0]); }
};

template <class Real> struct carrier<std::complex<Real>> {
  [[gnu::always_inline]] static complex_number<Real> widen(std::complex<Real> value) { return {value}; }
  [[gnu::always_inline]] static std::complex<Real> narrow(complex_number<Real> value) { return value.value; }
};

template <class T> inline constexpr bool is_complex = false;
template <class Real> inline constexpr bool is_complex<std::complex<Real>> = true;

/// A type with an order, for minimum, maximum, abs and <.
template <class T>
concept ordered = !std::same_as<T, bool> && !is_complex<T>;

/// A type with fractions, for exp, log and the like.
template <class T>
concept fractional = !std::is_integral_v<T>;

/// A type with fractions and an order, for floor and round.
template <class T>
concept real = ordered<T> && fractional<T>;

template <class T, class U> [[gnu::always_inline]] inline T number_as(U value) {
  if constexpr (is_complex<T>) return T(static_cast<typename T::value_type>(value));
  else return static_cast<T>(value);
}

template <class T, std::size_t Bytes> [[gnu::always_inline]] inline bool truth_of(mask<T, Bytes> value) {
  return value[0];
}
[[gnu::always_inline]] inline bool truth_of(bool value) { return value; }

}  // namespace detail

template <class T> struct scalar;

/// The result of comparing two `scalar<T>`.
template <class T> struct scalar_mask {
  using element = bool;
  static constexpr std::size_t lanes = 1;

  bool value;

  scalar_mask() = default;
  [[gnu::always_inline]] scalar_mask(bool v) : value(v) {}

  [[gnu::always_inline]] bool operator[](std::size_t) const { return value; }

  [[gnu::always_inline]] static scalar_mask load(bool const* from) { return *from; }
  [[gnu::always_inline]] static scalar_mask load(bool const* from, std::size_t count) { return count != 0 && *from; }
  [[gnu::always_inline]] void store(bool* to) const { *to = value; }
  [[gnu::always_inline]] void store(bool* to, std::size_t count) const {
    if (count != 0) *to = value;
  }

  [[gnu::always_inline]] friend scalar_mask operator&(scalar_mask a, scalar_mask b) { return a.value && b.value; }
  [[gnu::always_inline]] friend scalar_mask operator|(scalar_mask a, scalar_mask b) { return a.value || b.value; }
  [[gnu::always_inline]] friend scalar_mask operator^(scalar_mask a, scalar_mask b) { return a.value != b.value; }
  [[gnu::always_inline]] friend scalar_mask operator~(scalar_mask a) { return !a.value; }
  [[gnu::always_inline]] friend scalar_mask operator!(scalar_mask a) { return !a.value; }
  [[gnu::always_inline]] friend scalar_mask operator==(scalar_mask a, scalar_mask b) { return a.value == b.value; }
  [[gnu::always_inline]] friend scalar_mask operator!=(scalar_mask a, scalar_mask b) { return a.value != b.value; }

  [[gnu::always_inline]] friend scalar_mask logical_and(scalar_mask a, scalar_mask b) { return a & b; }
  [[gnu::always_inline]] friend scalar_mask logical_or(scalar_mask a, scalar_mask b) { return a | b; }
  [[gnu::always_inline]] friend scalar_mask logical_xor(scalar_mask a, scalar_mask b) { return a ^ b; }
  [[gnu::always_inline]] friend scalar_mask logical_not(scalar_mask a) { return ~a; }

  /// Returns `a` if `chosen`, else `b`.
  [[gnu::always_inline]] friend scalar<T> select(scalar_mask chosen, scalar<T> a, scalar<T> b) {
    return chosen.value ? a : b;
  }
};

/// One number of type T: bool, half, bfloat16, std::complex, or a type that packets hold. half and bfloat16 compute
/// each operation in float and round its result.
template <class T> struct scalar {
  using element = T;
  using truth = scalar_mask<T>;
  static constexpr std::size_t lanes = 1;

  T value;

  scalar() = default;
  [[gnu::always_inline]] scalar(T v) : value(v) {}
  /// `v` converted to T.
  template <class U>
    requires std::is_arithmetic_v<U>
  [[gnu::always_inline]] scalar(U v) : value(detail::number_as<T>(v)) {}
  /// Converts the result of a comparison to a number of type bool.
  template <class U>
    requires std::same_as<T, bool>
  [[gnu::always_inline]] scalar(scalar_mask<U> v) : value(v.value) {}

  [[gnu::always_inline]] T operator[](std::size_t) const { return value; }

  /// Returns a half or bfloat16 as a float, for functions of several operations, which round once.
  [[gnu::always_inline]] scalar<float> widened() const
    requires detail::stored_narrow<T>
  {
    return static_cast<float>(value);
  }
  /// Returns what was computed from `widened()`: a number rounded to T, or a truth.
  [[gnu::always_inline]] static scalar rounded(scalar<float> y)
    requires detail::stored_narrow<T>
  {
    return T(y.value);
  }
  [[gnu::always_inline]] static truth rounded(scalar_mask<float> y)
    requires detail::stored_narrow<T>
  {
    return y.value;
  }

  [[gnu::always_inline]] static scalar load(T const* from) { return *from; }
  /// Returns zero if `count` is 0.
  [[gnu::always_inline]] static scalar load(T const* from, std::size_t count) { return count != 0 ? *from : T(0); }
  [[gnu::always_inline]] void store(T* to) const { *to = value; }
  [[gnu::always_inline]] void store(T* to, std::size_t count) const {
    if (count != 0) *to = value;
  }

  // clang-format off
  [[gnu::always_inline]] friend scalar operator+(scalar a, scalar b) requires(!std::same_as<T, bool>) { return narrow(wide(a) + wide(b)); }
  [[gnu::always_inline]] friend scalar operator-(scalar a, scalar b) requires(!std::same_as<T, bool>) { return narrow(wide(a) - wide(b)); }
  [[gnu::always_inline]] friend scalar operator*(scalar a, scalar b) requires(!std::same_as<T, bool>) { return narrow(wide(a) * wide(b)); }
  [[gnu::always_inline]] friend scalar operator/(scalar a, scalar b) requires(!std::same_as<T, bool>) { return narrow(wide(a) / wide(b)); }
  [[gnu::always_inline]] friend scalar operator-(scalar a) requires(!std::same_as<T, bool>) { return narrow(-wide(a)); }

  [[gnu::always_inline]] friend scalar operator&(scalar a, scalar b) requires std::integral<T> { return static_cast<T>(a.value & b.value); }
  [[gnu::always_inline]] friend scalar operator|(scalar a, scalar b) requires std::integral<T> { return static_cast<T>(a.value | b.value); }
  [[gnu::always_inline]] friend scalar operator^(scalar a, scalar b) requires std::integral<T> { return static_cast<T>(a.value ^ b.value); }
  [[gnu::always_inline]] friend scalar operator~(scalar a) requires std::same_as<T, bool> { return !a.value; }
  [[gnu::always_inline]] friend scalar operator!(scalar a) requires std::same_as<T, bool> { return !a.value; }
  [[gnu::always_inline]] friend scalar operator~(scalar a) requires packable<T> && std::integral<T> { return narrow(~wide(a)); }
  [[gnu::always_inline]] friend scalar operator<<(scalar a, int by) requires packable<T> && std::integral<T> { return narrow(wide(a) << by); }
  [[gnu::always_inline]] friend scalar operator>>(scalar a, int by) requires packable<T> && std::integral<T> { return narrow(wide(a) >> by); }

  [[gnu::always_inline]] friend truth operator<(scalar a, scalar b) requires detail::ordered<T> { return detail::truth_of(wide(a) < wide(b)); }
  [[gnu::always_inline]] friend truth operator<=(scalar a, scalar b) requires detail::ordered<T> { return detail::truth_of(wide(a) <= wide(b)); }
  [[gnu::always_inline]] friend truth operator>(scalar a, scalar b) requires detail::ordered<T> { return detail::truth_of(wide(a) > wide(b)); }
  [[gnu::always_inline]] friend truth operator>=(scalar a, scalar b) requires detail::ordered<T> { return detail::truth_of(wide(a) >= wide(b)); }
  // clang-format on
  [[gnu::always_inline]] friend truth operator==(scalar a, scalar b) {
    if constexpr (std::same_as<T, bool>) return a.value == b.value;
    else return detail::truth_of(wide(a) == wide(b));
  }
  [[gnu::always_inline]] friend truth operator!=(scalar a, scalar b) { return !(a == b); }

  // clang-format off
  [[gnu::always_inline]] friend truth equal(scalar a, scalar b) { return a == b; }
  [[gnu::always_inline]] friend truth not_equal(scalar a, scalar b) { return a != b; }
  [[gnu::always_inline]] friend truth less(scalar a, scalar b) requires detail::ordered<T> { return a < b; }
  [[gnu::always_inline]] friend truth less_equal(scalar a, scalar b) requires detail::ordered<T> { return a <= b; }
  [[gnu::always_inline]] friend truth greater(scalar a, scalar b) requires detail::ordered<T> { return a > b; }
  [[gnu::always_inline]] friend truth greater_equal(scalar a, scalar b) requires detail::ordered<T> { return a >= b; }
  [[gnu::always_inline]] friend truth is_nan(scalar a) requires detail::real<T> { return detail::truth_of(is_nan(wide(a))); }
  [[gnu::always_inline]] friend truth is_inf(scalar a) requires detail::real<T> { return detail::truth_of(is_inf(wide(a))); }
  [[gnu::always_inline]] friend truth is_finite(scalar a) requires detail::real<T> { return detail::truth_of(is_finite(wide(a))); }
  // clang-format on

  [[gnu::always_inline]] scalar& operator+=(scalar b) { return *this = *this + b; }
  [[gnu::always_inline]] scalar& operator-=(scalar b) { return *this = *this - b; }
  [[gnu::always_inline]] scalar& operator*=(scalar b) { return *this = *this * b; }
  [[gnu::always_inline]] scalar& operator/=(scalar b) { return *this = *this / b; }

  // The functions of packets, with the same meanings.
  [[gnu::always_inline]] friend scalar maximum(scalar a, scalar b)
    requires detail::ordered<T>
  {
    return narrow(maximum(wide(a), wide(b)));
  }
  [[gnu::always_inline]] friend scalar minimum(scalar a, scalar b)
    requires detail::ordered<T>
  {
    return narrow(minimum(wide(a), wide(b)));
  }
  [[gnu::always_inline]] friend scalar abs(scalar a)
    requires detail::ordered<T>
  {
    return narrow(abs(wide(a)));
  }
  [[gnu::always_inline]] friend scalar sign(scalar a)
    requires detail::ordered<T>
  {
    return narrow(sign(wide(a)));
  }
  [[gnu::always_inline]] friend scalar floor(scalar a)
    requires detail::real<T>
  {
    return narrow(floor(wide(a)));
  }
  [[gnu::always_inline]] friend scalar round(scalar a)
    requires detail::real<T>
  {
    return narrow(round(wide(a)));
  }
  [[gnu::always_inline]] friend scalar sqrt(scalar a)
    requires detail::fractional<T>
  {
    return narrow(sqrt(wide(a)));
  }
  [[gnu::always_inline]] friend scalar exp(scalar a)
    requires detail::fractional<T>
  {
    return narrow(exp(wide(a)));
  }
  [[gnu::always_inline]] friend scalar log(scalar a)
    requires detail::fractional<T>
  {
    return narrow(log(wide(a)));
  }
  [[gnu::always_inline]] friend scalar tanh(scalar a)
    requires detail::fractional<T>
  {
    return narrow(tanh(wide(a)));
  }
  [[gnu::always_inline]] friend scalar sigmoid(scalar a)
    requires detail::fractional<T>
  {
    return narrow(sigmoid(wide(a)));
  }
  [[gnu::always_inline]] friend scalar ceil(scalar a)
    requires detail::real<T>
  {
    return narrow(ceil(wide(a)));
  }
  [[gnu::always_inline]] friend scalar trunc(scalar a)
    requires detail::real<T>
  {
    return narrow(trunc(wide(a)));
  }
  [[gnu::always_inline]] friend scalar expm1(scalar a)
    requires detail::real<T>
  {
    return narrow(expm1(wide(a)));
  }
  [[gnu::always_inline]] friend scalar log1p(scalar a)
    requires detail::real<T>
  {
    return narrow(log1p(wide(a)));
  }
  [[gnu::always_inline]] friend scalar softplus(scalar a)
    requires detail::real<T>
  {
    return narrow(softplus(wide(a)));
  }
  [[gnu::always_inline]] friend scalar erf(scalar a)
    requires detail::real<T>
  {
    return narrow(erf(wide(a)));
  }
  [[gnu::always_inline]] friend scalar silu(scalar a)
    requires detail::fractional<T>
  {
    return narrow(silu(wide(a)));
  }
  [[gnu::always_inline]] friend scalar gelu(scalar a)
    requires detail::real<T>
  {
    return narrow(gelu(wide(a)));
  }
  [[gnu::always_inline]] friend scalar gelu_tanh(scalar a)
    requires detail::fractional<T>
  {
    return narrow(gelu_tanh(wide(a)));
  }
  [[gnu::always_inline]] friend scalar mish(scalar a)
    requires detail::real<T>
  {
    return narrow(mish(wide(a)));
  }
  [[gnu::always_inline]] friend scalar normal_cdf(scalar a)
    requires detail::real<T>
  {
    return narrow(normal_cdf(wide(a)));
  }
  [[gnu::always_inline]] friend scalar sin(scalar a)
    requires detail::real<T>
  {
    return narrow(sin(wide(a)));
  }
  [[gnu::always_inline]] friend scalar cos(scalar a)
    requires detail::real<T>
  {
    return narrow(cos(wide(a)));
  }
  [[gnu::always_inline]] friend scalar tan(scalar a)
    requires detail::real<T>
  {
    return narrow(tan(wide(a)));
  }
  [[gnu::always_inline]] friend scalar asin(scalar a)
    requires detail::real<T>
  {
    return narrow(asin(wide(a)));
  }
  [[gnu::always_inline]] friend scalar acos(scalar a)
    requires detail::real<T>
  {
    return narrow(acos(wide(a)));
  }
  [[gnu::always_inline]] friend scalar atan(scalar a)
    requires detail::real<T>
  {
    return narrow(atan(wide(a)));
  }
  [[gnu::always_inline]] friend scalar sinh(scalar a)
    requires detail::real<T>
  {
    return narrow(sinh(wide(a)));
  }
  [[gnu::always_inline]] friend scalar cosh(scalar a)
    requires detail::real<T>
  {
    return narrow(cosh(wide(a)));
  }
  [[gnu::always_inline]] friend scalar asinh(scalar a)
    requires detail::real<T>
  {
    return narrow(asinh(wide(a)));
  }
  [[gnu::always_inline]] friend scalar acosh(scalar a)
    requires detail::real<T>
  {
    return narrow(acosh(wide(a)));
  }
  [[gnu::always_inline]] friend scalar atanh(scalar a)
    requires detail::real<T>
  {
    return narrow(atanh(wide(a)));
  }
  [[gnu::always_inline]] friend scalar exp2(scalar a)
    requires detail::real<T>
  {
    return narrow(exp2(wide(a)));
  }
  [[gnu::always_inline]] friend scalar log2(scalar a)
    requires detail::real<T>
  {
    return narrow(log2(wide(a)));
  }
  [[gnu::always_inline]] friend scalar log10(scalar a)
    requires detail::real<T>
  {
    return narrow(log10(wide(a)));
  }
  [[gnu::always_inline]] friend scalar mod(scalar a, scalar b)
    requires detail::ordered<T>
  {
    return narrow(mod(wide(a), wide(b)));
  }
  [[gnu::always_inline]] friend scalar floor_div(scalar a, scalar b)
    requires detail::ordered<T>
  {
    return narrow(floor_div(wide(a), wide(b)));
  }
  [[gnu::always_inline]] friend scalar pow(scalar a, scalar b)
    requires detail::ordered<T>
  {
    return narrow(pow(wide(a), wide(b)));
  }
  [[gnu::always_inline]] friend scalar atan2(scalar a, scalar b)
    requires detail::real<T>
  {
    return narrow(atan2(wide(a), wide(b)));
  }
  // clang-format on

 private:
  [[gnu::always_inline]] static auto wide(scalar a) { return detail::carrier<T>::widen(a.value); }
  template <class Wide> [[gnu::always_inline]] static scalar narrow(Wide a) { return detail::carrier<T>::narrow(a); }
};

/// Returns the absolute value of a complex number, without overflow.
template <class Real> [[gnu::always_inline]] inline scalar<Real> abs(scalar<std::complex<Real>> z) {
  return detail::magnitude(z.value);
}
/// Returns the imaginary part.
template <class Real> [[gnu::always_inline]] inline scalar<Real> imag(scalar<std::complex<Real>> z) {
  return z.value.imag();
}

namespace detail {
template <class T> struct lane_type {
  using type = scalar<T>;
  using halved = scalar<T>;
  using shortest = scalar<T>;
};
template <packable T> struct lane_type<T> {
  using type = packet<T>;
  using halved = packet<T, native_packet_bytes == 64 ? 32 : native_packet_bytes>;
  using shortest = packet<T, 16>;
};
}  // namespace detail

/// The type in which a loop over elements of type T computes: packet<T> if it exists, else scalar<T>.
template <class T> using lane_type_t = typename detail::lane_type<T>::type;
// The next two compute the same bits in shorter packets. A 512-bit register costs more than a 256-bit one where the
// shorter one suffices: comparisons go through mask registers, and fewer execution units take most instructions.

/// The type in which at most half a packet of 64 bytes is computed; lane_type_t<T> where packets are shorter.
template <class T> using half_lane_type_t = typename detail::lane_type<T>::halved;
/// The type in which one element is computed.
template <class T> using short_lane_type_t = typename detail::lane_type<T>::shortest;

}  // namespace rill
