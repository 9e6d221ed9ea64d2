// How a block of threads takes part in a sort of positions: the host and CUDA source read it.
#pragma once

namespace rill::cuda {

/// The bits of a key that a pass sorts by, and the values that they have.
inline constexpr int sort_digit_bits = 8, sort_digits = 1 << sort_digit_bits;
/// The threads of a block: one for each value of a digit.
inline constexpr int sort_threads = sort_digits, sort_warps = sort_threads / 32;
/// The elements that a warp takes at a time 32 of, those of a warp, and those of a block.
inline constexpr int sort_rounds = 16, sort_tile = 32 * sort_rounds, sorted_by_block = sort_warps * sort_tile;
/// The threads of the one block that sums counts up.
inline constexpr int sort_sum_threads = 1024;

}  // namespace rill::cuda
