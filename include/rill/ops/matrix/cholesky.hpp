// Cholesky decompositions. Needs Eigen.
#pragma once
#include "rill/ops/matrix/matrix_batch.hpp"  // says what is missing without Eigen

#include <Eigen/Cholesky>
#include "rill/ops/matrix/triangular_solve.hpp"

namespace rill::ops {

struct cholesky_op {
  static constexpr std::string_view name = "cholesky",
                                    doc =
                                        "the lower triangular L, L Lᴴ = x, of Hermitian positive definite matrices, "
                                        "the last two axes; of others the Hermitian part (x + xᴴ) / 2 is taken";
  static constexpr std::int8_t arity = 1;
  static constexpr dtypes elements = decomposed_elements;
  static constexpr type infer(no_attributes, type const& x, checks expects = {}) {
    expect_square(x, "cholesky: the operand is not of float32, float64 or complex numbers; cast it",
                  "cholesky: the operand is not a square matrix or a batch of them, [..., n, n]", expects);
    return x;
  }
  static cost work(no_attributes, std::span<type const> in, std::span<type const> out) {
    double const n = in[0].is_known() && in[0].rank > 0 ? static_cast<double>(in[0][in[0].rank - 1u].extent) : 0;
    return {n * rill::detail::elements_of(out) / 3, rill::detail::bytes_of(in) + rill::detail::bytes_of(out)};
  }
  // dx = L^-ᴴ (P + Pᴴ) / 2 L^-1, where P is the lower triangle of Lᴴ dL with half of its diagonal (I. Murray,
  // Differentiation of the Cholesky decomposition, 2016, section 3).
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    triangle_form const adjoint{.transposed = true, .conjugated = true};
    V const l = r.out(), p = rill::detail::half_triangle_of(matmul(conj(l), r.dy(), transposed{.a = true}), false);
    V const left = triangular_solve(l, V((p + rill::detail::adjoint(p)) * 0.5), adjoint);
    return {triangular_solve(l, V(rill::detail::adjoint(left)), adjoint)};
  }
  static kernel cpu(kernel_request const& r) {
    matrix_batch const all(r.inputs[0]);
    if (all.empty()) return kernel([](kernel_call const&) {});
    return visit_decomposed(r.inputs[0].element, [&]<class T>() {
      return kernel([all](kernel_call const& call) {
        auto const indefinite = for_each_matrix(all.count, all.rows * all.rows, call.threads, [&](auto i) {
          auto const x = all.in<T>(call.in(0), i);
          work_matrix<T> const hermitian = (x + x.adjoint()) / T(2);
          Eigen::LLT<work_matrix<T>> const llt(hermitian);
          if (llt.info() != Eigen::Success) return false;
          all.out<T>(call.out(0), i) = llt.matrixL();
          return true;
        });
        expect_all(indefinite, all.count, "cholesky", "is not positive definite");
      });
    });
  }
};

}  // namespace rill::ops

namespace rill {

/// Returns the lower triangular L with L Lᴴ = x and a positive diagonal, for a Hermitian (or symmetric) positive
/// definite matrix, or for each of a batch [..., n, n]. Of other matrices the Hermitian part (x + xᴴ) / 2 is
/// decomposed, so that the derivative with respect to x is Hermitian. The step fails with error(invalid_argument) that
/// names the matrix of the batch if it is not positive definite; a NaN gives NaN.
template <operand X> auto cholesky(X x) { return record<ops::cholesky_op>(x); }

}  // namespace rill
