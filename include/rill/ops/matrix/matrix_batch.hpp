// What operations share that Eigen computes: batches of matrices, their element types, and a loop on all threads. Needs
// Eigen.
#pragma once
#if !__has_include(<Eigen/Core>)
#error "rill: decompositions of matrices need Eigen 3; on Debian and Ubuntu: apt-get install libeigen3-dev"
#endif
#include <Eigen/Core>
#include <atomic>
#include <complex>
#include <new>
#include <string>

#include "rill/dsl/expr.hpp"

namespace rill::ops {

/// The element types of matrices that are decomposed.
inline constexpr dtypes decomposed_elements = dtypes{dtype::float32} | dtype::float64 | dtypes::complexes;
/// The element types of matrices whose decompositions are of real numbers alone.
inline constexpr dtypes real_decomposed_elements = dtypes{dtype::float32} | dtype::float64;

/// A matrix with the layout of a tensor.
template <class T> using row_major_matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
/// A matrix that Eigen computes with.
template <class T> using work_matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

/// The matrices of a value whose extents are known: its last two axes, in a batch of all axes before them.
struct matrix_batch {
  std::int64_t count = 1, rows = 0, columns = 0;

  explicit matrix_batch(type const& x) : rows(x[x.rank - 2u].extent), columns(x[x.rank - 1u].extent) {
    for (std::size_t i = 0; i + 2 < x.rank; ++i) count *= x[i].extent;
  }
  bool empty() const { return count == 0 || rows == 0 || columns == 0; }

  /// Returns matrix i of a tensor.
  template <class T> Eigen::Map<row_major_matrix<T> const> in(void const* from, std::int64_t i) const {
    return {static_cast<T const*>(from) + i * rows * columns, rows, columns};
  }
  template <class T> Eigen::Map<row_major_matrix<T>> out(void* to, std::int64_t i) const {
    return {static_cast<T*>(to) + i * rows * columns, rows, columns};
  }
};

/// Calls `f(i)` for each matrix of a batch of `count`, on all threads. Returns the index of the first matrix for which
/// `f` returned false; `count` if there is none.
template <class F>
std::int64_t for_each_matrix(std::int64_t count, std::int64_t elements, parallel const& threads, F const& f) {
  std::atomic<std::int64_t> first = count;
  std::atomic<bool> no_memory = false;
  auto const at_once = std::max<std::int64_t>(1, 4096 / (1 + elements));
  threads(static_cast<std::size_t>((count + at_once - 1) / at_once), [&](std::size_t chunk) {
    auto const begin = static_cast<std::int64_t>(chunk) * at_once;
    for (auto i = begin; i < std::min(count, begin + at_once); ++i) {
      try {
        if (f(i)) continue;
        for (auto seen = first.load(); i < seen && !first.compare_exchange_weak(seen, i);) {
        }
      } catch (std::bad_alloc const&) {  // a thread's chunk must not throw
        no_memory = true;
      }
    }
  });
  if (no_memory) throw error(code::resource_exhausted, "there is no memory to decompose a matrix in");
  return first;
}

/// Throws error(invalid_argument) that names the first matrix that was refused, if there is one: "cholesky: matrix 2 of
/// the batch of 5 is not positive definite".
inline void expect_all(std::int64_t first, std::int64_t count, std::string_view operation, std::string_view why) {
  if (first == count) return;
  throw error(code::invalid_argument, std::string(operation) + ": matrix " + std::to_string(first) +
                                          " of the batch of " + std::to_string(count) + " " + std::string(why));
}

/// Refuses values other than square matrices, or batches of them, of float32, float64 or complex numbers.
constexpr void expect_square(type const& x, char const* elements, char const* extents, checks expects = {}) {
  expects(decomposed_elements.contains(x.element), elements);
  expects(!x.has_rank() || (x.rank >= 2 && may_equal(x[x.rank - 2u], x[x.rank - 1u])), extents);
}

/// Refuses values other than matrices, or batches of them, of certain element types.
constexpr bool expect_matrices(type const& x, dtypes taken, char const* elements, char const* extents,
                               checks expects = {}) {
  expects(taken.contains(x.element), elements);
  return expects(!x.has_rank() || x.rank >= 2, extents);
}

/// Returns the type of a batch of matrices without its last `n` axes.
constexpr type without_last_axes(type const& x, std::size_t n) {
  type y{x.element};
  if (!x.has_rank()) return x;
  for (std::size_t i = 0; i + n < x.rank; ++i) y.push_back(x[i]);
  return y;
}

/// Returns the type of other matrices in the place of those of `x`.
constexpr type with_matrices(type const& x, dim const& rows, dim const& columns) {
  type y = without_last_axes(x, 2);
  if (!x.has_rank()) return y;
  y.push_back(rows);
  y.push_back(columns);
  return y;
}

/// Calls `f.template operator()<T>()` with the C++ type of an element type of matrices that are decomposed.
template <class F> auto visit_decomposed(dtype d, F const& f) {
  switch (d) {
    case dtype::float32:
      return f.template operator()<float>();
    case dtype::float64:
      return f.template operator()<double>();
    case dtype::complex64:
      return f.template operator()<std::complex<float>>();
    default:
      return f.template operator()<std::complex<double>>();
  }
}
/// The same for the element types of real numbers.
template <class F> auto visit_real_decomposed(dtype d, F const& f) {
  return d == dtype::float32 ? f.template operator()<float>() : f.template operator()<double>();
}

}  // namespace rill::ops
