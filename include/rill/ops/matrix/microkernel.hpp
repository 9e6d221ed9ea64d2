// The innermost part of a matrix product: a tile of C that stays in registers while A and B stream by.
#pragma once
#include <array>
#include <utility>

#include "rill/ops/matrix/copy.hpp"

namespace rill::kernels {

/// The largest tile: `rows` x `vectors` accumulators, with registers left for a row of B and a number of A.
template <class T> struct tile_shape {
  static constexpr int rows = register_count == 32 ? 12 : 6;
  static constexpr int vectors = 2;
  static constexpr int columns = vectors * native<T>::lanes;
};
template <class T> struct tile_shape<std::complex<T>> {
  static constexpr int rows = tile_shape<T>::rows / 2;  // two accumulators each
  static constexpr int vectors = tile_shape<T>::vectors, columns = tile_shape<T>::columns / 2;
};

/// So many rows, or columns, that lie evenly, from an offset on.
struct even_run {
  index offset, count;
};

/// A tile's work: C[rows, columns] (+)= A[rows, depth] B[depth, columns]. Element (i, k) of A lies at a[i * a_row +
/// offset + j * a_step], where k is column j of a run; a row of B is whole vectors at b + k * b_step.
template <class T> struct tile_work {
  even_run const *runs, *runs_end;  // of the depth
  T const* a;
  index a_row, a_step;
  T const* b;
  index b_step;
  T* c;
  index c_row;
  index columns;  // of C; at most the tile's, more than one vector less
  bool add;       // to what C holds
};

namespace detail {

template <class T> inline void store_part(T* c, T* tile, index count, bool add) {
  using p = native<T>;
  for (index j = 0; j < count; j += p::lanes) {
    index const part = count - j < p::lanes ? count - j : p::lanes;
    if (add) {
      T old[p::lanes] = {};
      copy_part(old, c + j, part);
      p::store(tile + j, p::load(old) + p::load(tile + j));
    }
    copy_part(c + j, tile + j, part);
  }
}

// Each sum starts at zero and takes its products in the order of k; only then is it added to C.
template <class T, int Rows, int Vectors> void multiply_tile(tile_work<T> const& work) {
  using p = native<T>;
  typename p::sum sum[Rows][Vectors] = {};
  T const* b = work.b;
  index const a_row = work.a_row, a_step = work.a_step, b_step = work.b_step;
  for (auto const* run = work.runs; run != work.runs_end; ++run) {
    T const* a = work.a + run->offset;
    for (index k = run->count; k > 0; --k, a += a_step, b += b_step) {
      typename p::type row[Vectors];
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) row[v] = p::load(b + v * p::lanes);
#pragma GCC unroll 16
      for (int i = 0; i < Rows; ++i) {
        auto const x = p::broadcast(a[i * a_row]);
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) sum[i][v] = multiply_add(x, row[v], sum[i][v]);
      }
    }
  }
  if (work.columns == Vectors * p::lanes) {
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) {
        T* const c = work.c + i * work.c_row + v * p::lanes;
        auto const total = p::total(sum[i][v]);
        p::store(c, work.add ? p::load(c) + total : total);
      }
    }
  } else {
    T tile[Rows][Vectors * p::lanes];
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) p::store(tile[i] + v * p::lanes, p::total(sum[i][v]));
    }
    for (int i = 0; i < Rows; ++i) store_part(work.c + i * work.c_row, tile[i], work.columns, work.add);
  }
}

template <class T, class = std::make_integer_sequence<int, tile_shape<T>::rows * tile_shape<T>::vectors>>
struct tile_table;
template <class T, int... Index> struct tile_table<T, std::integer_sequence<int, Index...>> {
  static constexpr int vectors = tile_shape<T>::vectors;
  static constexpr std::array<void (*)(tile_work<T> const&), sizeof...(Index)> of = {
      &multiply_tile<T, Index / vectors + 1, Index % vectors + 1>...};
};

}  // namespace detail

/// Computes a tile of `rows` <= tile_shape<T>::rows.
template <class T> inline void multiply_tile(int rows, tile_work<T> const& work) {
  index const vectors = (work.columns + native<T>::lanes - 1) / native<T>::lanes;
  detail::tile_table<T>::of[static_cast<std::size_t>((rows - 1) * tile_shape<T>::vectors + vectors - 1)](work);
}

}  // namespace rill::kernels
