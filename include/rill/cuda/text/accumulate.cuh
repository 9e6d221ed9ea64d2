// The arithmetic of sums and products.
#pragma once
#include <cstdint>
#include <type_traits>

#include "rill/type/half.hpp"

namespace rill::text {

/// The type in which elements are added, multiplied and compared: float for 16-bit floats, else their own.
template <class T>
using accumulated = std::conditional_t<std::is_same_v<T, half> || std::is_same_v<T, bfloat16>, float, T>;

// Integers wrap.
template <class A> A plus(A a, A b) {
  if constexpr (std::is_integral_v<A>)
    return static_cast<A>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else return a + b;
}
template <class A> A minus(A a, A b) {
  if constexpr (std::is_integral_v<A>)
    return static_cast<A>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  else return a - b;
}
template <class A> A times(A a, A b) {
  if constexpr (std::is_integral_v<A>)
    return static_cast<A>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  else return a * b;
}

}  // namespace rill::text
