// Sums of products over axes of the same label, made of transpose, reshape, matmul, products and sums. So einsum and
// tensordot need no gradients of their own.
#pragma once
#include <vector>

#include "rill/ops/array/as.hpp"
#include "rill/ops/array/expand_dims.hpp"
#include "rill/ops/array/positions.hpp"
#include "rill/ops/array/transpose.hpp"
#include "rill/ops/math/cast.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/math/select.hpp"
#include "rill/ops/matrix/einsum_equation.hpp"
#include "rill/ops/matrix/matmul.hpp"

namespace rill::contraction {

using ops::axis_labels;

/// A value whose axes have labels.
struct labelled {
  value x;
  axis_labels axes;

  std::size_t rank() const { return axes.size(); }
  bool has(std::int64_t label) const { return axes.contains(label); }
  std::int64_t axis_of(std::int64_t label) const { return std::find(axes.begin(), axes.end(), label) - axes.begin(); }
  dim const& extent(std::int64_t label) const { return x.type()[static_cast<std::size_t>(axis_of(label))]; }
};

/// Returns all labels of the lists, in their order.
inline axis_labels all_of(std::initializer_list<axis_labels> lists) {
  axis_labels all;
  for (auto const& list : lists)
    for (auto const label : list) all.push_back(label);
  return all;
}

/// Returns the labels that satisfy a predicate, in their order.
template <class F> axis_labels labels_if(axis_labels const& labels, F const& f) {
  axis_labels some;
  for (auto const label : labels)
    if (f(label)) some.push_back(label);
  return some;
}

/// Returns the value with its axes in the order of the labels.
inline labelled in_order(labelled const& a, axis_labels const& order) {
  if (a.axes == order) return a;
  extents axes;
  for (auto const label : order) axes.push_back(a.axis_of(label));
  return {transpose(a.x, axes), order};
}

inline labelled without_axes(labelled const& a, axis_labels const& gone) {
  if (gone.empty()) return a;
  extents axes;
  for (auto const label : gone) axes.push_back(a.axis_of(label));
  return {sum(a.x, axes), labels_if(a.axes, [&](auto label) { return !gone.contains(label); })};
}

/// Returns a vector with further axes of extent 1, so that it broadcasts along an axis of x.
inline value along(value vector, value x, std::size_t axis) {
  for (std::size_t i = axis + 1; i < x.type().rank; ++i) vector = expand_dims(vector, -1);
  return vector;
}

/// Returns the diagonals of axes that have the same label. A step fails if their extents turn out to differ.
inline labelled diagonals(labelled a) {
  auto const places = [&](std::size_t axis) { return positions(a.x, static_cast<std::int64_t>(axis), dtype::int64); };
  for (std::size_t i = 0; i < a.rank(); ++i)
    for (std::size_t k = a.rank() - 1; k > i; --k) {
      if (a.axes[k] != a.axes[i]) continue;
      value const rows = reshape_like(places(i), places(k));  // checks the extents
      value const on_diagonal = equal(along(rows, a.x, i), along(places(k), a.x, k));
      a.x = sum(select(on_diagonal, a.x, zero(a.x)), extents{k});
      axis_labels left;
      for (std::size_t j = 0; j < a.rank(); ++j)
        if (j != k) left.push_back(a.axes[j]);
      a.axes = left;
    }
  return a;
}

/// The axes that become the rows, the columns or the summed axis of a matrix product: those merged into one axis, and
/// others, which become axes of the batch because their extents are known only in the step.
struct matrix_axes {
  axis_labels merged, batch;

  // A reshape infers at most one extent.
  matrix_axes(axis_labels const& all, labelled const& a, labelled const& b) : merged(all) {
    if (all.size() < 2) return;
    bool known = true;
    for (auto const label : all) known = known && (a.has(label) ? a : b).extent(label).known();
    auto const open = [](value x) {
      auto const& t = x.type();
      return std::count(t.dims.begin(), t.dims.begin() + t.rank, unknown);
    };
    if (known && open(a.x) + open(b.x) <= 1) return;
    merged = axis_labels{all[all.size() - 1]};
    for (std::size_t i = 0; i + 1 < all.size(); ++i) batch.push_back(all[i]);
  }
};

/// Returns x with `count` axes from `first` on as one axis: a new one of extent 1 for no axes.
inline value merge_axes(value x, std::size_t first, std::size_t count) {
  if (count == 1) return x;
  if (count == 0) return expand_dims(x, static_cast<std::int64_t>(first));
  type const from = x.type();
  type to{from.element};
  for (std::size_t i = 0; i < from.rank; ++i)
    if (i <= first || i >= first + count) to.push_back(from[i]);
    else to[first] = dim(checked_product(to[first].extent, from[i].extent));
  return record_erased<ops::reshape_op>(detail::graph_of(x), {to}, {x});
}

/// Returns the operand of a matrix product: the axes of the batch, and the two axes of the matrices. An axis of the
/// batch that the operand lacks has the extent 1, unless it stands before all others.
inline value matrices(labelled const& a, axis_labels const& batch, axis_labels const& first,
                      axis_labels const& second) {
  auto const own = labels_if(batch, [&](auto label) { return a.has(label); });
  value x = in_order(a, all_of({own, first, second})).x;
  x = merge_axes(x, own.size() + first.size(), second.size());
  x = merge_axes(x, own.size(), first.size());
  std::int64_t at = 0;
  for (auto const label : batch)
    if (a.has(label)) ++at;
    else if (at > 0) x = expand_dims(x, at++);
  return x;
}

/// Returns the sum of products over the labels `summed`, which both operands have, as a matrix product.
inline labelled matrix_product(labelled const& a, labelled const& b, axis_labels const& both,
                               axis_labels const& summed) {
  auto const alone = [&](labelled const& x, labelled const& other) {
    return matrix_axes(labels_if(x.axes, [&](auto label) { return !other.has(label); }), a, b);
  };
  auto const rows = alone(a, b), columns = alone(b, a);
  matrix_axes const inner(summed, a, b);
  auto const batch = all_of({both, rows.batch, columns.batch, inner.batch});
  auto const last = [](labelled const& x, matrix_axes const& m) {
    return m.merged.empty() ? -1 : x.axis_of(m.merged[m.merged.size() - 1]);
  };
  // Operands that lie transposed in memory are read as they lie.
  transposed const t{last(a, inner) < last(a, rows), !columns.merged.empty() && last(b, columns) < last(b, inner)};
  value y = matmul(matrices(a, batch, t.a ? inner.merged : rows.merged, t.a ? rows.merged : inner.merged),
                   matrices(b, batch, t.b ? columns.merged : inner.merged, t.b ? inner.merged : columns.merged), t);
  auto const kept = all_of({both, rows.batch, columns.batch});
  extents gone;
  for (auto i = kept.size(); i < batch.size(); ++i) gone.push_back(static_cast<std::int64_t>(i));
  if (!gone.empty()) y = sum(y, gone);
  type to{y.type().element};
  for (std::size_t i = 0; i < kept.size(); ++i) to.push_back(y.type()[i]);
  for (auto const label : rows.merged) to.push_back(a.extent(label));
  for (auto const label : columns.merged) to.push_back(b.extent(label));
  if (rows.merged.size() > 1 || columns.merged.size() > 1) {
    y = record_erased<ops::reshape_op>(detail::graph_of(y), {to}, {y});
  } else {
    if (rows.merged.empty()) y = squeeze(y, -2);
    if (columns.merged.empty()) y = squeeze(y, -1);
  }
  return {y, all_of({kept, rows.merged, columns.merged})};
}

/// Returns the products of all elements of a and b that have the same places along `both`.
inline labelled outer_product(labelled const& a, labelled const& b, axis_labels const& both) {
  auto const rows = labels_if(a.axes, [&](auto label) { return !b.has(label); });
  auto const columns = labels_if(b.axes, [&](auto label) { return !a.has(label); });
  value x = in_order(a, all_of({both, rows})).x, y = in_order(b, all_of({both, columns})).x;
  for (std::size_t i = 0; i < columns.size(); ++i) x = expand_dims(x, -1);
  for (std::size_t i = 0; i < rows.size() && !both.empty(); ++i)
    y = expand_dims(y, static_cast<std::int64_t>(both.size()));
  return {mul(x, y), all_of({both, rows, columns})};
}

/// Returns the products of a and b, summed over the labels that are not `kept`.
inline labelled contract(labelled a, labelled b, axis_labels const& kept) {
  auto const needed_by = [&](labelled const& other) {
    return [&](auto label) { return !other.has(label) && !kept.contains(label); };
  };
  auto const only_a = labels_if(a.axes, needed_by(b)), only_b = labels_if(b.axes, needed_by(a));
  a = without_axes(a, only_a), b = without_axes(b, only_b);
  auto const both = labels_if(a.axes, [&](auto label) { return b.has(label) && kept.contains(label); });
  auto const summed = labels_if(a.axes, [&](auto label) { return b.has(label) && !kept.contains(label); });
  return summed.empty() ? outer_product(a, b, both) : matrix_product(a, b, both, summed);
}

/// Whether a contraction is one product: each label belongs to both operands or to the result, and at most one is
/// summed over.
inline bool is_plain_product(labelled const& a, labelled const& b, axis_labels const& result) {
  return std::all_of(a.axes.begin(), a.axes.end(),
                     [&](auto label) { return b.has(label) || result.contains(label); }) &&
         std::all_of(b.axes.begin(), b.axes.end(),
                     [&](auto label) { return a.has(label) || result.contains(label); }) &&
         std::count_if(a.axes.begin(), a.axes.end(),
                       [&](auto label) { return b.has(label) && !result.contains(label); }) <= 1;
}

/// Returns the product of all values from left to right, summed over the labels that the result lacks.
inline value contract(std::vector<labelled> all, axis_labels const& result) {
  // Several products, or sums before and after one, of 16-bit floats are computed as float32. One product alone is an
  // operation that rounds once.
  auto const element = all[0].x.type().element;
  bool const one = all.size() == 2 && is_plain_product(all[0], all[1], result);
  for (auto& each : all)
    if (!one) each.x = rill::detail::widened(each.x);
  labelled y = all[0];
  for (std::size_t i = 1; i < all.size(); ++i) {
    auto const needed = [&](auto label) {
      return result.contains(label) || std::any_of(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end(),
                                                   [&](labelled const& later) { return later.has(label); });
    };
    auto const labels = labels_if(y.axes, needed), more = labels_if(all[i].axes, needed);
    y = contract(y, all[i], all_of({labels, labels_if(more, [&](auto label) { return !labels.contains(label); })}));
  }
  y.x = in_order(without_axes(y, labels_if(y.axes, [&](auto label) { return !result.contains(label); })), result).x;
  return cast(y.x, element);
}

}  // namespace rill::contraction
