// How a block of threads looks for the largest or smallest elements: the host and CUDA source read it.
#pragma once

namespace rill::cuda {

/// The threads of a block.
inline constexpr int argmax_threads = 256;

}  // namespace rill::cuda
