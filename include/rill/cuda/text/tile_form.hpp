// The tiles in which a GPU turns arrays around: the host and CUDA source read it.
#pragma once

namespace rill::cuda {

/// The rows and columns of a tile, and the threads of a block, which has one tile at a time.
inline constexpr int tile_side = 32, tile_threads = 256;

}  // namespace rill::cuda
