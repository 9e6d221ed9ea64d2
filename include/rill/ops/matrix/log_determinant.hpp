// Signs and logarithms of determinants, which neither overflow nor underflow. Needs Eigen.
#pragma once
#include "rill/ops/math/cast.hpp"
#include "rill/ops/matrix/inverse.hpp"
#include "rill/ops/matrix/results.hpp"

namespace rill::ops {

struct log_determinant_op {
  static constexpr std::string_view name = "log_determinant",
                                    doc =
                                        "the signs of square matrices' determinants, or their phases, and the "
                                        "logarithms of their absolute values";
  static constexpr std::int8_t arity = 1;
  static constexpr std::size_t outputs = 2;
  static constexpr dtypes elements = decomposed_elements;
  static constexpr std::array<type, 2> infer(no_attributes, type const& x, checks expects = {}) {
    expect_square(x, "log_determinant: the operand is not of float32, float64 or complex numbers; cast it",
                  "log_determinant: the operand is not a square matrix or a batch of them, [..., n, n]", expects);
    type const y = without_last_axes(x, 2);
    return {y, y.with(real_of(x.element))};
  }
  static cost work(no_attributes, std::span<type const> in, std::span<type const> out) {
    double const n = in[0].is_known() && in[0].rank > 0 ? static_cast<double>(in[0][in[0].rank - 1u].extent) : 0;
    return {2 * n * rill::detail::elements_of(in) / 3, rill::detail::bytes_of(in) + rill::detail::bytes_of(out)};
  }
  // The logarithm: dx = dl x^-ᴴ (Jacobi's formula). A phase s turns by the imaginary part of the trace of x^-1 dx, so
  // that it adds i Im(conj(s) ds) to dl; a sign does not change.
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V const x = r.in(0);
    V each;
    if (r.dy(1)) each = cast(V(r.dy(1)), x.type().element);
    if (r.dy(0) && is_complex(x.type().element)) {
      V const turned = conj(V(r.out(0))) * V(r.dy(0)), imaginary = (turned - conj(turned)) * 0.5;
      each = each ? V(each + imaginary) : imaginary;
    }
    if (!each) return {gradient()};
    V const adjoint = record_erased<inverse_op>(r.graph, {true}, {x});
    return {broadcast_like(each, x, extents{-2, -1}) * adjoint};
  }
  static kernel cpu(kernel_request const& r) {
    square_matrices const all(r.inputs[0]);
    return visit_decomposed(r.inputs[0].element, [&]<class T>() {
      return kernel([all](kernel_call const& call) {
        using real = typename Eigen::NumTraits<T>::Real;
        auto* sign = call.out<T>(0);
        auto* logarithm = call.out<real>(1);
        if (all.extent == 0) {
          std::fill_n(sign, all.count, T(1));
          std::fill_n(logarithm, all.count, real(0));
          return;
        }
        all.decompose<T>(call.in(0), call.threads, [&](std::int64_t i, auto const& lu) {
          sign[i] = T(static_cast<real>(lu.permutationP().determinant()));
          double sum = 0;
          for (Eigen::Index k = 0; k < all.extent; ++k) {
            T const pivot = lu.matrixLU()(k, k);
            real const size = std::abs(pivot);
            sign[i] *= pivot == T(0) ? T(0) : pivot / size;
            sum += std::log(static_cast<double>(size));
          }
          logarithm[i] = static_cast<real>(sum);
          return true;
        });
      });
    });
  }
};

}  // namespace rill::ops

namespace rill {

/// Returns the sign of the determinant of a square matrix (its phase, for complex numbers) and the logarithm of its
/// absolute value, or those of each of a batch [..., n, n]: `auto [sign, logarithm] = log_determinant(x)`. A singular
/// matrix gives 0 and -inf; its derivative fails as that of `inverse` does.
template <operand X> auto log_determinant(X x) {
  return detail::results_as_tuple<2>(record<ops::log_determinant_op>(x));
}

}  // namespace rill
