// Parts of matrices, and their conjugate transposes, made of operations: what the derivatives of decompositions need.
#pragma once
#include "rill/ops/array/expand_dims.hpp"
#include "rill/ops/array/positions.hpp"
#include "rill/ops/array/transpose.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/math/select.hpp"

namespace rill::detail {

/// Returns a batch of matrices with the last two axes exchanged.
inline value transposed_matrices(value x) {
  auto const& t = x.type();
  expects(t.has_rank() && t.rank >= 2, "the rank of matrices must be known to transpose them; give it by as");
  extents axes;
  for (std::int64_t i = 0; i < t.rank; ++i) axes.push_back(i);
  std::swap(axes[t.rank - 2u], axes[t.rank - 1u]);
  return transpose(x, axes);
}
/// Returns the conjugate transposes of matrices.
inline value adjoint(value x) { return conj(transposed_matrices(x)); }

/// The number of the row and of the column of each element of a matrix; the two broadcast.
struct element_places {
  value row, column;
  explicit element_places(value x)
      : row(expand_dims(positions(x, -2, dtype::int64), -1)), column(positions(x, -1, dtype::int64)) {}
};

/// Returns the lower or the upper triangle of matrices, with the diagonal; other elements are 0.
inline value triangle_of(value x, bool upper) {
  element_places const at(x);
  return select(upper ? less_equal(at.row, at.column) : less_equal(at.column, at.row), x, zero(x));
}
/// Returns the same with half of the diagonal.
inline value half_triangle_of(value x, bool upper) {
  element_places const at(x);
  value const beyond = upper ? less(at.row, at.column) : less(at.column, at.row);
  return select(beyond, x, select(equal(at.row, at.column), x * 0.5, zero(x)));
}
/// Returns x with `n` on the diagonals.
inline value with_diagonal(value x, double n) {
  element_places const at(x);
  return select(equal(at.row, at.column), like(x, n), x);
}

}  // namespace rill::detail
