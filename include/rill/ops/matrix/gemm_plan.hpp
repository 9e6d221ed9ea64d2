// How a matrix product is cut: what decides the order of summation (a function of the extents alone), and what doesn't.
#pragma once
#include "rill/ops/matrix/packing.hpp"

namespace rill::kernels {

namespace detail {

constexpr index divide_up(index a, index b) { return (a + b - 1) / b; }
constexpr index round_up(index a, index b) { return divide_up(a, b) * b; }
constexpr index lower(index a, index b) { return a < b ? a : b; }
constexpr index upper(index a, index b) { return a < b ? b : a; }

}  // namespace detail

/// The cutting of C[m, n] = A[m, k] B[k, n] whose sums are of type `Sum`.
///
/// Order of summation: k falls into equal blocks of `depth`; a block's sum starts at zero and takes its products in the
/// order of k; the sums of blocks are added in their order. Where C is small and k is large, k falls into `parts` of
/// whole blocks first, whose results are added in their order. Units of work, `rows` x `columns` of C, depend on the
/// number of threads too: they don't touch that order.
template <class Sum> struct gemm_plan {
  index m, n, k;
  index depth = 1, part_blocks = 1, parts = 1;
  index rows = 1, columns = 1, workers = 1;
  bool apart;  ///< a worker sums in a block of its own: what it stores is rounded, or lies elsewhere than in a matrix

  constexpr gemm_plan(index m_, index n_, index k_, int threads, bool apart_ = true)
      : m(m_), n(n_), k(k_), apart(apart_) {
    using namespace detail;
    if (m <= 0 || n <= 0) return;
    cut_depth();
    rows = even_share(m, most_rows, tile_shape<Sum>::rows);
    columns = even_share(n, most_columns, tile_shape<Sum>::columns);
    if (threads > 1 && m * n * k >= 1 << 18) cut_for(threads);
  }

  constexpr index blocks() const { return detail::divide_up(k, depth); }
  constexpr index row_units() const { return detail::divide_up(m, rows); }
  constexpr index column_units() const { return detail::divide_up(n, columns); }
  constexpr index units() const { return row_units() * column_units() * parts; }

  /// Returns the number of elements of `Sum` that a worker needs for its blocks of A, B and C.
  constexpr index scratch_of_a() const { return line(rows * detail::packed_row<Sum>(depth)); }
  constexpr index scratch_of_b() const { return line(columns * depth); }
  constexpr index scratch_of_c() const { return apart ? line(rows * columns) : 0; }
  constexpr index scratch_of_worker() const { return scratch_of_a() + scratch_of_b() + scratch_of_c(); }
  /// Returns the number of elements of `Sum` that all workers need.
  constexpr index scratch() const { return workers * scratch_of_worker() + (parts > 1 ? parts * m * n : 0); }

 private:
  // Blocks of A and B that a core's second cache holds; the larger they are, the less often is each packed.
  static constexpr index halved = sizeof(Sum) <= 4 ? 1 : 2, most_rows = 384 / halved, most_columns = 512 / halved;

  static constexpr index line(index count) { return detail::round_up(count, 64); }

  static constexpr index even_share(index extent, index most, index multiple) {
    most = detail::round_up(most, multiple);
    return detail::round_up(detail::divide_up(extent, detail::divide_up(extent, most)), multiple);
  }

  constexpr void cut_depth() {
    using namespace detail;
    if (k <= 0) return;
    depth = round_up(divide_up(k, divide_up(k, 288)), 8);
    index const tiles = divide_up(m, 192) * divide_up(n, 256);
    index const wanted = upper(1, lower(divide_up(16, tiles), k / 2048));
    part_blocks = divide_up(blocks(), wanted);
    parts = divide_up(blocks(), part_blocks);
  }

  constexpr void cut_for(int threads) {
    using namespace detail;
    index const least_rows = 2 * tile_shape<Sum>::rows, least_columns = 2 * tile_shape<Sum>::columns;
    index const each = m * n * k < 1 << 26 ? 4 : 2;  // short ones are half over before the last thread is awake
    while (units() < each * threads) {
      bool const by_rows = rows > least_rows && (rows >= columns || columns <= least_columns);
      if (by_rows) {
        rows = even_share(m, rows / 2, tile_shape<Sum>::rows);
      } else if (columns > least_columns) {
        columns = even_share(n, columns / 2, tile_shape<Sum>::columns);
      } else {
        break;
      }
    }
    workers = lower(threads, units());
  }
};

}  // namespace rill::kernels
