// Arrays that loops write row by row, as two values: the rows, and which of them are written (EuroSys'18 §4.2).
#pragma once
#include <string>
#include <tuple>
#include <vector>

#include "rill/ops/array/constant.hpp"
#include "rill/ops/array/fill.hpp"
#include "rill/ops/array/reshape.hpp"
#include "rill/ops/table/gather.hpp"

namespace rill::ops {

/// Checks that `written` has a bool for each of the rows.
constexpr void expect_array(type const& rows, type const& written, checks expects = {}) {
  expects(!rows.has_rank() || rows.rank > 0, "tensor_array: the rows are a scalar");
  expects(written.element == dtype::boolean && (!written.has_rank() || written.rank == 1),
          "tensor_array: which rows are written is not a vector of bool");
  expects(!rows.has_rank() || !written.has_rank() || may_equal(rows[0], written[0]),
          "tensor_array: `written` does not have a bool for each row");
}

struct array_new_op {
  using library = void;
  static constexpr std::string_view
      name = "array_new",
      doc = "an array with as many rows as the first operand, each of the second operand's extents; no row is written";
  static constexpr std::int8_t arity = 2;
  static constexpr std::size_t outputs = 2;
  static constexpr std::uint32_t shape_only = 0b11;
  struct attributes {
    dtype element = dtype::float32;
    static constexpr auto fields(auto const& take) { return take(field{"element", &attributes::element}); }
  };
  static constexpr std::array<type, 2> infer(attributes const& a, type const& like, type const& row,
                                             checks expects = {}) {
    expects(!like.has_rank() || like.rank > 0, "tensor_array: a scalar has no rows");
    dim const count = like.has_rank() ? like[0] : unknown;
    return {stacked(row.with(a.element), count, expects), type(dtype::boolean, {count})};
  }
  static kernel cpu(kernel_request const& r);
};

struct array_full_op {
  using library = void;
  static constexpr std::string_view name = "array_full", doc = "true for each row of a value: every row is written";
  static constexpr std::int8_t arity = 1;
  static constexpr std::uint32_t shape_only = 0b1;
  static constexpr type infer(no_attributes, type const& rows, checks expects = {}) {
    expects(!rows.has_rank() || rows.rank > 0, "tensor_array: a scalar has no rows");
    return type(dtype::boolean, {rows.has_rank() ? rows[0] : unknown});
  }
  static kernel cpu(kernel_request const& r);
};

struct array_write_op {
  using library = void;
  static constexpr std::string_view name = "array_write",
                                    doc = "an array with rows written, none of which was written before";
  static constexpr std::int8_t arity = 4;
  static constexpr std::size_t outputs = 2;
  static constexpr std::uint32_t updates_in_place = 0b11;
  static constexpr std::array<type, 2> infer(no_attributes, type const& rows, type const& written, type const& which,
                                             type const& values, checks expects = {}) {
    expect_array(rows, written, expects);
    expects(dtypes::indices.contains(which.element), "tensor_array: the index is neither int32 nor int64");
    expects(values.element == rows.element && accepts(gathered(rows, which, expects), values),
            "tensor_array: the values do not have the type of the array's rows");
    return {rows, written};
  }
  static cost work(no_attributes, std::span<type const> in, std::span<type const>) {
    return {0, 2 * rill::detail::bytes_of(in.subspan(2))};
  }
  // No row is read before it is written, so the derivative with respect to the old rows needs no zeros.
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    std::vector<gradient> all(4);
    if (!r.dy(0)) return all;
    if (r.wanted[0]) all[0] = r.dy(0);
    if (r.wanted[3]) all[3] = gather(V(r.dy(0)), r.in(2));
    return all;
  }
  static kernel cpu(kernel_request const& r);
};

struct array_read_op {
  using library = void;
  static constexpr std::string_view
      name = "array_read",
      doc = "the rows of an array at indices of any rank; they must be written; the derivative is sparse";
  static constexpr std::int8_t arity = 3;
  static constexpr type infer(no_attributes, type const& rows, type const& written, type const& which,
                              checks expects = {}) {
    expect_array(rows, written, expects);
    expects(dtypes::indices.contains(which.element), "tensor_array: the index is neither int32 nor int64");
    return gathered(rows, which, expects);
  }
  static cost work(no_attributes, std::span<type const> in, std::span<type const> out) {
    return {0, 2 * rill::detail::bytes_of(out) + rill::detail::bytes_of(in.subspan(2))};
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    std::vector<gradient> all(3);
    if (r.wanted[0]) all[0] = gradient(flat_indices(V(r.in(2))), flat_rows(V(r.dy()), r.in(0), r.in(2)));
    return all;
  }
  static kernel cpu(kernel_request const& r);
};

struct array_stack_op {
  using library = void;
  static constexpr std::string_view name = "array_stack",
                                    doc = "the rows of an array as one value; all must be written";
  static constexpr std::int8_t arity = 2;
  static constexpr std::uint32_t updates_in_place = 0b1;
  static constexpr type infer(no_attributes, type const& rows, type const& written, checks expects = {}) {
    expect_array(rows, written, expects);
    return rows;
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    std::vector<gradient> all(2);
    all[0] = r.dy();
    return all;
  }
  static kernel cpu(kernel_request const& r);
};

}  // namespace rill::ops

namespace rill {

/// An array of N rows of type Row, `tensor_array<of<float, 64>> a(g, 10)`, which loops write row by row. `write`
/// returns a new array, computed in place if nothing else reads the old one. A row must be written once, before it is
/// read: otherwise the step fails with error(failed_precondition); it fails with error(invalid_argument) for an index
/// out of range. An array can be a variable of while_loop and fold, and the result of cond. The derivative with respect
/// to a row before it is written has no meaning.
template <type Row, dim N = unknown> class tensor_array {
 public:
  /// The values that make up the array, for operations with bodies.
  using parts = std::tuple<expr<stacked(Row, N)>, expr<of<bool, N>>>;
  static_assert(Row.has_rank(), "tensor_array: the rank of a row must be known");
  /// Makes an array of `count` rows, none of them written.
  explicit tensor_array(graph& g, std::int64_t count = N.extent)
      : tensor_array(empty(filled(g, count), filled(g, Row))) {
    expects(!N.known() || N.extent == count, "tensor_array: the number of rows differs from its static type");
  }
  /// Returns an array of as many unwritten rows as x has, with the extents of `row`.
  template <operand X, operand R> static tensor_array like(X x, R row) {
    if constexpr (typed<R>)
      static_assert(accepts(Row, R::static_type.with(Row.element)),
                    "tensor_array: the row does not have the type of the array's rows");
    return empty(x, row);
  }
  explicit tensor_array(parts const& p) : rows_(std::get<0>(p)), written_(std::get<1>(p)) {}
  parts as_parts() const { return {rows_, written_}; }

  /// Returns the array with `values` written at an index; or, for indices of any rank, a row of `values` at each.
  template <operand Index, operand X> tensor_array write(Index index, X values) const {
    check_index<Index>();
    if constexpr (typed<Index> && typed<X>)
      static_assert(X::static_type.element == Row.element &&
                        accepts(ops::gathered(stacked(Row, N), Index::static_type), X::static_type),
                    "tensor_array: the values do not have the type of the array's rows");
    return tensor_array(record_erased<ops::array_write_op>(*rows_.graph, {}, {rows_, written_, index, values}));
  }
  /// Does the same under its name in TensorFlow.
  template <operand Index, operand X> tensor_array scatter(Index which, X values) const { return write(which, values); }

  /// Returns the row at an index; or, for indices of any rank, a row for each.
  template <operand Index> auto read(Index index) const {
    check_index<Index>();
    return record<ops::array_read_op>(rows_, written_, index);
  }
  template <operand Index> auto gather(Index which) const { return read(which); }
  /// Returns all rows, as one value.
  auto stack() const { return record<ops::array_stack_op>(rows_, written_); }
  /// Returns all rows joined along their first axis.
  auto concat() const {
    static_assert(Row.rank > 0, "tensor_array: scalars can't be concatenated: stack them");
    constexpr auto joined = [] {
      type t = row_of(Row);
      return stacked(t, N.known() && Row[0].known() ? dim(N.extent * Row[0].extent) : unknown);
    }();
    extents shape{-1};
    for (std::size_t i = 1; i < Row.rank; ++i) shape.push_back(Row[i].extent);
    return expr<joined>{reshape(value(stack()), shape)};
  }
  /// Returns the rows, zeros where none was written; `written` returns which were.
  expr<stacked(Row, N)> rows() const { return rows_; }
  expr<of<bool, N>> written() const { return written_; }

 private:
  template <class Index> static void check_index() {
    if constexpr (typed<Index>)
      static_assert(dtypes::indices.contains(Index::static_type.element),
                    "tensor_array: the index is neither int32 nor int64");
  }
  explicit tensor_array(value node) : tensor_array(parts{{node}, {{node.graph, node.node, 1}}}) {}
  static tensor_array empty(value like, value row) {
    return tensor_array(record_erased<ops::array_new_op>(*like.graph, {Row.element}, {like, row}));
  }
  static value filled(graph& g, shape const& s) { return fill(value(constant(g, false)), s); }
  static value filled(graph& g, type const& row) {
    expects(row.is_known(), "tensor_array: the extents of a row must be known; `like` takes them from a value");
    return filled(g, row.shape());
  }
  static value filled(graph& g, std::int64_t count) {
    expects(count >= 0, "tensor_array: the number of rows is negative");
    return filled(g, shape{count});
  }

  expr<stacked(Row, N)> rows_;
  expr<of<bool, N>> written_;
};

/// Returns an array of as many unwritten rows as x has, each of the type of `row`: `tensor_array_like(sequence,
/// state)`.
template <typed X, typed R> auto tensor_array_like(X x, R row) {
  static_assert(X::static_type.rank > 0, "tensor_array: a scalar has no rows");
  return tensor_array<R::static_type, X::static_type[0]>::like(x, row);
}
/// Returns an array of the rows of x, all written.
template <typed X> auto tensor_array_from(X x) {
  constexpr bool has_rows = X::static_type.rank > 0;
  static_assert(has_rows, "tensor_array: a scalar has no rows");
  if constexpr (has_rows) {
    using array = tensor_array<row_of(X::static_type), X::static_type[0]>;
    return array(typename array::parts{x, record<ops::array_full_op>(x)});
  } else return detail::refused{};
}
/// Returns an array of pieces of x of `Length` rows each, all written. The number of rows of x must be a multiple of
/// `Length`.
template <std::int64_t Length, typed X> auto tensor_array_from(X x) {
  constexpr auto t = X::static_type;
  static_assert(t.rank > 0, "tensor_array: a scalar can't be split");
  static_assert(Length > 0 && (!t[0].known() || t[0].extent % Length == 0),
                "tensor_array: the rows can't be split in pieces of that length");
  constexpr auto piece = stacked(row_of(t), Length);
  extents shape{-1};
  for (std::size_t i = 0; i < piece.rank; ++i) shape.push_back(piece[i].extent);
  return tensor_array_from(
      expr<stacked(piece, t[0].known() ? dim(t[0].extent / Length) : unknown)>{reshape(value(x), shape)});
}

}  // namespace rill

#include "rill/ops/table/tensor_array.ipp"
