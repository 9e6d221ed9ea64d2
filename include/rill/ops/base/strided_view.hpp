// A view of an array with permuted or broadcast axes.
#pragma once
#include <cstddef>
#include <cstdint>

#include "rill/type/shape.hpp"

namespace rill::kernels {

/// The result's extents, and for each of its axes the stride of the operand. Axes are merged where the strides allow
/// it; extents of 1 are dropped.
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
  /// Returns the index of the operand's element that is element `at` of the result.
  constexpr std::int64_t operator[](std::int64_t at) const {
    std::int64_t from = 0;
    for (std::size_t i = rank; i-- > 0; at /= extents[i]) from += at % extents[i] * strides[i];
    return from;
  }
};

/// Returns the view of x broadcast to the extents of y, as in NumPy.
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
