// Eigenvalues and eigenvectors of symmetric matrices. Needs Eigen.
#pragma once
#include "rill/ops/matrix/matrix_batch.hpp"  // says what is missing without Eigen

#include <Eigen/Eigenvalues>
#include <limits>

#include "rill/ops/matrix/matmul.hpp"
#include "rill/ops/matrix/results.hpp"
#include "rill/ops/matrix/triangle.hpp"

namespace rill::ops {

/// Returns the sign by which a vector is multiplied so that the element with the largest absolute value is positive; of
/// several the first.
template <class Vector> typename Vector::Scalar sign_of_vector(Vector const& v) {
  Eigen::Index at = 0;
  for (Eigen::Index k = 1; k < v.size(); ++k)
    if (std::abs(v(k)) > std::abs(v(at))) at = k;
  return v(at) < 0 ? -1 : 1;
}

struct eigh_op {
  static constexpr std::string_view name = "eigh",
                                    doc =
                                        "the eigenvalues of symmetric matrices in ascending order, and orthonormal "
                                        "eigenvectors as columns; of others the symmetric part (x + xᵀ) / 2 is taken";
  static constexpr std::int8_t arity = 1;
  static constexpr std::size_t outputs = 2;
  static constexpr dtypes elements = real_decomposed_elements;
  static constexpr std::array<type, 2> infer(no_attributes, type const& x, checks expects = {}) {
    expects(elements.contains(x.element), "eigh: the operand is not of float32 or float64; cast it");
    expects(!x.has_rank() || (x.rank >= 2 && may_equal(x[x.rank - 2u], x[x.rank - 1u])),
            "eigh: the operand is not a square matrix or a batch of them, [..., n, n]");
    return {without_last_axes(x, 1), x};
  }
  static cost work(no_attributes, std::span<type const> in, std::span<type const> out) {
    double const n = in[0].is_known() && in[0].rank > 0 ? static_cast<double>(in[0][in[0].rank - 1u].extent) : 0;
    return {9 * n * rill::detail::elements_of(in), rill::detail::bytes_of(in) + rill::detail::bytes_of(out)};
  }
  // dx is the symmetric part of V (diag(dw) + F ∘ (Vᵀ dV)) Vᵀ, where F has 1 / (w_j - w_i) in row i and column j, and 0
  // on the diagonal (M. Giles, Collected matrix derivative results for forward and reverse mode algorithmic
  // differentiation, 2008, section 2.2.3).
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V const x = r.in(0), w = r.out(0), v = r.out(1);
    rill::detail::element_places const at(x);
    V const on_diagonal = equal(at.row, at.column);
    V inner;
    if (r.dy(1)) {
      V const apart = expand_dims(w, -2) - expand_dims(w, -1);
      V const of_v = matmul(v, V(r.dy(1)), transposed{.a = true});
      inner = select(on_diagonal, zero(of_v), of_v) / rill::detail::with_diagonal(apart, 1);
    }
    if (r.dy(0)) {
      V const of_w = select(on_diagonal, V(expand_dims(V(r.dy(0)), -1)), zero(w));
      inner = inner ? V(inner + of_w) : of_w;
    }
    V const whole = matmul(matmul(v, inner, transposed{}), v, transposed{.b = true});
    return {(whole + rill::detail::transposed_matrices(whole)) * 0.5};
  }
  // Returns false if the iteration does not converge. Numbers that are not finite give NaN.
  template <class T>
  static bool decompose(work_matrix<T> const& x, Eigen::Map<row_major_matrix<T>> w, Eigen::Map<row_major_matrix<T>> v) {
    if (!x.allFinite()) {
      w.setConstant(std::numeric_limits<T>::quiet_NaN());
      v.setConstant(std::numeric_limits<T>::quiet_NaN());
      return true;
    }
    Eigen::SelfAdjointEigenSolver<work_matrix<T>> const solved(x);
    if (solved.info() != Eigen::Success) return false;
    w = solved.eigenvalues().transpose();
    v = solved.eigenvectors();
    for (Eigen::Index k = 0; k < v.cols(); ++k) v.col(k) *= sign_of_vector(solved.eigenvectors().col(k));
    return true;
  }
  static kernel cpu(kernel_request const& r) {
    matrix_batch const all(r.inputs[0]);
    if (all.empty()) return kernel([](kernel_call const&) {});
    return visit_real_decomposed(r.inputs[0].element, [&]<class T>() {
      return kernel([all](kernel_call const& call) {
        auto const endless = for_each_matrix(all.count, all.rows * all.rows, call.threads, [&](auto i) {
          auto const x = all.in<T>(call.in(0), i);
          Eigen::Map<row_major_matrix<T>> const w(call.out<T>(0) + i * all.rows, 1, all.rows);
          return decompose<T>((x + x.transpose()) / T(2), w, all.out<T>(call.out(1), i));
        });
        expect_all(endless, all.count, "eigh", "has eigenvalues to which the iteration does not converge");
      });
    });
  }
};

}  // namespace rill::ops

namespace rill {

/// Returns the eigenvalues w, [..., n], in ascending order, and orthonormal eigenvectors, the columns of V, [..., n,
/// n], of a symmetric matrix x = V diag(w) Vᵀ, or of each of a batch: `auto [w, v] = eigh(x)`. The element of each
/// vector with the largest absolute value is positive. Of other matrices the symmetric part (x + xᵀ) / 2 is decomposed,
/// so that the derivative with respect to x is symmetric. The derivative of V is not finite where eigenvalues are
/// equal; that of w is. A NaN gives NaN. Complex matrices are refused.
template <operand X> auto eigh(X x) { return detail::results_as_tuple<2>(record<ops::eigh_op>(x)); }

}  // namespace rill
