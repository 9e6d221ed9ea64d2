// What systems of linear equations share, with triangular and with other matrices. Needs Eigen.
#pragma once
#include "rill/ops/array/as.hpp"
#include "rill/ops/matrix/batch_axes.hpp"
#include "rill/ops/matrix/matmul.hpp"
#include "rill/ops/matrix/matrix_batch.hpp"
#include "rill/ops/matrix/triangle.hpp"

namespace rill::ops {

/// Which matrix each of two broadcast batches has in each place of the result.
inline rill::kernels::batch_axes paired_batches(type const& a, type const& b, type const& y) {
  rill::kernels::batch_axes all;
  std::int64_t apart[2] = {1, 1};
  auto const step = [](type const& x, std::size_t from_end, std::int64_t& next) -> std::int64_t {
    if (from_end > x.rank || x[x.rank - from_end] == dim(1)) return 0;  // a broadcast axis
    auto const here = next;
    next *= x[x.rank - from_end].extent;
    return here;
  };
  for (std::size_t from_end = 3; from_end <= y.rank; ++from_end) {
    auto const of_a = step(a, from_end, apart[0]), of_b = step(b, from_end, apart[1]);
    all.push_back(y[y.rank - from_end].extent, of_a, of_b);
  }
  return all;
}

/// The rules of an operation that solves op(A) X = B, where op transposes, conjugates, or both; `Op` has
/// `attributes`, `name` and `factor<T>(attributes, matrix, use)`, which calls `use` with a solver unless the matrix is
/// singular.
template <class Op> struct solve_rules {
  static constexpr std::int8_t arity = 2;
  static constexpr dtypes elements = decomposed_elements;

  template <class A> static constexpr type infer(A const&, type const& a, type const& b, checks expects = {}) {
    expect_square(a, "the matrices are not of float32, float64 or complex numbers; cast them",
                  "the first operand is not a square matrix or a batch of them, [..., n, n]", expects);
    expects(a.element == b.element, "the operands have different element types; cast one of them");
    bool const matrices =
        expects(!b.has_rank() || b.rank >= 2, "the right-hand side is not a matrix or a batch of them, [..., n, k]");
    if (!a.has_rank() || !b.has_rank() || a.rank < 2 || !matrices) return type::of_unknown_rank(a.element);
    expects(may_equal(a[a.rank - 1u], b[b.rank - 2u]), "the right-hand side does not have as many rows as the matrix",
            b[b.rank - 2u], a[a.rank - 1u]);
    type y = broadcast(without_last_axes(a, 2), without_last_axes(b, 2), expects);
    y.push_back(b[b.rank - 2u] == unknown ? a[a.rank - 1u] : b[b.rank - 2u]);
    y.push_back(b[b.rank - 1u]);
    return y;
  }

  // op(A) X = B: dB = op(A)^-ᴴ dX, and op(A) gets -dB Xᴴ (M. Giles, Collected matrix derivative results for forward and
  // reverse mode algorithmic differentiation, 2008, section 2.3.1).
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const how = decode<typename Op::attributes>(r.origin().attributes);
    auto back = how;
    back.transposed = !how.transposed, back.conjugated = !how.conjugated;
    V const a = r.in(0), x = r.out();
    V const db = record_erased<Op>(r.graph, back, {a, r.dy()});
    std::vector<gradient> all(2);
    if (r.wanted[0]) {
      V const other = conj(x);
      value const of_a = how.transposed ? rill::detail::matmul_like(other, db, {false, true}, a)
                                        : rill::detail::matmul_like(db, other, {false, true}, a);
      all[0] = Op::part(how, -(how.conjugated ? conj(of_a) : of_a));
    }
    if (r.wanted[1]) all[1] = sum_like(db, r.in(1));
    return all;
  }

  static kernel cpu(kernel_request const& r) {
    auto const how = decode<typename Op::attributes>(r.at.attributes);
    matrix_batch const a(r.inputs[0]), b(r.inputs[1]), x(r.outputs[0]);
    auto const pairs = paired_batches(r.inputs[0], r.inputs[1], r.outputs[0]);
    if (x.empty()) return kernel([](kernel_call const&) {});
    return visit_decomposed(r.inputs[0].element, [&]<class T>() {
      return kernel([=](kernel_call const& call) {
        auto const singular = for_each_matrix(x.count, a.rows * (a.rows + b.columns), call.threads, [&](auto i) {
          work_matrix<T> m = a.in<T>(call.in(0), pairs.a_at(i));
          if (how.transposed) m.transposeInPlace();
          if (how.conjugated) m = m.conjugate().eval();
          work_matrix<T> const right = b.in<T>(call.in(1), pairs.b_at(i));
          return Op::template factor<T>(how, m,
                                        [&](auto const& solver) { x.out<T>(call.out(0), i) = solver.solve(right); });
        });
        expect_all(singular, x.count, Op::name, "is singular (a pivot is 0): the equations have no single solution");
      });
    });
  }
};

}  // namespace rill::ops

namespace rill::detail {

/// Records a solution for matrices or one vector as the right-hand side.
template <class Op, class A, class B> auto solution(A a, B b, typename Op::attributes const& how) {
  auto const erased = [&] {
    if (b.type().has_rank() && b.type().rank == 1)
      return squeeze(record_erased<Op>(graph_of(a), how, {a, expand_dims(value(b), 1)}), -1);
    return record_erased<Op>(graph_of(a), how, {a, b});
  };
  if constexpr (typed<A> && typed<B>) {
    constexpr bool vector = B::static_type.has_rank() && B::static_type.rank == 1;
    using matrix = std::conditional_t<vector, decltype(expand_dims<1>(b)), B>;
    constexpr type result = result_types<Op, typename Op::attributes{}, A, matrix>();
    return expr<vector ? without_axis(result, result.rank - 1u) : result>{erased()};
  } else return erased();
}

}  // namespace rill::detail
