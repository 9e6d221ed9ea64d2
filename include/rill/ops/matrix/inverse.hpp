// Inverses of square matrices: the white paper's MatrixInverse (section 2, table 1). Needs Eigen.
#pragma once
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/matrix/matmul.hpp"
#include "rill/ops/matrix/square_matrices.hpp"

namespace rill::ops {

struct inverse_op {
  static constexpr std::string_view name = "inverse",
                                    doc =
                                        "the inverses of square matrices, the last two axes; conjugated and transposed "
                                        "if asked";
  static constexpr std::int8_t arity = 1;
  static constexpr dtypes elements = decomposed_elements;
  struct attributes {
    bool adjoint = false;
    static constexpr auto fields(auto const& take) { return take(field{"adjoint", &attributes::adjoint}); }
  };
  static constexpr type infer(attributes const&, type const& x, checks expects = {}) {
    expect_square(x, "inverse: the operand is not of float32, float64 or complex numbers; cast it",
                  "inverse: the operand is not a square matrix or a batch of them, [..., n, n]", expects);
    return x;
  }
  static cost work(attributes const&, std::span<type const> in, std::span<type const> out) {
    double const n = in[0].is_known() && in[0].rank > 0 ? static_cast<double>(in[0][in[0].rank - 1u].extent) : 0;
    return {2 * n * rill::detail::elements_of(out), rill::detail::bytes_of(in) + rill::detail::bytes_of(out)};
  }
  // y = x^-1: dx = -yᴴ dy yᴴ. Where y is the adjoint of that: dx = -y dyᴴ y.
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V y = r.out(), dy = r.dy();
    if (decode<attributes>(r.origin().attributes).adjoint)
      return {-V(matmul(matmul(y, conj(dy), transposed{.b = true}), y, transposed{}))};
    V const other = conj(y);
    return {-V(matmul(matmul(other, dy, transposed{.a = true}), other, transposed{.b = true}))};
  }
  static kernel cpu(kernel_request const& r) {
    square_matrices const all(r.inputs[0]);
    bool const adjoint = decode<attributes>(r.at.attributes).adjoint;
    if (all.extent == 0 || all.count == 0) return kernel([](kernel_call const&) {});
    return visit_decomposed(r.inputs[0].element, [&]<class T>() {
      return kernel([all, adjoint](kernel_call const& call) {
        auto const singular = all.decompose<T>(call.in(0), call.threads, [&](std::int64_t i, auto const& lu) {
          if (has_zero_pivot(lu)) return false;
          Eigen::Map<row_major_matrix<T>> to(call.out<T>(0) + i * all.extent * all.extent, all.extent, all.extent);
          if (adjoint) to = lu.inverse().eval().adjoint();
          else to = lu.inverse();
          return true;
        });
        expect_all(singular, all.count, "inverse", "is singular (a pivot is 0), and has no inverse");
      });
    });
  }
};

}  // namespace rill::ops

namespace rill {

/// Returns the inverse of a square matrix, or of each of a batch [..., n, n], by LU decomposition with partial
/// pivoting. The step fails with error(invalid_argument) that names the matrix's row-major index in the batch if a
/// pivot is exactly 0; a NaN gives NaN.
template <operand X> auto inverse(X x) { return record<ops::inverse_op>(x); }

}  // namespace rill
