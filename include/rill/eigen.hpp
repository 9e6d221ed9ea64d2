// Tensors as Eigen matrices and Eigen matrices as tensors.
#pragma once
#if !__has_include(<Eigen/Core>)
#error "rill: maps for Eigen need Eigen 3; on Debian and Ubuntu: apt-get install libeigen3-dev"
#endif
#include <Eigen/Core>
#include <type_traits>

#include "rill/tensor/tensor.hpp"

namespace rill {

/// How Eigen sees the elements of a tensor: row after row.
template <class T>
using eigen_matrix = Eigen::Matrix<std::remove_const_t<T>, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using eigen_map =
    Eigen::Map<std::conditional_t<std::is_const_v<T>, eigen_matrix<T> const, eigen_matrix<T>>, Eigen::Unaligned>;

namespace eigen {

/// Rows and columns of a tensor: a vector stands upright, a scalar is 1 by 1.
inline std::pair<Eigen::Index, Eigen::Index> extents_of(tensor const& t) {
  if (t.rank() > 2)
    throw error(code::invalid_argument,
                "as_eigen takes tensors of rank 0 to 2, and " + t.type().text() + " came: reshape it first");
  return {t.rank() > 0 ? t.shape()[0] : 1, t.rank() > 1 ? t.shape()[1] : 1};
}

/// The extents of the tensor that a matrix becomes: what is a vector by its type has rank 1.
template <class Derived> shape shape_of(Eigen::DenseBase<Derived> const& m) {
  if constexpr (Derived::IsVectorAtCompileTime) return {m.size()};
  else return {m.rows(), m.cols()};
}

}  // namespace eigen

/// The elements as a row-major Eigen matrix, not copied, for tensors of rank 0 to 2; a vector of n elements is n by 1.
/// Throws error(invalid_argument) for another rank or element type. It must not outlive the tensor.
template <element T> eigen_map<T> as_eigen(tensor& t RILL_LIFETIMEBOUND) {
  auto const [rows, columns] = eigen::extents_of(t);
  return {t.mutable_data<T>(), rows, columns};
}
template <element T> eigen_map<T const> as_eigen(tensor const& t RILL_LIFETIMEBOUND) {
  auto const [rows, columns] = eigen::extents_of(t);
  return {t.data<T>(), rows, columns};
}
template <element T> void as_eigen(tensor const&& t) = delete;  // the elements would be gone with the temporary

/// A tensor with a copy of an Eigen matrix, array or expression of them, whatever its order. A vector (by its type)
/// becomes a tensor of rank 1.
template <class Derived> tensor from_eigen(Eigen::DenseBase<Derived> const& m) {
  using T = typename Derived::Scalar;
  tensor t(dtype_of<T>, eigen::shape_of(m));
  Eigen::Map<Eigen::Array<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(t.mutable_data<T>(), m.rows(),
                                                                               m.cols()) = m.derived().array();
  return t;
}

/// The elements of an Eigen matrix, not copied: it must outlive every share of the tensor and keep its size. A
/// matrix must be declared Eigen::RowMajor; any vector will do.
template <class Derived> tensor borrow(Eigen::PlainObjectBase<Derived>& m) {
  static_assert(Derived::IsVectorAtCompileTime || Derived::IsRowMajor,
                "borrow: this Eigen matrix is column-major, and tensors lie row after row; declare it with "
                "Eigen::RowMajor, or copy it with from_eigen");
  using T = typename Derived::Scalar;
  return tensor::borrow(std::span<T>(m.data(), static_cast<std::size_t>(m.size())), eigen::shape_of(m));
}
template <class Derived> tensor borrow(Eigen::PlainObjectBase<Derived>&& m) = delete;  // it would be gone at once

}  // namespace rill
