// QR decompositions, and least squares by them. Needs Eigen.
#pragma once
#include "rill/ops/matrix/matrix_batch.hpp"  // says what is missing without Eigen

#include <Eigen/QR>
#include "rill/ops/array/concat.hpp"
#include "rill/ops/array/slice.hpp"
#include "rill/ops/matrix/results.hpp"
#include "rill/ops/matrix/triangular_solve.hpp"

namespace rill::ops {

// Of matrices with at least as many rows as columns. Others are cut in two before (detail::wide_qr).
struct qr_op {
  static constexpr std::string_view name = "qr",
                                    doc =
                                        "Q with orthonormal columns and the upper triangular R with a diagonal that "
                                        "is not negative, Q R = x, of matrices with no more columns than rows";
  static constexpr std::int8_t arity = 1;
  static constexpr std::size_t outputs = 2;
  static constexpr dtypes elements = decomposed_elements;
  static constexpr std::array<type, 2> infer(no_attributes, type const& x, checks expects = {}) {
    bool const matrices =
        expect_matrices(x, elements, "qr: the operand is not of float32, float64 or complex numbers; cast it",
                        "qr: the operand is not a matrix or a batch of them, [..., m, n]", expects);
    if (!x.has_rank() || !matrices) return {x, x};
    auto const rows = x[x.rank - 2u], columns = x[x.rank - 1u];
    expects(!rows.known() || !columns.known() || rows.extent >= columns.extent,
            "qr: the matrices have fewer rows than columns, which must be known when the graph is recorded", rows,
            columns);
    return {x, with_matrices(x, columns, columns)};
  }
  static cost work(no_attributes, std::span<type const> in, std::span<type const> out) {
    double const n = in[0].is_known() && in[0].rank > 0 ? static_cast<double>(in[0][in[0].rank - 1u].extent) : 0;
    return {4 * n * rill::detail::elements_of(in), rill::detail::bytes_of(in) + rill::detail::bytes_of(out)};
  }
  // dx = (dQ + Q (U + Uᴴ)) R^-ᴴ, where U is the upper triangle of dR Rᴴ - Qᴴ dQ with half of its diagonal (S. Walter
  // and L. Lehmann, Algorithmic differentiation of linear algebra functions with application in optimum experimental
  // design, 2010, section 4.3).
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V const q = r.out(0), upper = r.out(1);
    V m, inner;
    if (r.dy(1)) m = matmul(V(r.dy(1)), conj(upper), transposed{.b = true});
    if (r.dy(0)) {
      V const of_q = matmul(conj(q), V(r.dy(0)), transposed{.a = true});
      m = m ? V(m - of_q) : V(-of_q);
    }
    m = rill::detail::half_triangle_of(m, true);
    inner = matmul(q, V(m + rill::detail::adjoint(m)), transposed{});
    if (r.dy(0)) inner = inner + V(r.dy(0));
    return {rill::detail::adjoint(triangular_solve(upper, V(rill::detail::adjoint(inner)), {.upper = true}))};
  }
  template <class T>
  static void decompose(work_matrix<T> const& x, Eigen::Map<row_major_matrix<T>> q,
                        Eigen::Map<row_major_matrix<T>> upper) {
    Eigen::HouseholderQR<work_matrix<T>> const qr(x);
    q = qr.householderQ() * work_matrix<T>::Identity(x.rows(), x.cols());
    upper = qr.matrixQR().topRows(x.cols()).template triangularView<Eigen::Upper>();
    for (Eigen::Index k = 0; k < x.cols(); ++k) {
      T const pivot = upper(k, k);
      auto const size = std::abs(pivot);
      if (pivot == T(size)) continue;
      T const phase = pivot / size;
      q.col(k) *= phase;
      upper.row(k) *= Eigen::numext::conj(phase);
      upper(k, k) = T(size);
    }
  }
  static kernel cpu(kernel_request const& r) {
    matrix_batch const x(r.inputs[0]), q(r.outputs[0]), upper(r.outputs[1]);
    if (x.empty()) return kernel([](kernel_call const&) {});
    return visit_decomposed(r.inputs[0].element, [&]<class T>() {
      return kernel([=](kernel_call const& call) {
        for_each_matrix(x.count, x.rows * x.columns, call.threads, [&](auto i) {
          decompose<T>(x.in<T>(call.in(0), i), q.out<T>(call.out(0), i), upper.out<T>(call.out(1), i));
          return true;
        });
      });
    });
  }
};

/// The rules of `qr` for typed handles of matrices of all extents.
struct qr_rules : qr_op {
  static constexpr std::array<type, 2> infer(no_attributes, type const& x, checks expects = {}) {
    if (!is_wide(x)) return qr_op::infer({}, x, expects);
    qr_op::infer({}, with_matrices(x, x[x.rank - 2u], x[x.rank - 2u]), expects);
    return {with_matrices(x, x[x.rank - 2u], x[x.rank - 2u]), x};
  }
  /// Whether there are certainly more columns than rows.
  static constexpr bool is_wide(type const& x) {
    return x.has_rank() && x.rank >= 2 && x[x.rank - 2u].known() && x[x.rank - 1u].known() &&
           x[x.rank - 2u].extent < x[x.rank - 1u].extent;
  }
};

/// The rules of `lstsq` for typed handles.
struct lstsq_rules {
  static constexpr std::string_view name = "lstsq";
  static constexpr std::int8_t arity = 2;
  static constexpr type infer(no_attributes, type const& a, type const& b, checks expects = {}) {
    expects(a.element == b.element, "lstsq: the operands have different element types; cast one of them");
    bool const both =
        expect_matrices(a, decomposed_elements,
                        "lstsq: the operands are not of float32, float64 or complex numbers; cast them",
                        "lstsq: the first operand is not a matrix or a batch of them, [..., m, n]", expects) &&
        expects(!b.has_rank() || b.rank >= 2, "lstsq: the right-hand side is not a matrix or a batch of them");
    if (!both || !a.has_rank() || !b.has_rank()) return type::of_unknown_rank(a.element);
    expects(may_equal(a[a.rank - 2u], b[b.rank - 2u]), "lstsq: the operands have different numbers of rows",
            a[a.rank - 2u], b[b.rank - 2u]);
    type x = broadcast(without_last_axes(a, 2), without_last_axes(b, 2), expects);
    x.push_back(a[a.rank - 1u]);
    x.push_back(b[b.rank - 1u]);
    return x;
  }
};

}  // namespace rill::ops

namespace rill {

namespace detail {

// With x = [A B], A square: A = Q U, so that x = Q [U Qᴴ B].
inline std::tuple<value, value> wide_qr(value x) try {
  type const t = x.type();
  auto const rows = t[t.rank - 2u].extent, columns = t[t.rank - 1u].extent;
  extents begin, size;
  for (std::size_t i = 0; i < t.rank; ++i) begin.push_back(0), size.push_back(-1);
  size[t.rank - 1u] = rows;
  auto const [q, upper] = results_as_tuple<2>(record<ops::qr_op>(slice(x, begin, size)));
  begin[t.rank - 1u] = rows, size[t.rank - 1u] = columns - rows;
  value const rest = matmul(conj(q), slice(x, begin, size), transposed{.a = true});
  return {q, concat({upper, rest}, -1)};
} catch (...) {
  rethrow_as_error();
}

inline std::tuple<value, value> any_qr(value x) {
  if (ops::qr_rules::is_wide(x.type())) return wide_qr(x);
  return results_as_tuple<2>(record<ops::qr_op>(x));
}

inline value least_squares(value a, value b) {
  ops::lstsq_rules::infer({}, a.type(), b.type());  // names the operation in what it refuses
  if (ops::qr_rules::is_wide(a.type())) {
    auto const [q, upper] = any_qr(adjoint(a));
    triangle_form const lower{.upper = true, .transposed = true, .conjugated = true};
    return matmul(q, triangular_solve(upper, b, lower), transposed{});
  }
  auto const [q, upper] = any_qr(a);
  return triangular_solve(upper, matmul(conj(q), b, transposed{.a = true}), {.upper = true});
}

}  // namespace detail

/// Returns the reduced QR decomposition of a matrix, or of each of a batch [..., m, n], by Householder reflections:
/// `auto [q, r] = qr(x)`. Q, [..., m, k], has orthonormal columns; R, [..., k, n], is upper triangular, with a diagonal
/// that is not negative; k is the smaller of m and n. Matrices with fewer rows than columns must have known extents
/// while the graph is recorded. The derivative needs the first k columns to be linearly independent; it fails
/// otherwise.
template <operand X> auto qr(X x) {
  if constexpr (typed<X>) {
    constexpr auto types = detail::result_types<ops::qr_rules, no_attributes{}, X>();
    auto const [q, r] = detail::any_qr(value(x));
    return std::tuple{expr<types[0]>{q}, expr<types[1]>{r}};
  } else return detail::any_qr(x);
}

/// Returns the X that makes the squared error of A X = B smallest, for A [..., m, n] and B [..., m, k], by a QR
/// decomposition of A; batches broadcast. With fewer rows than columns, which must be known while the graph is
/// recorded, it is the smallest X that solves the equations. The step fails with error(invalid_argument) that names the
/// matrix of the batch if its rows or columns, whichever are fewer, are linearly dependent exactly.
template <operand A, operand B> auto lstsq(A a, B b) {
  if constexpr (typed<A> && typed<B>) {
    constexpr type result = detail::result_types<ops::lstsq_rules, no_attributes{}, A, B>();
    return expr<result>{detail::least_squares(value(a), value(b))};
  } else return detail::least_squares(value(a), value(b));
}

}  // namespace rill
