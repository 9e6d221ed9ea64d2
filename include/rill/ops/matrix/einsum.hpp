// Sums of products by Einstein's convention: einsum, and products that are special cases of it.
#pragma once
#include "rill/base/fixed_string.hpp"
#include "rill/ops/matrix/contraction.hpp"

namespace rill {

namespace ops {

/// The rules of `einsum` for typed handles.
template <fixed_string Equation> struct einsum_rules {
  static constexpr std::string_view name = "einsum";
  static constexpr type infer(no_attributes, std::span<type const> x, checks expects) {
    return einsum_equation(Equation, x, expects).result_type();
  }
};

/// The rules of `tensordot` for typed handles: axis a[i] of x is summed with axis b[i] of y.
struct tensordot_rules {
  static constexpr std::string_view name = "tensordot";
  static constexpr std::int8_t arity = 2;
  struct attributes {
    extents a, b;
  };
  /// Returns the axes of a list, counted from the front.
  static constexpr extents checked(extents const& axes, type const& x, checks expects = {}) {
    extents all;
    for (auto const axis : axes) {
      auto const at = static_cast<std::int64_t>(
          checked_axis(axis, x.rank, "tensordot: an axis is out of range for the operand's rank", expects));
      expects(!all.contains(at), "tensordot: an operand's axis is named twice");
      all.push_back(at);
    }
    return all;
  }
  static constexpr type infer(attributes const& with, type const& x, type const& y, checks expects = {}) {
    expects(x.element == y.element, "tensordot: the operands have different element types; cast one of them");
    expects(dtypes::numbers.contains(x.element), "tensordot: the operands are not of numbers; cast them");
    if (!expects(x.has_rank() && y.has_rank(), "tensordot: the rank of an operand is not known; give it one by as"))
      return x;
    if (!expects(with.a.size() == with.b.size(), "tensordot: the two lists of axes have different lengths")) return x;
    auto const a = checked(with.a, x, expects), b = checked(with.b, y, expects);
    for (std::size_t i = 0; i < a.size(); ++i)
      agree(x[static_cast<std::size_t>(a[i])], y[static_cast<std::size_t>(b[i])],
            "tensordot: axes that are summed together have different extents", expects);
    type z{x.element};
    for (std::size_t i = 0; i < x.rank; ++i)
      if (!a.contains(static_cast<std::int64_t>(i))) z.push_back(x[i]);
    for (std::size_t i = 0; i < y.rank; ++i)
      if (!b.contains(static_cast<std::int64_t>(i))) z.push_back(y[i]);
    return z;
  }
};

}  // namespace ops

namespace detail {

/// Gives header-only programs the kernels that contractions consist of.
template <dtype E> void provide_contraction_kernels() {
  provide_kernels<ops::matmul_op, E>();
  provide_kernels<ops::matmul_like_op, E>();
  provide_kernels<ops::mul_op, E>();
  provide_kernels<ops::sum_op, E>();
  provide_kernels<ops::select_op, E>();
}

/// Returns the axes 0, 1, …, n - 1, from `first` on.
constexpr extents axes_from(std::int64_t first, std::int64_t n) {
  extents all;
  for (std::int64_t i = 0; i < n; ++i) all.push_back(first + i);
  return all;
}

/// Returns the type of a matrix whose rows and columns are the first and the last two of four axes.
constexpr type in_pairs(type const& x) {
  auto const pair = [](dim const& a, dim const& b) {
    return a.known() && b.known() ? dim(checked_product(a.extent, b.extent)) : unknown;
  };
  return {x.element, {pair(x[0], x[1]), pair(x[2], x[3])}};
}

/// Merges the axes of blocks [i, k, j, l] in pairs: i and k, j and l; x is [i, j] and y [k, l].
inline value merge_pairs(value blocks, value x, value y) try {
  type const to = in_pairs(blocks.type());
  if (to[0].known() || to[1].known()) return record_erased<ops::reshape_op>(graph_of(blocks), {to}, {blocks});
  auto const pairs = [&](std::int64_t summed) {  // a value with as many rows as there are pairs
    return flatten_rows(expand_dims(expand_dims(sum(x, {summed}), 1) * sum(y, {summed}), 2));
  };
  return reshape_like(blocks, pairs(1) + transpose(pairs(0), {}));
} catch (...) {
  rethrow_as_error();
}

}  // namespace detail

/// Returns the sum of products that an equation names, for instance `einsum("bij,bjk->bik", {x, y})`: a letter stands
/// for the axes of all operands that have it; letters that the result lacks are summed. Without "->" the result has the
/// letters that occur once, in alphabetical order. A letter that an operand has twice stands for a diagonal; "..." for
/// all further axes, the last ones together. Extents of a letter must be equal; an extent of 1 broadcasts, where it is
/// known while the graph is recorded. More than two operands are multiplied from left to right; order them so that
/// intermediate products are small. A pair with a letter to sum is a matrix product, any other a product that
/// broadcasts.
inline value einsum(std::string_view equation, std::vector<value> const& x) try {
  std::vector<type> types;
  for (auto const& each : x) {
    detail::graph_of(each);  // refuses an empty handle
    types.push_back(each.type());
  }
  ops::einsum_equation const rules(equation, types);
  std::vector<contraction::labelled> all;
  for (std::size_t i = 0; i < x.size(); ++i) {
    auto a = contraction::diagonals({x[i], rules.operand(i)});
    for (auto const label : a.axes)
      if (a.extent(label) == dim(1) && rules.extent(label) != dim(1)) {
        auto const axis = a.axis_of(label);
        a = {squeeze(a.x, axis), contraction::labels_if(a.axes, [&](auto other) { return other != label; })};
      }
    all.push_back(a);
  }
  return as(contraction::contract(all, rules.result()), rules.result_type());
} catch (...) {
  rethrow_as_error();
}
/// Returns the same for an equation that is checked while the program compiles: `einsum<"bij,bjk->bik">(x, y)`.
template <fixed_string Equation, operand... X> auto einsum(X... x) try {
  if constexpr ((typed<X> && ...)) {
    constexpr type result = detail::result_types<ops::einsum_rules<Equation>, no_attributes{}, X...>();
    detail::provide_contraction_kernels<result.element>();
    return expr<result>{einsum(Equation, {value(x)...})};
  } else return einsum(Equation, {value(x)...});
} catch (...) {
  rethrow_as_error();
}

/// Returns the sums of products over axis `a[i]` of x and axis `b[i]` of y together, for all i: the other axes of x,
/// then those of y. A negative axis counts from the end.
inline value tensordot(value x, value y, extents const& a, extents const& b) try {
  auto const &from = x.type(), &with = y.type();
  auto const result = ops::tensordot_rules::infer({a, b}, from, with);
  auto const of_x = ops::tensordot_rules::checked(a, from), of_y = ops::tensordot_rules::checked(b, with);
  ops::axis_labels left = detail::axes_from(0, from.rank), right = detail::axes_from(from.rank, with.rank), kept;
  for (std::size_t i = 0; i < of_x.size(); ++i) right[static_cast<std::size_t>(of_y[i])] = of_x[i];
  for (auto const label : left)
    if (!of_x.contains(label)) kept.push_back(label);
  for (auto const label : right)
    if (label >= from.rank) kept.push_back(label);
  return as(contraction::contract({{x, left}, {y, right}}, kept), result);
} catch (...) {
  rethrow_as_error();
}
/// Returns the same for the last `n` axes of x and the first n of y, in their order.
inline value tensordot(value x, value y, std::int64_t n) try {
  expects(n >= 0 && x.type().has_rank() && n <= x.type().rank, "tensordot: the first operand has fewer axes than that");
  return tensordot(x, y, detail::axes_from(x.type().rank - n, n), detail::axes_from(0, n));
} catch (...) {
  rethrow_as_error();
}
/// Returns the same with lists of axes that are checked while the program compiles: `tensordot<extents{1},
/// extents{0}>(x, y)`.
template <extents A, extents B, operand X, operand Y> auto tensordot(X x, Y y) {
  if constexpr (typed<X> && typed<Y>) {
    constexpr type result = detail::result_types<ops::tensordot_rules, ops::tensordot_rules::attributes{A, B}, X, Y>();
    detail::provide_contraction_kernels<result.element>();
    return expr<result>{tensordot(value(x), value(y), A, B)};
  } else return tensordot(value(x), value(y), A, B);
}
/// Returns the same for the last N axes of x and the first N of y: `tensordot<2>(x, y)`.
template <std::int64_t N, operand X, operand Y> auto tensordot(X x, Y y) {
  return tensordot<detail::axes_from(-N, N), detail::axes_from(0, N)>(x, y);
}

/// Returns the products of each element of a vector with each of another: a matrix.
template <operand X, operand Y> auto outer(X x, Y y) { return einsum<"i,j->ij">(x, y); }
/// Returns the sum of products of two vectors' elements.
template <operand X, operand Y> auto dot(X x, Y y) { return einsum<"i,i->">(x, y); }
/// Returns the same with the complex conjugates of the first vector.
template <operand X, operand Y> auto vdot(X x, Y y) { return einsum<"i,i->">(conj(x), y); }
/// Returns the sums of products over the last axes of both operands, as NumPy's `inner`: [a, k] and [b, k] give [a, b].
template <operand X, operand Y> auto inner(X x, Y y) { return tensordot<extents{-1}, extents{-1}>(x, y); }
/// Returns the Kronecker product of two matrices: blocks of y, one for each element of x, by which it is multiplied.
template <operand X, operand Y> auto kron(X x, Y y) {
  auto const blocks = einsum<"ij,kl->ikjl">(x, y);
  if constexpr (typed<decltype(blocks)>)
    return expr<detail::in_pairs(decltype(blocks)::static_type)>{detail::merge_pairs(blocks, x, y)};
  else return detail::merge_pairs(blocks, x, y);
}

}  // namespace rill
