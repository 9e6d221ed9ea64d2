// float32 as the upper 16 bits of its elements, which go from task to task instead (white paper §5.5).
#pragma once
#include "rill/tensor/tensor.hpp"
#include "rill/type/half.hpp"

namespace rill::detail {

/// Returns the upper 16 bits of each element of a float32 tensor. A NaN stays one.
tensor shortened(tensor const& x);
/// Returns the float32 whose upper 16 bits these are, and whose other bits are 0.
tensor lengthened(tensor const& x);

}  // namespace rill::detail

#if RILL_RUNTIME
#include <bit>
#include <cstddef>
#include <cstdint>

namespace rill::detail {

RILL_INLINE tensor shortened(tensor const& x) {
  tensor y(dtype::bfloat16, x.shape());
  auto const* const from = static_cast<float const*>(x.raw());
  auto* const to = static_cast<std::uint16_t*>(y.mutable_raw());
  for (std::size_t i = 0, n = static_cast<std::size_t>(x.elements()); i < n; ++i) {
    auto const bits = std::bit_cast<std::uint32_t>(from[i]);
    std::uint32_t const quiet =
        (bits & 0x7fffffffu) > 0x7f800000u ? 0x40u : 0u;  // else its upper bits may be infinity's
    to[i] = static_cast<std::uint16_t>(bits >> 16 | quiet);
  }
  return y;
}

RILL_INLINE tensor lengthened(tensor const& x) {
  tensor y(dtype::float32, x.shape());
  auto const* const from = static_cast<std::uint16_t const*>(x.raw());
  auto* const to = static_cast<float*>(y.mutable_raw());
  for (std::size_t i = 0, n = static_cast<std::size_t>(x.elements()); i < n; ++i) to[i] = float_from_bfloat16(from[i]);
  return y;
}

}  // namespace rill::detail
#endif
