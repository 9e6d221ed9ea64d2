// Rows of a table by their indices; a table that is a variable is not copied.
#pragma once
#include "rill/ops/array/index.hpp"
#include "rill/ops/array/reshape.hpp"
#include "rill/ops/state/variable.hpp"

#if RILL_DEFINITIONS
#include "rill/tensor/elements.hpp"
#endif

namespace rill::ops {

#if RILL_DEFINITIONS
/// Copies rows by their indices, which it checks first.
class row_copy {
 public:
  row_copy(type const& table, type const& which) : read_(which, table[0].extent), element_(table.element), width_(1) {
    for (std::size_t i = 1; i < table.rank; ++i) width_ *= static_cast<std::size_t>(table[i].extent);
  }
  void operator()(void const* table, void const* which, void* to, parallel const& threads) const {
    read_.check(which);
    auto const size = width_ * size_of(element_);
    auto const each = std::max<std::size_t>(1, 65536 / std::max<std::size_t>(1, size));  // rows worth a hand-over
    auto const copy = [&](std::size_t c) {
      for (std::size_t i = c * each; i < std::min(read_.count(), (c + 1) * each); ++i)
        copy_elements(element_, static_cast<std::byte*>(to) + i * size,
                      static_cast<std::byte const*>(table) + static_cast<std::size_t>(read_.at(which, i)) * size,
                      width_);
    };
    auto const chunks = (read_.count() + each - 1) / each;
    if (element_ == dtype::string) {  // copying a string may throw, which a thread's chunk must not
      for (std::size_t c = 0; c < chunks; ++c) copy(c);
    } else threads(chunks, copy);
  }

 private:
  index_reader read_;
  dtype element_;
  std::size_t width_;
};
#endif

/// What both kinds of gather share.
struct gather_rules {
  static constexpr std::int8_t arity = 2;
  static constexpr type infer(no_attributes, type const& table, type const& which, checks expects = {}) {
    expects(dtypes::indices.contains(which.element), "gather: the indices are neither int32 nor int64");
    return gathered(table, which, expects);
  }
  static cost work(no_attributes, std::span<type const> in, std::span<type const> out) {
    return {0, 2 * rill::detail::bytes_of(out) + rill::detail::bytes_of(in.subspan(1))};
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    std::vector<gradient> all(2);
    if (r.wanted[0]) all[0] = gradient(flat_indices(V(r.in(1))), flat_rows(V(r.dy()), r.in(0), r.in(1)));
    return all;
  }
};

/// The rows that indices of any rank brought, as a list: a row for each index.
struct rows_like_op {
  using library = void;
  static constexpr std::string_view name = "rows_like",
                                    doc = "a value with a row of a table for each index, as a list of rows";
  static constexpr std::int8_t arity = 3;
  static constexpr std::uint32_t shape_only = 0b110;
  static constexpr bool aliases_input = true;
  static constexpr type infer(no_attributes, type const& rows, type const& table, type const& which,
                              checks expects = {}) {
    expects(accepts(gathered(table, which, expects).with(rows.element), rows),
            "rows_like: there is not a row for each index");
    if (!table.has_rank()) return type::of_unknown_rank(rows.element);
    type y{rows.element, {which.is_known() ? dim(elements(which.shape())) : unknown}};
    for (std::size_t i = 1; i < table.rank; ++i) y.push_back(table[i]);
    return y;
  }
  static cost work(no_attributes, std::span<type const>, std::span<type const>) { return {}; }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    std::vector<gradient> all(3);
    if (r.wanted[0]) all[0] = reshape_like(V(r.dy()), r.in(0));
    return all;
  }
};

struct gather_op : gather_rules {
  using library = void;
  static constexpr std::string_view name = "gather",
                                    doc = "the rows of a table that indices of any rank name; the gradient is sparse";
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    row_copy const copy(r.inputs[0], r.inputs[1]);
    return kernel([copy](kernel_call const& call) { copy(call.in(0), call.in(1), call.out(0), call.threads); });
  }
#endif
};

struct gather_variable_op : gather_rules {
  using library = void;
  static constexpr std::string_view name = "gather_variable",
                                    doc = "the rows of a variable that indices of any rank name, read under its lock";
  static constexpr std::uint32_t by_reference = 1;
  static constexpr bool reference_or_value = true;
  static constexpr bool dynamic_output_shape = true;  // an update may have changed the variable's
  static constexpr rill::effect effect = rill::effect::reads;
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    auto const v = r.variables[0];
    if (v && (!r.inputs[0].is_known() || !r.outputs[0].is_known())) return of_resized(r);
    row_copy const copy(r.inputs[0], r.inputs[1]);
    if (!v)  // the variable was fed
      return kernel([copy](kernel_call const& call) { copy(call.in(0), call.in(1), call.out(0), call.threads); });
    return kernel([copy, v, extents = r.inputs[0].shape()](kernel_call const& call) {
      v->inspect(
          [&](tensor const& t) {
            if (t.shape() != extents)
              throw error(code::aborted, "gather: the variable's extents changed while the step ran");
            copy(t.raw(), call.in(1), call.out(0), call.threads);
          },
          call.step.version);
    });
  }
  static kernel of_resized(kernel_request const& r) {
    kernel k([v = r.variables[0], which = r.inputs[1], memory = r.memory](kernel_call const& call) {
      v->inspect(
          [&](tensor const& t) {
            auto const made = gathered(t.type(), which);
            tensor rows(made.element, made.shape(), *memory);
            row_copy const copy(t.type(), which);
            copy(t.raw(), call.in(1), rows.mutable_raw(), call.threads);
            call.give(0, std::move(rows));
          },
          call.step.version);
    });
    k.allocates_outputs = true;
    return k;
  }
#endif
};

}  // namespace rill::ops

namespace rill {

/// Indices as a list: what a sparse gradient keeps.
inline value flat_indices(value which) {
  return which.type().has_rank() && which.type().rank == 1 ? which : reshape(which, extents{-1});
}
/// A row for each of a list of indices, from a value with a row for each of `which`.
inline value flat_rows(value rows, value table, value which) {
  if (which.type().has_rank() && which.type().rank == 1) return rows;
  return record_erased<ops::rows_like_op>(detail::graph_of(rows), {}, {rows, table, which});
}

/// The rows of a table that the indices name: a row for each index. An index outside is error(invalid_argument).
template <operand Table, operand Which> auto gather(Table table, Which which) {
  if constexpr (variable_handle<Table>) {
    if constexpr (typed<Table> && typed<Which>)
      return record<ops::gather_variable_op>(expr<Table::static_type>(table), which);
    else return record<ops::gather_variable_op>(value(table), which);
  } else return record<ops::gather_op>(table, which);
}

}  // namespace rill
