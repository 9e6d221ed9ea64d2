// Convolutional layers.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rill/ops/network/bias_add.hpp"
#include "rill/ops/network/conv2d.hpp"
#include "rill/train/initializers.hpp"

namespace rill {

namespace detail {

/// The channels of images [n, height, width, channels], as a type.
constexpr type image_channels(type const& x) {
  expects(x.has_rank() && x.rank == 4, "conv2d: the operand is not images [n, height, width, channels]");
  expects(x[3].known(), "conv2d: the number of channels must be known, for the filters are made now");
  return {x.element, {x[3]}};
}

}  // namespace detail

/// A convolutional layer: images [n, height, width, channels] convolved with filters of Side x Side pixels, plus bias.
/// Each call has the same filters: `auto edges = conv2d_layer<32, 5>(g, 3, "edges"); edges(image);`. Its variables are
/// edges/filters [5, 5, 3, 32] and edges/bias [32]. A third argument says how: `conv2d_layer<32, 5, convolution{.stride
/// = {2, 2}}>`.
template <dim Filters = unknown, std::int64_t Side = 0, convolution How = convolution{}, element T = float>
class conv2d_layer {
 public:
  static_assert(!Filters.known() || Side > 0, "conv2d_layer: the size of the filters is not above 0");

  /// For images of `channels` channels.
  template <initializer_of_variables I = initializers::glorot>
    requires(Filters.known())
  conv2d_layer(graph& g, std::int64_t channels, std::string_view name, I const& filters = {})
      : conv2d_layer(g, type(dtype_of<T>, {dim(channels)}), Filters.extent, Side, name, filters, How) {}
  /// The same where only the run of the program knows the numbers: by the type of a pixel's channels,
  /// `conv2d_layer(g, of<float, 3>, 32, 5, "edges")`.
  template <initializer_of_variables I = initializers::glorot>
    requires(!Filters.known())
  conv2d_layer(graph& g, type const& channels, std::int64_t filters, std::int64_t side, std::string_view name,
               convolution const& how = {}, I const& first = {})
      : conv2d_layer(g, channels, filters, side, name, first, how) {}

  template <typed X>
    requires(Filters.known())
  auto operator()(X x) const {
    constexpr type in = X::static_type;
    static_assert(in.has_rank() && in.rank == 4, "conv2d: the operand is not images [n, height, width, channels]");
    static_assert(in.element == dtype_of<T>, "conv2d: the operand has another element type than the layer");
    return detail::graph_of(x).scope(name_, [&] {
      return bias_add(conv2d<How>(x, expr<of<T, Side, Side, in[3], Filters>>{filters_}), expr<of<T, Filters>>{bias_});
    });
  }
  value operator()(value x) const {
    return detail::graph_of(x).scope(name_, [&] { return bias_add(conv2d(x, value(filters_), how_), value(bias_)); });
  }

  variable_value filters() const { return filters_; }
  variable_value bias() const { return bias_; }
  /// What training changes.
  std::vector<variable_value> variables() const { return {filters_, bias_}; }

 private:
  template <class I>
  conv2d_layer(graph& g, type const& channels, std::int64_t filters, std::int64_t side, std::string_view name,
               I const& first, convolution const& how)
      : name_(name),
        how_(how),
        filters_(variable(g, type(channels.element, {dim(side), dim(side), channels[0], dim(filters)}),
                          std::string(name) + "/filters", first)),
        bias_(variable(g, type(channels.element, {dim(filters)}), std::string(name) + "/bias", zeros())) {}

  std::string name_;
  convolution how_;
  variable_value filters_, bias_;
};

/// A conv2d_layer that is called once: `conv2d<32, 5>(image, "edges")` makes the variables edges/filters [5, 5,
/// channels, 32] and edges/bias [32], and is [n, height, width, 32]. A third argument says how: `conv2d<32, 5,
/// convolution{.stride = {2, 2}}>(image, "edges")`.
template <dim Filters, std::int64_t Side, convolution How = convolution{}, typed X,
          initializer_of_variables I = initializers::glorot>
auto conv2d(X x, std::string_view name, I const& filters = {}) {
  constexpr type in = X::static_type;
  static_assert(in.has_rank() && in.rank == 4, "conv2d: the operand is not images [n, height, width, channels]");
  static_assert(in.rank != 4 || in[3].known(),
                "conv2d: the number of channels must be known, for the filters are made now");
  static_assert(Filters.known() && Side > 0, "conv2d: the number or the size of the filters is not a number above 0");
  return conv2d_layer<Filters, Side, How, element_of<in.element>>(detail::graph_of(x), in[3].extent, name, filters)(x);
}
/// The same where only the run of the program knows the type of x.
template <initializer_of_variables I = initializers::glorot>
value conv2d(value x, std::int64_t filters, std::int64_t side, std::string_view name, convolution const& how = {},
             I const& first = {}) {
  return conv2d_layer<>(detail::graph_of(x), detail::image_channels(x.type()), filters, side, name, how, first)(x);
}

}  // namespace rill
