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

/// Returns the type [channels] of the pixels of images [n, height, width, channels].
inline type image_channels(type const& x) try {
  if (!x.has_rank() || x.rank != 4)
    throw error(code::invalid_argument, "conv2d: expected images [n, height, width, channels], got " + x.text());
  if (!x[3].known())
    throw error(code::invalid_argument,
                "conv2d: the filters need a known number of channels, got " + x.text() + ": state it with rill::as");
  return {x.element, {x[3]}};
} catch (...) {
  rethrow_as_error();
}

/// Returns the sentence that refuses a layer's convolution of images, or an empty sentence.
template <convolution How, type X, std::int64_t Side, dim Filters> constexpr sentence complaint_of_layer() {
  if constexpr (X.has_rank() && X.rank == 4) {
    constexpr std::array inputs{X, type(X.element, {Side, Side, X[3], Filters})};
    constexpr auto result = infer_or_refuse<ops::conv2d_op>(How, inputs);
    if constexpr (result.refused()) return sentence_of(ops::conv2d_op::name, inputs, result.why);
  }
  return {};
}

}  // namespace detail

/// A convolutional layer: convolves images [n, height, width, channels] with filters of Side x Side pixels and adds a
/// bias. All calls share the filters: `auto edges = conv2d_layer<32, 5>(g, 3, "edges"); edges(image);`. Its variables
/// are edges/filters [5, 5, 3, 32] and edges/bias [32]. A third argument sets stride and padding: `conv2d_layer<32, 5,
/// convolution{.stride = {2, 2}}>`.
template <dim Filters = unknown, std::int64_t Side = 0, convolution How = convolution{}, element T = float>
class conv2d_layer {
 public:
  static_assert(!Filters.known() || Side > 0, "conv2d_layer: the size of the filters must be above 0");

  /// Creates the variables, for images of `channels` channels.
  template <initializer_of_variables Initializer = initializers::glorot>
    requires(Filters.known())
  conv2d_layer(graph& g, std::int64_t channels, std::string_view name, Initializer const& filters = {})
      : conv2d_layer(g, type(dtype_of<T>, {dim(channels)}), Filters.extent, Side, name, filters, How) {}
  /// Creates the variables where the numbers are known only when the program runs. The type is the type of a pixel's
  /// channels: `conv2d_layer(g, of<float, 3>, 32, 5, "edges")`.
  template <initializer_of_variables Initializer = initializers::glorot>
    requires(!Filters.known())
  conv2d_layer(graph& g, type const& channels, std::int64_t filters, std::int64_t side, std::string_view name,
               convolution const& how = {}, Initializer const& first = {})
      : conv2d_layer(g, channels, filters, side, name, first, how) {}

  /// Returns [n, height, width, filters], with the height and width that stride and padding give. Throws
  /// error(invalid_argument) if x does not fit the filters.
  template <typed X>
    requires(Filters.known())
  auto operator()(X x) const {
    constexpr type in = X::static_type;
    constexpr bool are_images = in.has_rank() && in.rank == 4, is_of_layer = in.element == dtype_of<T>;
    static_assert(are_images, "conv2d: expected images [n, height, width, channels]");
    static_assert(is_of_layer, "conv2d: the operand's element type is not the layer's; cast it");
    constexpr auto said = detail::complaint_of_layer<How, in, Side, Filters>();
    if constexpr (are_images && is_of_layer && said.size > 0) {
      detail::named<said>().compiles();
      return detail::refused{};
    } else if constexpr (are_images && is_of_layer)
      return detail::graph_of(x).scope(name_, [&] {
        expr<of<T, Side, Side, in[3], Filters>> const filters{filters_};
        return bias_add(record<ops::conv2d_op, How>(x, filters), expr<of<T, Filters>>{bias_});
      });
    else return detail::refused{};
  }
  value operator()(value x) const {
    return detail::graph_of(x).scope(name_, [&] { return bias_add(conv2d(x, value(filters_), how_), value(bias_)); });
  }

  /// Returns the variable of the filters [side, side, channels, filters].
  variable_value filters() const { return filters_; }
  /// Returns the variable of the bias [filters].
  variable_value bias() const { return bias_; }
  /// Returns the variables that training changes.
  std::vector<variable_value> variables() const try { return {filters_, bias_}; } catch (...) {
    rethrow_as_error();
  }

 private:
  template <class Initializer>
  conv2d_layer(graph& g, type const& channels, std::int64_t filters, std::int64_t side, std::string_view name,
               Initializer const& first, convolution const& how) try
      : name_(name),
        how_(how),
        filters_(variable(g, type(channels.element, {dim(side), dim(side), channels[0], dim(filters)}),
                          std::string(name) + "/filters", first)),
        bias_(variable(g, type(channels.element, {dim(filters)}), std::string(name) + "/bias", zeros())) {
  } catch (...) {
    rethrow_as_error();
  }

  std::string name_;
  convolution how_;
  variable_value filters_, bias_;
};

/// Creates a conv2d_layer and calls it once: `conv2d<32, 5>(image, "edges")` creates the variables edges/filters [5, 5,
/// channels, 32] and edges/bias [32], and returns [n, height, width, 32]. A third argument sets stride and padding:
/// `conv2d<32, 5, convolution{.stride = {2, 2}}>(image, "edges")`.
template <dim Filters, std::int64_t Side, convolution How = convolution{}, typed X,
          initializer_of_variables Initializer = initializers::glorot>
auto conv2d(X x, std::string_view name, Initializer const& filters = {}) {
  constexpr type in = X::static_type;
  constexpr bool are_images = in.has_rank() && in.rank == 4, has_channels = in.rank != 4 || in[3].known(),
                 has_filters = Filters.known() && Side > 0;
  static_assert(are_images, "conv2d: expected images [n, height, width, channels]");
  static_assert(has_channels, "conv2d: the filters need a known number of channels");
  static_assert(has_filters, "conv2d: the number and the size of the filters must be numbers above 0");
  constexpr auto said = detail::complaint_of_layer<How, in, Side, Filters>();
  if constexpr (are_images && has_channels && has_filters && said.size > 0) {
    detail::named<said>().compiles();
    return detail::refused{};
  } else if constexpr (are_images && has_channels && has_filters)
    return conv2d_layer<Filters, Side, How, element_of<in.element>>(detail::graph_of(x), in[3].extent, name,
                                                                    filters)(x);
  else return detail::refused{};
}
/// Does the same where x's type is known only when the program runs.
template <initializer_of_variables Initializer = initializers::glorot>
value conv2d(value x, std::int64_t filters, std::int64_t side, std::string_view name, convolution const& how = {},
             Initializer const& first = {}) try {
  return conv2d_layer<>(detail::graph_of(x), detail::image_channels(x.type()), filters, side, name, how, first)(x);
} catch (...) {
  rethrow_as_error();
}

}  // namespace rill
