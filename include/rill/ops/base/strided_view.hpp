// An array seen with other axes: permuted, or broadcast.
#pragma once
#include <cstddef>
#include <cstdint>

#include "rill/type/shape.hpp"

namespace rill::kernels {

/// The result's extents and, for each of its axes, how far apart the operand's elements are; neighbouring axes that the
/// operand walks evenly are one, extents of 1 are gone.
struct strided_view {
  std::size_t rank = 0;
  std::int64_t extents[max_rank] = {}, strides[max_rank] = {};

  /// Appends an axis of the result.
  constexpr void add(std::int64_t extent, std::int64_t stride) {
    if (extent == 1) return;
    if (rank > 0 && strides[rank - 1] == stride * extent) {
      extents[rank - 1] *= extent;
      strides[rank - 1] = stride;
    } else {
      extents[rank] = extent;
      strides[rank++] = stride;
    }
  }
  constexpr std::int64_t elements() const {
    std::int64_t n = 1;
    for (std::size_t i = 0; i < rank; ++i) n *= extents[i];
    return n;
  }
  /// Which of the operand's elements is the result's element `at`.
  constexpr std::int64_t operator[](std::int64_t at) const {
    std::int64_t from = 0;
    for (std::size_t i = rank; i-- > 0; at /= extents[i]) from += at % extents[i] * strides[i];
    return from;
  }
};

/// x broadcast to the extents of y, as NumPy does it.
constexpr strided_view broadcast_view(shape const& x, shape const& y) {
  std::int64_t strides[max_rank] = {}, apart = 1;
  for (std::size_t i = 1; i <= x.rank(); ++i) {
    auto const extent = x[x.rank() - i];
    strides[y.rank() - i] = extent == 1 ? 0 : apart;
    apart *= extent;
  }
  strided_view view;
  for (std::size_t i = 0; i < y.rank(); ++i) view.add(y[i], strides[i]);
  return view;
}

}  // namespace rill::kernels
