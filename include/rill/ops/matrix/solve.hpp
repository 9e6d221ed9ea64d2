// Systems of linear equations with square matrices, by LU decomposition. Needs Eigen.
#pragma once
#include "rill/ops/matrix/solve_rules.hpp"
#include "rill/ops/matrix/square_matrices.hpp"

namespace rill {

/// What is done to the matrices of linear equations first: `solve(a, b, {.transposed = true})`; both for the adjoint.
struct system_form {
  bool transposed = false, conjugated = false;
  static constexpr auto fields(auto const& take) {
    return take(field{"transposed", &system_form::transposed}, field{"conjugated", &system_form::conjugated});
  }
};

namespace ops {

struct solve_op : solve_rules<solve_op> {
  static constexpr std::string_view name = "solve",
                                    doc =
                                        "the solution X of A X = B for square matrices A, transposed or conjugated "
                                        "first if asked; batches broadcast";
  using attributes = system_form;
  static cost work(system_form const&, std::span<type const> in, std::span<type const> out) {
    double const n = in[0].is_known() && in[0].rank > 0 ? static_cast<double>(in[0][in[0].rank - 1u].extent) : 0;
    return {2 * n * (rill::detail::elements_of(in.first(1)) / 3 + rill::detail::elements_of(out)),
            rill::detail::bytes_of(in) + rill::detail::bytes_of(out)};
  }
  static value part(system_form const&, value of_matrix) { return of_matrix; }
  template <class T, class F> static bool factor(system_form const&, work_matrix<T> const& m, F const& use) {
    Eigen::PartialPivLU<work_matrix<T>> const lu(m);
    if (has_zero_pivot(lu)) return false;
    use(lu);
    return true;
  }
};

}  // namespace ops

/// Returns the solution X of A X = B for a square matrix A, or for each of a batch [..., n, n], by LU decomposition
/// with partial pivoting. B is [..., n, k], or one vector [n]; batches broadcast. The step fails with
/// error(invalid_argument) that names the matrix of the batch if a pivot is exactly 0.
template <operand A, operand B> auto solve(A a, B b, system_form how = {}) {
  return detail::solution<ops::solve_op>(a, b, how);
}

}  // namespace rill
