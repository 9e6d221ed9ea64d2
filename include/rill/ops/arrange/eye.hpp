// Matrices with ones on a diagonal.
#pragma once
#include "rill/ops/arrange/range.hpp"
#include "rill/ops/array/one_hot.hpp"

namespace rill {

/// Returns a matrix with ones on its diagonal and zeros elsewhere: `eye<float, 3>(g)`, `eye<float, 3, 4>(g)`.
/// `Diagonal` 1 is the diagonal above the main one, -1 the one below.
template <element T, std::int64_t Rows, std::int64_t Columns = Rows, std::int64_t Diagonal = 0>
expr<of<T, Rows, Columns>> eye(graph& g) {
  return one_hot<Columns, T>(range<Diagonal, Diagonal + Rows, 1, std::int64_t>(g));
}
/// Returns the same with extents known only at run time.
inline value eye(graph& g, std::int64_t rows, std::int64_t columns, dtype element = dtype::float32,
                 std::int64_t diagonal = 0) {
  expects(rows >= 0 && columns >= 0, "eye: an extent is negative");
  expects(diagonal <= INT64_MAX - rows, "eye: the diagonal does not fit in 64 bits");
  return one_hot(range(g, diagonal, diagonal + rows), columns, element);
}

}  // namespace rill
