// The axes of a product as kernels take them: a parameter that the host fills in and CUDA source reads.
#pragma once
#include <cstdint>

namespace rill::cuda {

/// Axes from the outermost to the innermost, each with its extent and its stride in elements.
struct prod_axes {
  static constexpr int most = 8;  // max_rank

  int count = 0;
  std::int64_t extents[most] = {}, strides[most] = {};
};

/// The axes that a product leaves and those that it goes over, and along how many directions its derivative is.
struct prod_form {
  prod_axes kept, reduced;
  int directions = 0;
};

}  // namespace rill::cuda
