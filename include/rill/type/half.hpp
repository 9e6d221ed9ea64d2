// The 16-bit floating-point types: stored in 16 bits, computed with as float.
#pragma once
#include <bit>
#include <compare>
#include <cstdint>
#include <type_traits>

namespace rill {

namespace detail {
constexpr std::uint16_t half_from_float(float value);
constexpr float float_from_half(std::uint16_t bits);
constexpr std::uint16_t bfloat16_from_float(float value);
constexpr float float_from_bfloat16(std::uint16_t bits);
template <class T> constexpr float float_to_round(T value);
}  // namespace detail

/// IEEE 754 binary16: 5 bits of exponent, 10 of fraction. Converts to float implicitly, and arithmetic and comparison
/// happen in float; the conversion back is explicit, because it rounds.
struct half {
  std::uint16_t bits;

  half() = default;
  /// Converts to the nearest half, ties to even; values that are too large become infinity.
  template <class T>
    requires std::is_arithmetic_v<T>
  [[gnu::always_inline]] constexpr explicit half(T value)
      : bits(detail::half_from_float(detail::float_to_round(value))) {}
  [[gnu::always_inline]] constexpr operator float() const { return detail::float_from_half(bits); }
};

/// The upper 16 bits of a float: 8 bits of exponent, 7 of fraction. Arithmetic and comparison happen in float.
struct bfloat16 {
  std::uint16_t bits;

  bfloat16() = default;
  /// Converts to the nearest bfloat16, ties to even; values that are too large become infinity.
  template <class T>
    requires std::is_arithmetic_v<T>
  [[gnu::always_inline]] constexpr explicit bfloat16(T value)
      : bits(detail::bfloat16_from_float(detail::float_to_round(value))) {}
  [[gnu::always_inline]] constexpr operator float() const { return detail::float_from_bfloat16(bits); }
};

namespace detail {

// Rounds to a float from which rounding to 16 bits gives the correctly rounded result, which rounding to the nearest
// float first does not. A value between two floats becomes the one whose last bit is odd ("round to odd": Boldo and
// Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
template <class T> [[gnu::always_inline]] constexpr float float_to_round(T value) {
  if constexpr (std::is_same_v<T, float> || (std::is_integral_v<T> && sizeof(T) <= 2)) return value;
  else if constexpr (std::is_integral_v<T> && sizeof(T) <= 4) return float_to_round(static_cast<double>(value));
  else if constexpr (std::is_integral_v<T>) {  // rounded to odd into the 53 bits of a double
    constexpr auto exact = T{1} << 53;
    bool const fits = value <= exact && (value >= 0 || value >= T{0} - exact);
    auto const upper = static_cast<T>(value >> 11 | T{(value & 0x7ff) != 0});
    return float_to_round(fits ? static_cast<double>(value) : static_cast<double>(upper) * 2048);
  } else {
    auto const nearest = static_cast<float>(value);
    auto const bits = std::bit_cast<std::uint32_t>(nearest);
    auto const a = nearest < 0 ? -static_cast<T>(nearest) : static_cast<T>(nearest), b = value < 0 ? -value : value;
    std::uint32_t const odd = a < b ? bits + 1 : bits - 1;
    return std::bit_cast<float>((a < b || a > b) && (bits & 1u) == 0 ? odd : bits);
  }
}

// Every case is computed and one is selected, so that loops over these functions have no branches. The results,
// including the payloads of NaN, are the results of the F16C instructions, which are used where the processor has them.
[[gnu::always_inline]] constexpr std::uint16_t half_from_float_in_software(float value) {
  auto const word = std::bit_cast<std::uint32_t>(value);
  std::uint32_t const magnitude = word & 0x7fff'ffffu;
  // Adding just under half a unit, plus the last kept bit, rounds ties to even; the carry may reach the exponent.
  std::uint32_t const normal = (magnitude + 0xfffu + (magnitude >> 13 & 1u) - (112u << 23)) >> 13;
  // One unit of 0.5f is 2^-24, the smallest half: the addition itself does the rounding.
  std::uint32_t const subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - std::bit_cast<std::uint32_t>(0.5f);
  std::uint32_t const nan = 0x7e00u | (magnitude >> 13 & 0x3ffu);
  std::uint32_t const finite = magnitude < (113u << 23) ? subnormal : normal;
  std::uint32_t const ordered = magnitude >= (143u << 23) ? 0x7c00u : finite;
  std::uint32_t const result = magnitude > (255u << 23) ? nan : ordered;
  return static_cast<std::uint16_t>(result | (word >> 16 & 0x8000u));
}

[[gnu::always_inline]] constexpr float float_from_half_in_software(std::uint16_t bits) {
  std::uint32_t const magnitude = (bits & 0x7fffu) << 13;
  std::uint32_t const normal = magnitude + (112u << 23);
  // Computed with an implicit leading bit, which the subtraction removes while it normalises.
  auto const subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude + (113u << 23)) - std::bit_cast<float>(113u << 23));
  std::uint32_t const quiet = magnitude > (31u << 23) ? 1u << 22 : 0u;
  std::uint32_t const special = (normal + (112u << 23)) | quiet;
  std::uint32_t const finite = magnitude < (1u << 23) ? subnormal : normal;
  std::uint32_t const result = magnitude < (31u << 23) ? finite : special;
  return std::bit_cast<float>(result | (bits & 0x8000u) << 16);
}

#if defined(__F16C__)
// The compilers' built-in names of the instructions: <immintrin.h> would have to be parsed by every file.
using four_floats [[gnu::vector_size(16)]] = float;
using eight_shorts [[gnu::vector_size(16)]] = short;
#endif

[[gnu::always_inline]] constexpr std::uint16_t half_from_float(float value) {
#if defined(__F16C__)
  if (!std::is_constant_evaluated())
    return static_cast<std::uint16_t>(__builtin_ia32_vcvtps2ph(four_floats{value, 0, 0, 0}, 0)[0]);
#endif
  return half_from_float_in_software(value);
}

[[gnu::always_inline]] constexpr float float_from_half(std::uint16_t bits) {
#if defined(__F16C__) && __has_builtin(__builtin_ia32_vcvtph2ps)
  if (!std::is_constant_evaluated())
    return __builtin_ia32_vcvtph2ps(eight_shorts{static_cast<short>(bits), 0, 0, 0, 0, 0, 0, 0})[0];
#endif
  return float_from_half_in_software(bits);
}

[[gnu::always_inline]] constexpr std::uint16_t bfloat16_from_float(float value) {
  auto const word = std::bit_cast<std::uint32_t>(value);
  std::uint32_t const rounded = (word + 0x7fffu + (word >> 16 & 1u)) >> 16;
  std::uint32_t const nan = word >> 16 | 0x40u;
  return static_cast<std::uint16_t>((word & 0x7fff'ffffu) > (255u << 23) ? nan : rounded);
}

[[gnu::always_inline]] constexpr float float_from_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace detail

static_assert(std::is_trivially_copyable_v<half> && std::three_way_comparable<half, std::partial_ordering>);
static_assert(std::is_trivially_copyable_v<bfloat16> && std::three_way_comparable<bfloat16, std::partial_ordering>);

}  // namespace rill
