// Arrays of tensors that loops write row by row, as values: the rows, and which of them are written (EuroSys'18 §4.2).
#pragma once
#include <string>
#include <tuple>
#include <vector>

#include "rill/ops/array/constant.hpp"
#include "rill/ops/array/fill.hpp"
#include "rill/ops/array/reshape.hpp"
#include "rill/ops/table/gather.hpp"

#if RILL_DEFINITIONS
#include "rill/tensor/elements.hpp"
#endif

namespace rill::ops {

/// That `written` says of each of the rows whether it is.
constexpr void expect_array(type const& rows, type const& written, checks expects = {}) {
  expects(!rows.has_rank() || rows.rank > 0, "tensor_array: the rows are a scalar");
  expects(written.element == dtype::boolean && (!written.has_rank() || written.rank == 1),
          "tensor_array: which rows are written is not a vector of bool");
  expects(!rows.has_rank() || !written.has_rank() || may_equal(rows[0], written[0]),
          "tensor_array: there is not a mark for each row");
}

struct array_new_op {
  using library = void;
  static constexpr std::string_view name = "array_new",
                                    doc = "an array with as many rows as one value, each like another; none is written";
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
    return {stacked(row.with(a.element), count), type(dtype::boolean, {count})};
  }
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    return kernel([of = r.outputs[0]](kernel_call const& call) {
      clear_elements(of.element, call.out(0), static_cast<std::size_t>(rill::elements(of.shape())));
      clear_elements(dtype::boolean, call.out(1), static_cast<std::size_t>(of[0].extent));
    });
  }
#endif
};

struct array_full_op {
  using library = void;
  static constexpr std::string_view name = "array_full", doc = "true for each row of a value: all are written";
  static constexpr std::int8_t arity = 1;
  static constexpr std::uint32_t shape_only = 0b1;
  static constexpr type infer(no_attributes, type const& rows, checks expects = {}) {
    expects(!rows.has_rank() || rows.rank > 0, "tensor_array: a scalar has no rows");
    return type(dtype::boolean, {rows.has_rank() ? rows[0] : unknown});
  }
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    return kernel([n = r.outputs[0][0].extent](kernel_call const& call) { std::fill_n(call.out<bool>(0), n, true); });
  }
#endif
};

#if RILL_DEFINITIONS
/// What kernels of arrays share: the indices, and how large a row is.
class array_rows {
 public:
  array_rows(type const& rows, type const& which)
      : read_(which, rows[0].extent), element_(rows.element), count_(static_cast<std::size_t>(rows[0].extent)) {
    for (std::size_t i = 1; i < rows.rank; ++i) width_ *= static_cast<std::size_t>(rows[i].extent);
  }
  /// Copies the whole array, unless it lies where it is to be.
  void keep(kernel_call const& call) const {
    if (call.in(0) != call.out(0)) copy_elements(element_, call.out(0), call.in(0), count_ * width_);
    if (call.in(1) != call.out(1)) copy_elements(dtype::boolean, call.out(1), call.in(1), count_);
  }
  void write(kernel_call const& call) const {
    auto const* which = call.in(2);
    auto const* const before = call.in<bool>(1);
    read_.check(which);
    for (std::size_t i = 0; i < read_.count(); ++i)
      if (before[read_.at(which, i)]) refuse(read_.at(which, i), "was written before: a row is written once");
    keep(call);
    auto* const written = call.out<bool>(1);
    for (std::size_t i = 0; i < read_.count(); ++i) {
      auto const row = read_.at(which, i);
      if (std::exchange(written[row], true)) refuse(row, "is written twice by one write: a row is written once");
      copy(at(call.out(0), row), at(call.in(3), static_cast<std::int64_t>(i)));
    }
  }
  void read(kernel_call const& call) const {
    auto const* which = call.in(2);
    read_.check(which);
    for (std::size_t i = 0; i < read_.count(); ++i)
      if (!call.in<bool>(1)[read_.at(which, i)]) refuse(read_.at(which, i), "is read, and was never written");
    for (std::size_t i = 0; i < read_.count(); ++i)
      copy(at(call.out(0), static_cast<std::int64_t>(i)), at(call.in(0), read_.at(which, i)));
  }

 private:
  [[noreturn]] static void refuse(std::int64_t row, char const* why) {
    throw error(code::failed_precondition, "tensor_array: row " + std::to_string(row) + " " + why);
  }
  void* at(void const* rows, std::int64_t row) const {
    return static_cast<std::byte*>(const_cast<void*>(rows)) +
           static_cast<std::size_t>(row) * width_ * size_of(element_);
  }
  void copy(void* to, void const* from) const { copy_elements(element_, to, from, width_); }

  index_reader read_;
  dtype element_;
  std::size_t count_, width_ = 1;
};
#endif

struct array_write_op {
  using library = void;
  static constexpr std::string_view name = "array_write",
                                    doc = "an array with rows written that no one has written before";
  static constexpr std::int8_t arity = 4;
  static constexpr std::size_t outputs = 2;
  static constexpr std::uint32_t updates_in_place = 0b11;
  static constexpr std::array<type, 2> infer(no_attributes, type const& rows, type const& written, type const& which,
                                             type const& values, checks expects = {}) {
    expect_array(rows, written, expects);
    expects(dtypes::indices.contains(which.element), "tensor_array: the index is neither int32 nor int64");
    expects(values.element == rows.element && accepts(gathered(rows, which, expects), values),
            "tensor_array: what is written is not of the type of the array's rows");
    return {rows, written};
  }
  static cost work(no_attributes, std::span<type const> in, std::span<type const>) {
    return {0, 2 * rill::detail::bytes_of(in.subspan(2))};
  }
  // Nobody reads a row before it is written, so the derivative with respect to the rows before needs no zeros there.
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    std::vector<gradient> all(4);
    if (!r.dy(0)) return all;
    if (r.wanted[0]) all[0] = r.dy(0);
    if (r.wanted[3]) all[3] = gather(V(r.dy(0)), r.in(2));
    return all;
  }
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    return kernel([rows = array_rows(r.inputs[0], r.inputs[2])](kernel_call const& call) { rows.write(call); });
  }
#endif
};

struct array_read_op {
  using library = void;
  static constexpr std::string_view name = "array_read",
                                    doc =
                                        "the rows of an array that indices of any rank name; they must be written. "
                                        "The gradient is sparse";
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
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    return kernel([rows = array_rows(r.inputs[0], r.inputs[2])](kernel_call const& call) { rows.read(call); });
  }
#endif
};

struct array_stack_op {
  using library = void;
  static constexpr std::string_view name = "array_stack", doc = "the rows of an array, all of which must be written";
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
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    return kernel([of = r.outputs[0]](kernel_call const& call) {
      auto const* const written = call.in<bool>(1);
      auto const* const end = written + of[0].extent;
      if (auto const* const missing = std::find(written, end, false); missing != end)
        throw error(code::failed_precondition,
                    "tensor_array: row " + std::to_string(missing - written) + " was never written");
      if (call.in(0) != call.out(0))
        copy_elements(of.element, call.out(0), call.in(0), static_cast<std::size_t>(rill::elements(of.shape())));
    });
  }
#endif
};

}  // namespace rill::ops

namespace rill {

/// An array of N rows of type Row (`tensor_array<of<float, 64>> a(g, 10)`), which loops write one after the other: a
/// value like others, of which `write` makes a new one (in place where nobody looks at the old one). A row is written
/// once, and read when it is written; a step fails with error(failed_precondition) otherwise, and with
/// error(invalid_argument) for an index outside. An array can be a variable of while_loop and fold, and the result of a
/// cond. The gradient of all that it does is that of its rows; the gradient with respect to a row that is written later
/// means nothing.
template <type Row, dim N = unknown> class tensor_array {
 public:
  /// What it is made of, for operations with bodies.
  using parts = std::tuple<expr<stacked(Row, N)>, expr<of<bool, N>>>;
  static_assert(Row.has_rank(), "tensor_array: the rank of a row must be known");
  /// `count` rows, none of them written.
  explicit tensor_array(graph& g, std::int64_t count = N.extent)
      : tensor_array(empty(filled(g, count), filled(g, Row))) {
    expects(!N.known() || N.extent == count, "tensor_array: there are other numbers of rows than its type says");
  }
  /// As many rows as x has, none of them written; all like `row`, whatever its elements are.
  template <operand X, operand R> static tensor_array like(X x, R row) {
    if constexpr (typed<R>)
      static_assert(accepts(Row, R::static_type.with(Row.element)), "tensor_array: the row is not like the array's");
    return empty(x, row);
  }
  explicit tensor_array(parts const& p) : rows_(std::get<0>(p)), written_(std::get<1>(p)) {}
  parts as_parts() const { return {rows_, written_}; }

  /// With these values at an index; or, for indices of any rank, with a row of `values` at each of them.
  template <operand I, operand X> tensor_array write(I index, X values) const {
    check_index<I>();
    if constexpr (typed<I> && typed<X>)
      static_assert(X::static_type.element == Row.element &&
                        accepts(ops::gathered(stacked(Row, N), I::static_type), X::static_type),
                    "tensor_array: what is written is not of the type of the array's rows");
    return tensor_array(record_erased<ops::array_write_op>(*rows_.graph, {}, {rows_, written_, index, values}));
  }
  /// The same under the name that TensorFlow has for it.
  template <operand I, operand X> tensor_array scatter(I which, X values) const { return write(which, values); }

  /// The row at an index; or, for indices of any rank, a row for each.
  template <operand I> auto read(I index) const {
    check_index<I>();
    return record<ops::array_read_op>(rows_, written_, index);
  }
  template <operand I> auto gather(I which) const { return read(which); }
  /// All rows, as one value.
  auto stack() const { return record<ops::array_stack_op>(rows_, written_); }
  /// All rows behind each other along their first axis.
  auto concat() const {
    static_assert(Row.rank > 0, "tensor_array: scalars can't be put behind each other: stack them");
    constexpr auto joined = [] {
      type t = row_of(Row);
      return stacked(t, N.known() && Row[0].known() ? dim(N.extent * Row[0].extent) : unknown);
    }();
    extents shape{-1};
    for (std::size_t i = 1; i < Row.rank; ++i) shape.push_back(Row[i].extent);
    return expr<joined>{reshape(value(stack()), shape)};
  }
  /// The rows as they are, zeros where none was written, and which are.
  expr<stacked(Row, N)> rows() const { return rows_; }
  expr<of<bool, N>> written() const { return written_; }

 private:
  template <class I> static void check_index() {
    if constexpr (typed<I>)
      static_assert(dtypes::indices.contains(I::static_type.element),
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

/// An array with as many rows as x has, none of them written, all like `row`: `tensor_array_like(sequence, state)`.
template <typed X, typed R> auto tensor_array_like(X x, R row) {
  static_assert(X::static_type.rank > 0, "tensor_array: a scalar has no rows");
  return tensor_array<R::static_type, X::static_type[0]>::like(x, row);
}
/// An array of the rows of x, all written.
template <typed X> auto tensor_array_from(X x) {
  static_assert(X::static_type.rank > 0, "tensor_array: a scalar has no rows");
  return tensor_array<row_of(X::static_type), X::static_type[0]>(
      typename tensor_array<row_of(X::static_type), X::static_type[0]>::parts{x, record<ops::array_full_op>(x)});
}
/// An array of pieces of x of `Length` rows each, all written; as many as x has rows must divide by it.
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
