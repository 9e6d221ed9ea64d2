// Convolutional layers.
#pragma once
#include <string_view>

#include "rill/ops/network/bias_add.hpp"
#include "rill/ops/network/conv2d.hpp"
#include "rill/train/initializers.hpp"

namespace rill {

/// x [n, height, width, channels] convolved with filters of Side x Side pixels, plus bias: `conv2d<32, 5>(image,
/// "edges")` makes the variables edges/filters [5, 5, channels, 32] and edges/bias [32], and is [n, height, width, 32].
/// A third argument says how: `conv2d<32, 5, convolution{.stride = {2, 2}}>(image, "edges")`.
template <dim Filters, std::int64_t Side, convolution How = convolution{}, typed X,
          initializer_of_variables I = initializers::glorot>
auto conv2d(X x, std::string_view name, I const& filters = {}) {
  constexpr type in = X::static_type;
  static_assert(in.has_rank() && in.rank == 4, "conv2d: the operand is not images [n, height, width, channels]");
  static_assert(in.rank != 4 || in[3].known(),
                "conv2d: the number of channels must be known, for the filters are made now");
  static_assert(Filters.known() && Side > 0, "conv2d: the number or the size of the filters is not a number above 0");
  auto& g = detail::graph_of(x);
  return g.scope(name, [&] {
    auto const f = variable<element_of<in.element>, Side, Side, in[3], Filters>(g, "filters", filters);
    auto const b = variable<element_of<in.element>, Filters>(g, "bias", zeros());
    return bias_add(conv2d<How>(x, expr(f)), expr(b));
  });
}
/// The same where only the run of the program knows the type of x.
template <initializer_of_variables I = initializers::glorot>
value conv2d(value x, std::int64_t filters, std::int64_t side, std::string_view name, convolution const& how = {},
             I const& first = {}) {
  auto& g = detail::graph_of(x);
  type const in = x.type();
  expects(in.has_rank() && in.rank == 4, "conv2d: the operand is not images [n, height, width, channels]");
  expects(in[3].known(), "conv2d: the number of channels must be known, for the filters are made now");
  return g.scope(name, [&] {
    value const f = variable(g, type(in.element, {dim(side), dim(side), in[3], dim(filters)}), "filters", first);
    value const b = variable(g, type(in.element, {dim(filters)}), "bias", zeros());
    return bias_add(conv2d(x, f, how), b);
  });
}

}  // namespace rill
