// Converts tensors to Eigen matrices and Eigen matrices to tensors.
#pragma once
#if !__has_include(<Eigen/Core>)
#error "rill: maps for Eigen need Eigen 3; on Debian and Ubuntu: apt-get install libeigen3-dev"
#endif
#include <Eigen/Core>
#include <type_traits>

#include "rill/tensor/tensor.hpp"

namespace rill {

/// The Eigen matrix type with a tensor's layout: row-major.
template <class T>
using eigen_matrix = Eigen::Matrix<std::remove_const_t<T>, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
/// The Eigen map of a tensor's elements.
template <class T>
using eigen_map =
    Eigen::Map<std::conditional_t<std::is_const_v<T>, eigen_matrix<T> const, eigen_matrix<T>>, Eigen::Unaligned>;

namespace eigen {

/// Returns the rows and columns of a tensor: n by 1 for a vector, 1 by 1 for a scalar.
inline std::pair<Eigen::Index, Eigen::Index> extents_of(tensor const& t) {
  if (t.rank() > 2)
    throw error(code::invalid_argument,
                "as_eigen: expected a tensor of rank 0 to 2, got " + t.type().text() + ": reshape it first");
  return {t.rank() > 0 ? t.shape()[0] : 1, t.rank() > 1 ? t.shape()[1] : 1};
}

/// Returns the extents of the tensor for an Eigen matrix; an Eigen vector gives rank 1.
template <class Derived> shape shape_of(Eigen::DenseBase<Derived> const& m) {
  if constexpr (Derived::IsVectorAtCompileTime) return {m.size()};
  else return {m.rows(), m.cols()};
}

}  // namespace eigen

/// Returns a row-major Eigen matrix that shares the elements of a tensor of rank 0 to 2; a vector of n elements is n
/// by 1. The matrix must not outlive the tensor. Throws error(invalid_argument) for another rank or element type.
template <element T> eigen_map<T> as_eigen(tensor& t RILL_LIFETIMEBOUND) {
  auto const [rows, columns] = eigen::extents_of(t);
  return {t.mutable_data<T>(), rows, columns};
}
template <element T> eigen_map<T const> as_eigen(tensor const& t RILL_LIFETIMEBOUND) {
  auto const [rows, columns] = eigen::extents_of(t);
  return {t.data<T>(), rows, columns};
}
template <element T> void as_eigen(tensor const&& t) = delete;  // the temporary's elements would dangle

/// Returns a tensor with a copy of an Eigen matrix, array or expression, row-major or column-major. An Eigen vector
/// gives a tensor of rank 1.
template <class Derived> tensor from_eigen(Eigen::DenseBase<Derived> const& m) {
  using T = typename Derived::Scalar;
  tensor t(dtype_of<T>, eigen::shape_of(m));
  Eigen::Map<Eigen::Array<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(t.mutable_data<T>(), m.rows(),
                                                                               m.cols()) = m.derived().array();
  return t;
}

/// Returns a tensor that shares the elements of an Eigen matrix. The matrix must outlive all copies of the tensor and
/// keep its size. It must be a vector or declared Eigen::RowMajor.
template <class Derived> tensor borrow(Eigen::PlainObjectBase<Derived>& m) {
  static_assert(Derived::IsVectorAtCompileTime || Derived::IsRowMajor,
                "borrow: expected a row-major Eigen matrix, got a column-major one; declare it with "
                "Eigen::RowMajor, or copy it with from_eigen");
  using T = typename Derived::Scalar;
  return tensor::borrow(std::span<T>(m.data(), static_cast<std::size_t>(m.size())), eigen::shape_of(m));
}
template <class Derived>
tensor borrow(Eigen::PlainObjectBase<Derived>&& m) = delete;  // the temporary's elements would dangle

}  // namespace rill
