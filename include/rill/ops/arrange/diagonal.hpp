// Diagonals and triangles of matrices.
#pragma once
#include <algorithm>

#include "rill/ops/arrange/range.hpp"
#include "rill/ops/array/expand_dims.hpp"
#include "rill/ops/array/extents_of.hpp"
#include "rill/ops/array/merge_axes.hpp"
#include "rill/ops/array/positions.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/math/select.hpp"
#include "rill/ops/table/gather_axis.hpp"

namespace rill {

namespace ops {

/// The type of the diagonals of matrices, which are made of other operations.
struct diagonals {
  static constexpr std::string_view name = "diag_part";
  static constexpr std::int8_t arity = 1;
  static constexpr type infer(no_attributes, type const& x, checks expects = {}) {
    if (!x.has_rank()) return x;
    if (!expects(x.rank >= 2, "diag_part: the operand is not a matrix, or an array of matrices")) return x;
    type y{x.element};
    for (std::size_t i = 0; i + 2 < x.rank; ++i) y.push_back(x[i]);
    auto const &rows = x[x.rank - std::size_t{2}], &columns = x[x.rank - std::size_t{1}];
    bool const known = rows.known() && columns.known();
    y.push_back(known ? dim(std::min(rows.extent, columns.extent)) : rows == columns ? rows : unknown);
    return y;
  }
};

/// The rules of lower_triangle and upper_triangle.
template <bool Lower> struct triangle {
  static constexpr std::string_view name = Lower ? "lower_triangle" : "upper_triangle";
  static constexpr std::int8_t arity = 1;
  static constexpr type infer(no_attributes, type const& x, checks expects = {}) {
    expects(!x.has_rank() || x.rank >= 2, "expected a matrix or an array of matrices");
    return x;
  }
};

}  // namespace ops

namespace detail {

/// Returns for each element of a matrix of x's last two extents its column less its row.
template <operand X> auto columns_less_rows(X x) {
  return positions<-1, std::int64_t>(x) - expand_dims<1>(positions<-2, std::int64_t>(x));
}

}  // namespace detail

/// Returns the elements of x, a matrix or an array of matrices, on and below a diagonal, with zeros above it. Diagonal
/// 0 is the main one, 1 the one above, -1 the one below.
template <operand X> auto lower_triangle(X x, std::int64_t diagonal = 0) {
  using rules = ops::triangle<true>;
  if constexpr (detail::is_refused<rules, no_attributes{}, X>()) return detail::refuse<rules, no_attributes{}, X>();
  else {
    if constexpr (!typed<X>) (void)rules::infer({}, value(x).type());
    return select(less_equal(detail::columns_less_rows(x), diagonal), x, zero(x));
  }
}
/// Returns the elements of x on and above a diagonal, with zeros below it.
template <operand X> auto upper_triangle(X x, std::int64_t diagonal = 0) {
  using rules = ops::triangle<false>;
  if constexpr (detail::is_refused<rules, no_attributes{}, X>()) return detail::refuse<rules, no_attributes{}, X>();
  else {
    if constexpr (!typed<X>) (void)rules::infer({}, value(x).type());
    return select(greater_equal(detail::columns_less_rows(x), diagonal), x, zero(x));
  }
}

/// Returns a matrix with x, a vector, on its diagonal and zeros elsewhere; of an array of vectors, along the last axis,
/// an array of matrices.
template <operand X> auto diag(X x) {
  auto const along = positions<-1>(x);
  return select(equal(along, expand_dims<1>(along)), expand_dims<-1>(x), zero(x));
}

/// Returns the main diagonals of x, a matrix or an array of matrices.
template <operand X> auto diag_part(X x) {
  if constexpr (typed<X>) {
    detail::provide_kernels<ops::scatter_like_op, X::static_type.element>();
    return expr<detail::result_types<ops::diagonals, no_attributes{}, X>()>{diag_part(value(x))};
  } else {
    value const matrices = x;
    (void)ops::diagonals::infer({}, matrices.type());
    auto const& t = matrices.type();
    expects(t.has_rank(), "diag_part: the operand's rank must be known");
    auto const row = static_cast<std::int64_t>(t.rank) - 2, column = row + 1;
    dim const rows = t[t.rank - std::size_t{2}], columns = t[t.rank - std::size_t{1}];
    // In row-major order the elements of a diagonal are a row and an element apart.
    auto& g = detail::graph_of(matrices);
    value which;
    if (rows.known() && columns.known()) {
      auto const apart = columns.extent + 1;
      which = range(g, 0, std::min(rows.extent, columns.extent) * apart, apart);
    } else {
      value const all = extents_of(matrices), height = gather(all, value(constant(g, row))),
                  width = gather(all, value(constant(g, column))), apart = width + 1;
      which = range(0, minimum(height, width) * apart, apart);
    }
    return gather(merge_axes(matrices, -2, 2), which, -1);
  }
}

/// Returns the sum of the elements on the main diagonal of x, a matrix; of an array of matrices one sum for each.
template <operand X> auto trace(X x) { return sum<-1>(diag_part(x)); }

}  // namespace rill
