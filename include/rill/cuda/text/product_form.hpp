// The numbers of a matrix product as kernels take them: a parameter that the host fills in and CUDA source reads.
#pragma once
#include <cstdint>

namespace rill::cuda {

/// Axes of two batches of matrices, the last one first, with their strides in elements (kernels::batch_axes).
struct product_axes {
  static constexpr int most = 6;  // a tensor's axes but for those of the matrix

  int rank = 0;
  std::int64_t count = 1;  // of pairs
  std::int64_t extents[most] = {}, a_apart[most] = {}, b_apart[most] = {};
};

/// C[m, n] = A[m, k] B[k, n] for each pair of matrices that `kept` counts, summed over the pairs that `summed` counts.
/// C is contiguous. The whole depth is k * summed.count: the summed matrices lie side by side.
///
/// Order of summation: see kernels::gemm_plan. Other kernels than `multiply` add up the sums of `pieces`, which may be
/// its parts or its blocks.
struct product_form {
  std::int64_t m, n, k;
  std::int64_t a_row, a_column, b_row, b_column;  // strides, in elements
  std::int64_t depth;                             // of a block
  std::int64_t pieces, piece_depth;               // of whole blocks
  product_axes kept, summed;
};

}  // namespace rill::cuda
