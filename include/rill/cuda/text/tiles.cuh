// Copies whose source and target have elements side by side along different axes, as those of a transpose: a tile at a
// time goes through shared memory, so that a warp reads and writes elements that lie side by side.
#pragma once
#include "rill/cuda/text/global.cuh"
#include "rill/cuda/text/tile_form.hpp"
#include "rill/cuda/text/words.cuh"

namespace rill::text {

using cuda::tile_side;
using cuda::tile_threads;

/// Where elements are read and written. Columns lie side by side in the source, rows in the target. The other axes have
/// `extents`, of which the outermost isn't needed. Distances may be negative, as those of copied_part.
template <class Index, int Rank> struct tiled_part {
  Index from_start, to_start;
  Index rows, columns;
  Index from_row, to_column;  // distances
  Index extents[Rank], from[Rank], to[Rank];
};

/// Copies `n` tiles, counted along columns, rows and the other axes.
template <class T, class Index, int Rank>
void copy_tiles(global<T const> from, global<T> to, Index n, tiled_part<Index, Rank> const& part) {
  __shared__ T tile[tile_side][tile_side + 1];  // a column more, so that a tile's column lies in different banks
  constexpr int warps = tile_threads / 32;
  int const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  Index const across = (part.columns + tile_side - 1) / tile_side, down = (part.rows + tile_side - 1) / tile_side;
  for (Index i = blockIdx.x; i < n; i += gridDim.x) {
    Index const column = i % across * tile_side, row = i / across % down * tile_side;
    Index rest = i / across / down, source = part.from_start + row * part.from_row + column,
          target = part.to_start + column * part.to_column + row;
    for (int axis = Rank - 1; axis > 0; --axis) {
      Index const at = rest % part.extents[axis];
      rest /= part.extents[axis];
      source += at * part.from[axis];
      target += at * part.to[axis];
    }
    source += rest * part.from[0];
    target += rest * part.to[0];
    for (int k = warp; k < tile_side; k += warps)
      if (row + k < part.rows && column + lane < part.columns) tile[k][lane] = from[source + k * part.from_row + lane];
    __syncthreads();
    for (int k = warp; k < tile_side; k += warps)
      if (column + k < part.columns && row + lane < part.rows) to[target + k * part.to_column + lane] = tile[lane][k];
    __syncthreads();
  }
}

}  // namespace rill::text
