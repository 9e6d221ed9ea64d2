// Fully connected layers.
#pragma once
#include <string_view>

#include "rill/ops/array/reshape.hpp"
#include "rill/ops/matrix/matmul.hpp"
#include "rill/ops/network/bias_add.hpp"
#include "rill/train/initializers.hpp"

namespace rill {

/// x times weights plus bias, for each row of x [rows, in]: `dense<128>(image, "hidden")` makes the variables
/// hidden/weights [in, 128] and hidden/bias [128], and is [rows, 128].
template <dim Units, typed X, initializer_of_variables I = initializers::glorot>
auto dense(X x, std::string_view name, I const& weights = {}) {
  constexpr type in = X::static_type;
  static_assert(in.has_rank() && in.rank == 2,
                "dense: the operand is not a matrix with a row for each example; flatten makes one");
  static_assert(in.rank != 2 || in[1].known(),
                "dense: the number of columns must be known, for the weights are made now");
  static_assert(Units.known(), "dense: the number of units is not a number");
  auto& g = detail::graph_of(x);
  return g.scope(name, [&] {
    auto const w = variable<element_of<in.element>, in[1], Units>(g, "weights", weights);
    auto const b = variable<element_of<in.element>, Units>(g, "bias", zeros());
    return bias_add(matmul(x, expr(w)), expr(b));
  });
}
/// The same where only the run of the program knows the type of x.
template <initializer_of_variables I = initializers::glorot>
value dense(value x, std::int64_t units, std::string_view name, I const& weights = {}) {
  auto& g = detail::graph_of(x);
  type const in = x.type();
  expects(in.has_rank() && in.rank == 2,
          "dense: the operand is not a matrix with a row for each example; flatten makes one");
  expects(in[1].known(), "dense: the number of columns must be known, for the weights are made now");
  return g.scope(name, [&] {
    value const w = variable(g, type(in.element, {in[1], dim(units)}), "weights", weights);
    value const b = variable(g, type(in.element, {dim(units)}), "bias", zeros());
    return bias_add(matmul(x, w), b);
  });
}

namespace detail {

/// The type [rows, all other extents multiplied].
constexpr type flattened(type const& x) {
  expects(x.has_rank() && x.rank > 0, "flatten: the operand has no rows");
  std::int64_t columns = 1;
  for (std::size_t i = 1; i < x.rank; ++i) {
    expects(x[i].known(), "flatten: all extents but the first must be known");
    columns = checked_product(columns, x[i].extent);
  }
  return {x.element, {x[0], dim(columns)}};
}

}  // namespace detail

/// All of x but its first axis, side by side: [batch, 4, 4, 32] becomes [batch, 512].
template <typed X> auto flatten(X x) {
  constexpr type to = detail::flattened(X::static_type);
  return reshape<to[0], to[1]>(x);
}
inline value flatten(value x) {
  return record_erased<ops::reshape_op>(detail::graph_of(x), {detail::flattened(x.type())}, {x});
}

}  // namespace rill
