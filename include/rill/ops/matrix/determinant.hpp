// Determinants of square matrices: the white paper's MatrixDeterminant (section 2, table 1). Needs Eigen.
#pragma once
#include "rill/ops/matrix/inverse.hpp"

namespace rill::ops {

struct determinant_op {
  static constexpr std::string_view name = "determinant",
                                    doc = "the determinants of square matrices, the last two axes";
  static constexpr std::int8_t arity = 1;
  static constexpr dtypes elements = decomposed_elements;
  static constexpr type infer(no_attributes, type const& x, checks expects = {}) {
    expect_square(x, "determinant: the operand is not of float32, float64 or complex numbers; cast it",
                  "determinant: the operand is not a square matrix or a batch of them, [..., n, n]", expects);
    if (!x.has_rank()) return x;
    type y{x.element};
    for (std::size_t i = 0; i + 2 < x.rank; ++i) y.push_back(x[i]);
    return y;
  }
  static cost work(no_attributes, std::span<type const> in, std::span<type const> out) {
    double const n = in[0].is_known() && in[0].rank > 0 ? static_cast<double>(in[0][in[0].rank - 1u].extent) : 0;
    return {2 * n * rill::detail::elements_of(in) / 3, rill::detail::bytes_of(in) + rill::detail::bytes_of(out)};
  }
  // Jacobi's formula: dx = dy conj(det x) x^-ᴴ.
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V x = r.in(0), y = r.out(), dy = r.dy();
    V const adjoint = record_erased<inverse_op>(r.graph, {true}, {x});
    return {broadcast_like(dy * conj(y), x, extents{-2, -1}) * adjoint};
  }
  static kernel cpu(kernel_request const& r) {
    square_matrices const all(r.inputs[0]);
    return visit_decomposed(r.inputs[0].element, [&]<class T>() {
      return kernel([all](kernel_call const& call) {
        if (all.extent == 0) {
          std::fill_n(call.out<T>(0), all.count, T(1));
          return;
        }
        all.decompose<T>(call.in(0), call.threads, [&](std::int64_t i, auto const& lu) {
          call.out<T>(0)[i] = lu.determinant();
          return true;
        });
      });
    });
  }
};

}  // namespace rill::ops

namespace rill {

/// Returns the determinant of a square matrix, or of each of a batch [..., n, n]: 0 for a singular matrix, 1 for a
/// matrix without rows. The derivative is computed from the inverse, so it fails for a singular matrix.
template <operand X> auto determinant(X x) { return record<ops::determinant_op>(x); }

}  // namespace rill
