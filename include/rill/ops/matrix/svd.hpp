// Singular value decompositions. Needs Eigen.
#pragma once
#include "rill/ops/matrix/matrix_batch.hpp"  // says what is missing without Eigen

#include <Eigen/SVD>
#include "rill/ops/matrix/eigh.hpp"

namespace rill::ops {

struct svd_op {
  static constexpr std::string_view name = "svd",
                                    doc =
                                        "the thin singular value decomposition U diag(s) Vᵀ of matrices: U, s in "
                                        "descending order, Vᵀ";
  static constexpr std::int8_t arity = 1;
  static constexpr std::size_t outputs = 3;
  static constexpr dtypes elements = real_decomposed_elements;
  static constexpr std::array<type, 3> infer(no_attributes, type const& x, checks expects = {}) {
    bool const matrices = expect_matrices(x, elements, "svd: the operand is not of float32 or float64; cast it",
                                          "svd: the operand is not a matrix or a batch of them, [..., m, n]", expects);
    if (!x.has_rank() || !matrices) return {x, x, x};
    dim const rows = x[x.rank - 2u], columns = x[x.rank - 1u], k = smaller(rows, columns);
    return {with_matrices(x, rows, k), without_last_axes(with_matrices(x, k, 1), 1), with_matrices(x, k, columns)};
  }
  static cost work(no_attributes, std::span<type const> in, std::span<type const> out) {
    double const k = out[1].is_known() && out[1].rank > 0 ? static_cast<double>(out[1][out[1].rank - 1u].extent) : 0;
    return {20 * k * rill::detail::elements_of(in), rill::detail::bytes_of(in) + rill::detail::bytes_of(out)};
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r);
  static kernel cpu(kernel_request const& r);

 private:
  static constexpr dim smaller(dim const& a, dim const& b) {
    if (a == b) return a;
    if (a == dim(0) || b == dim(0)) return 0;
    return a.known() && b.known() ? dim(std::min(a.extent, b.extent)) : unknown;
  }
  template <class T>
  static void decompose(work_matrix<T> const& x, Eigen::Map<row_major_matrix<T>> u, Eigen::Map<row_major_matrix<T>> s,
                        Eigen::Map<row_major_matrix<T>> vt) {
    if (!x.allFinite()) {
      for (auto* part : {&u, &s, &vt}) part->setConstant(std::numeric_limits<T>::quiet_NaN());
      return;
    }
    Eigen::BDCSVD<work_matrix<T>> const solved(x, Eigen::ComputeThinU | Eigen::ComputeThinV);
    u = solved.matrixU();
    s = solved.singularValues().transpose();
    vt = solved.matrixV().transpose();
    for (Eigen::Index k = 0; k < u.cols(); ++k) {
      T const sign = sign_of_vector(solved.matrixU().col(k));
      u.col(k) *= sign;
      vt.row(k) *= sign;
    }
  }
};

// With F_ij = 1 / (s_j² - s_i²), 0 on the diagonal, and S = diag(s):
//   dx = U ((F ∘ (Uᵀ dU - dUᵀ U)) S + S (F ∘ (Vᵀ dV - dVᵀ V)) + diag(ds)) Vᵀ
//        + (1 - U Uᵀ) dU S^-1 Vᵀ + U S^-1 dVᵀ (1 - V Vᵀ)
// (J. Townsend, Differentiating the singular value decomposition, 2016, equation 31).
template <class V> std::vector<gradient> svd_op::grad(gradient_request const& r) {
  V const u = r.out(0), s = r.out(1), vt = r.out(2);
  V const column = expand_dims(s, -1), row = expand_dims(s, -2);
  auto const turned = [](V m) { return V(rill::detail::transposed_matrices(m)); };
  auto const f = [&](V m) {  // F ∘ (m - mᵀ)
    V const apart = (row - column) * (row + column);
    return V((m - turned(m)) / rill::detail::with_diagonal(apart, 1));
  };
  auto const beyond = [](V d, V const& basis) {  // (1 - basis basisᵀ) d
    return V(d - matmul(basis, matmul(basis, d, transposed{.a = true}), transposed{}));
  };
  V inner, all;
  auto const add = [](V& to, V const& more) { to = to ? V(to + more) : more; };
  if (r.dy(1)) {
    V const ds = expand_dims(V(r.dy(1)), -1);
    rill::detail::element_places const at{matmul(vt, vt, transposed{.b = true})};
    add(inner, select(V(equal(at.row, at.column)), ds, zero(ds)));
  }
  if (r.dy(0)) add(inner, f(matmul(u, V(r.dy(0)), transposed{.a = true})) * row);
  if (r.dy(2)) add(inner, column * f(matmul(vt, V(r.dy(2)), transposed{.b = true})));
  add(all, matmul(matmul(u, inner, transposed{}), vt, transposed{}));
  if (r.dy(0)) add(all, matmul(beyond(V(r.dy(0)) / row, u), vt, transposed{}));
  if (r.dy(2)) {
    V const v = turned(vt);
    add(all, matmul(u, V(turned(beyond(turned(V(r.dy(2)) / column), v))), transposed{}));
  }
  return {all};
}

inline kernel svd_op::cpu(kernel_request const& r) {
  matrix_batch const x(r.inputs[0]), u(r.outputs[0]), vt(r.outputs[2]);
  if (x.empty()) return kernel([](kernel_call const&) {});
  return visit_real_decomposed(r.inputs[0].element, [&]<class T>() {
    return kernel([=](kernel_call const& call) {
      for_each_matrix(x.count, x.rows * x.columns, call.threads, [&](auto i) {
        Eigen::Map<row_major_matrix<T>> const s(call.out<T>(1) + i * u.columns, 1, u.columns);
        decompose<T>(x.in<T>(call.in(0), i), u.out<T>(call.out(0), i), s, vt.out<T>(call.out(2), i));
        return true;
      });
    });
  });
}

}  // namespace rill::ops

namespace rill {

/// Returns the thin singular value decomposition x = U diag(s) Vᵀ of a matrix, or of each of a batch [..., m, n]:
/// `auto [u, s, vt] = svd(x)`. U is [..., m, k] and Vᵀ [..., k, n] with k the smaller of m and n; s, [..., k], is in
/// descending order. The element of each column of U with the largest absolute value is positive. The derivatives of U
/// and V are not finite where singular values are equal or 0; that of s is. A NaN gives NaN. Complex matrices are
/// refused.
template <operand X> auto svd(X x) { return detail::results_as_tuple<3>(record<ops::svd_op>(x)); }

}  // namespace rill
