// Reductions over an axis as kernels take them: numbers that the host and CUDA source have in common.
#pragma once
#include <cstdint>

namespace rill::cuda {

/// An array [outer, middle, inner] that is reduced to [outer, inner], and the number of parts of `middle` that are
/// reduced apart.
struct reduced_array {
  std::int64_t outer, middle, inner, parts;
};

/// The elements of a part of a line, and the rows of a part of columns, as the host has them.
inline constexpr std::int64_t line_part_size = 4096, column_part_size = 256;
/// The elements that a line must have to be reduced by a warp; of shorter ones each has a thread.
inline constexpr std::int64_t line_of_warp = 16;

/// The bytes of the states that are left of parts (states.cuh).
inline constexpr std::int64_t moments_bytes = 24, exponentials_bytes = 16;

}  // namespace rill::cuda
