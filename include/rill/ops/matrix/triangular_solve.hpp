// Systems of linear equations with triangular matrices. Needs Eigen.
#pragma once
#include "rill/ops/matrix/solve_rules.hpp"

namespace rill {

/// Which triangle of a matrix counts, and what is done to it first: `triangular_solve(a, b, {.upper = true})`;
/// transposed and conjugated is the adjoint.
struct triangle_form {
  bool upper = false, transposed = false, conjugated = false;
  static constexpr auto fields(auto const& take) {
    using f = triangle_form;
    return take(field{"upper", &f::upper}, field{"transposed", &f::transposed}, field{"conjugated", &f::conjugated});
  }
};

namespace ops {

struct triangular_solve_op : solve_rules<triangular_solve_op> {
  static constexpr std::string_view name = "triangular_solve",
                                    doc =
                                        "the solution X of A X = B for the lower or upper triangles of square "
                                        "matrices A, transposed or conjugated first if asked; batches broadcast";
  using attributes = triangle_form;
  static cost work(triangle_form const&, std::span<type const> in, std::span<type const> out) {
    double const n = in[0].is_known() && in[0].rank > 0 ? static_cast<double>(in[0][in[0].rank - 1u].extent) : 0;
    return {n * rill::detail::elements_of(out), rill::detail::bytes_of(in) + rill::detail::bytes_of(out)};
  }
  static value part(triangle_form const& how, value of_matrix) {
    return rill::detail::triangle_of(of_matrix, how.upper);
  }
  // The matrix is transposed already, which exchanges the triangles.
  template <class T, class F> static bool factor(triangle_form const& how, work_matrix<T> const& m, F const& use) {
    for (Eigen::Index k = 0; k < m.rows(); ++k)
      if (m(k, k) == T(0)) return false;
    if (how.upper != how.transposed) use(m.template triangularView<Eigen::Upper>());
    else use(m.template triangularView<Eigen::Lower>());
    return true;
  }
};

}  // namespace ops

/// Returns the solution X of A X = B, where the lower triangle of A counts, or the upper one, for a batch [..., n, n].
/// B is
/// [..., n, k], or one vector [n]; batches broadcast. The step fails with error(invalid_argument) that names the matrix
/// of the batch if an element of its diagonal is 0.
template <operand A, operand B> auto triangular_solve(A a, B b, triangle_form how = {}) {
  return detail::solution<ops::triangular_solve_op>(a, b, how);
}

}  // namespace rill
