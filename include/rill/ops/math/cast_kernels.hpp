// Conversions between all element types on raw pointers; every one is defined for every value.
#pragma once
#include <complex>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "rill/type/half.hpp"

namespace rill::kernels {

namespace detail {

template <class T> inline constexpr bool is_complex_number = false;
template <class T> inline constexpr bool is_complex_number<std::complex<T>> = true;
template <class T> inline constexpr bool is_short_float = std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;

// Toward zero; NaN is 0, and beyond an end is that end. The ends as floats are powers of two, or one more than the
// largest integer, and so are exact.
template <class To, class From> inline To saturated(From x) {
  constexpr From low = static_cast<From>(std::numeric_limits<To>::min());
  constexpr From high = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * 2;
  bool const inside = (x > low - 1 || x >= low) && x < high;
  To const y = static_cast<To>(inside ? x : From{0});
  return x >= high ? std::numeric_limits<To>::max() : x < low ? std::numeric_limits<To>::min() : y;
}

template <class To, class From> inline To converted(From x) {
  if constexpr (std::is_same_v<To, From>) return x;
  else if constexpr (is_complex_number<From> && is_complex_number<To>)
    return {static_cast<typename To::value_type>(x.real()), static_cast<typename To::value_type>(x.imag())};
  else if constexpr (is_complex_number<From> && std::is_same_v<To, bool>) return x != From{};
  else if constexpr (is_complex_number<From>) return converted<To>(x.real());
  else if constexpr (is_short_float<From>) return converted<To>(static_cast<float>(x));
  else if constexpr (is_complex_number<To>) return {converted<typename To::value_type>(x), 0};
  else if constexpr (std::is_same_v<To, bool>) return x != From{};
  else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) return saturated<To>(x);
  else return static_cast<To>(x);
}

}  // namespace detail

template <class From, class To> void cast_tile(void* result, void const* const* operands, std::size_t n) {
  auto* const y = static_cast<To*>(result);
  auto const* const x = static_cast<From const*>(operands[0]);
  for (std::size_t i = 0; i < n; ++i) y[i] = detail::converted<To>(x[i]);
}

}  // namespace rill::kernels
