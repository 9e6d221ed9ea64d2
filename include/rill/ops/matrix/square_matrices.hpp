// What inverses and determinants share: LU decompositions by Eigen of batches of square matrices. Needs Eigen.
#pragma once
#include "rill/ops/matrix/matrix_batch.hpp"  // says what is missing without Eigen

#include <Eigen/LU>

namespace rill::ops {

/// A batch of square matrices whose extents are known.
struct square_matrices {
  std::int64_t count = 1, extent = 0;

  explicit square_matrices(type const& x) : count(matrix_batch(x).count), extent(matrix_batch(x).rows) {}

  /// Calls `f(i, LU decomposition of matrix i)`, on all threads. Returns the index of the first matrix for which `f`
  /// returned false; `count` if there is none.
  template <class T, class F> std::int64_t decompose(void const* from, parallel const& threads, F const& f) const {
    return for_each_matrix(count, extent * extent, threads, [&](std::int64_t i) {
      Eigen::Map<row_major_matrix<T> const> const x(static_cast<T const*>(from) + i * extent * extent, extent, extent);
      return f(i, Eigen::PartialPivLU<work_matrix<T>>(x));
    });
  }
};

/// Whether a pivot of an LU decomposition is exactly 0.
template <class Lu> bool has_zero_pivot(Lu const& lu) {
  auto const pivots = lu.matrixLU().diagonal();
  for (Eigen::Index k = 0; k < pivots.size(); ++k)
    if (pivots[k] == typename Lu::Scalar(0)) return true;
  return false;
}

}  // namespace rill::ops
