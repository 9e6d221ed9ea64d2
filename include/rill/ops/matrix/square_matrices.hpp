// What inverses and determinants share: batches of square matrices, decomposed by Eigen. Needs Eigen.
#pragma once
#if !__has_include(<Eigen/LU>)
#error "rill: inverses and determinants need Eigen 3; on Debian and Ubuntu: apt-get install libeigen3-dev"
#endif
#include <Eigen/LU>
#include <atomic>
#include <complex>
#include <new>

#include "rill/dsl/expr.hpp"

namespace rill::ops {

/// The element types of matrices that are decomposed.
inline constexpr dtypes decomposed_elements = dtypes{dtype::float32} | dtype::float64 | dtypes::complexes;

/// The square matrices of a value: its last two axes, in a batch of all axes before them.
template <class T>
using square_matrix = Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> const>;

/// Refuses what is no matrix or batch of them, of floats of 32 or 64 bits or complex numbers.
constexpr void expect_square(type const& x, char const* elements, char const* extents, checks expects = {}) {
  expects(decomposed_elements.contains(x.element), elements);
  expects(!x.has_rank() || (x.rank >= 2 && may_equal(x[x.rank - 2u], x[x.rank - 1u])), extents);
}

/// A batch of square matrices whose extents are known.
struct square_matrices {
  std::int64_t count = 1, extent = 0;

  explicit square_matrices(type const& x) : extent(x[x.rank - 1u].extent) {
    for (std::size_t i = 0; i + 2 < x.rank; ++i) count *= x[i].extent;
  }

  /// Calls `f(i, LU decomposition of matrix i)`, which says whether all is well, by threads. Returns the number of the
  /// first matrix of which it is not; `count` if there is none.
  template <class T, class F> std::int64_t decompose(void const* from, parallel const& threads, F const& f) const {
    std::atomic<std::int64_t> first = count;
    std::atomic<bool> no_memory = false;
    auto const at_once = std::max<std::int64_t>(1, 4096 / (1 + extent * extent));
    threads(static_cast<std::size_t>((count + at_once - 1) / at_once), [&](std::size_t chunk) {
      auto const begin = static_cast<std::int64_t>(chunk) * at_once;
      for (auto i = begin; i < std::min(count, begin + at_once); ++i) {
        try {
          square_matrix<T> const x(static_cast<T const*>(from) + i * extent * extent, extent, extent);
          if (f(i, Eigen::PartialPivLU<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>>(x))) continue;
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
};

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

}  // namespace rill::ops
