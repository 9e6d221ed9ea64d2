// The positions of the matrices of two batches that are multiplied pair by pair.
#pragma once
#include <array>
#include <cstddef>

#include "rill/type/extents.hpp"

namespace rill::kernels {

/// Axes of two batches, the last one first, with their strides in elements.
struct batch_axes {
  std::size_t rank = 0;
  std::ptrdiff_t count = 1;  ///< of pairs
  std::array<std::ptrdiff_t, max_rank> extents{}, a_apart{}, b_apart{};

  void push_back(std::ptrdiff_t extent, std::ptrdiff_t a, std::ptrdiff_t b) {
    extents[rank] = extent, a_apart[rank] = a, b_apart[rank] = b;
    ++rank;
    count *= extent;
  }
  /// Returns the offset of the matrices of pair `number` from the first pair.
  std::ptrdiff_t a_at(std::ptrdiff_t number) const { return place(a_apart, number); }
  std::ptrdiff_t b_at(std::ptrdiff_t number) const { return place(b_apart, number); }

 private:
  std::ptrdiff_t place(std::array<std::ptrdiff_t, max_rank> const& apart, std::ptrdiff_t number) const {
    std::ptrdiff_t at = 0;
    for (std::size_t i = 0; i < rank; number /= extents[i++]) at += number % extents[i] * apart[i];
    return at;
  }
};

}  // namespace rill::kernels
