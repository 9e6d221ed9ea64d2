// Fully connected layers.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rill/ops/array/reshape.hpp"
#include "rill/ops/matrix/matmul.hpp"
#include "rill/ops/network/bias_add.hpp"
#include "rill/train/initializers.hpp"

namespace rill {

namespace detail {

/// x W + b over the last axis of x, with the variables name/weights [in, units] and name/bias [units].
struct affine {
  variable_value weights, bias;

  /// For features of a type [in].
  template <initializer_of_variables I = initializers::glorot>
  affine(graph& g, type const& features, std::int64_t units, std::string_view name, I const& first = {})
      : weights(variable(g, matrix_for(features, units), std::string(name) + "/weights", first)),
        bias(variable(g, type(features.element, {dim(units)}), std::string(name) + "/bias", zeros())) {}

  value operator()(value x) const { return bias_add(matmul(x, value(weights)), value(bias)); }
  std::vector<variable_value> variables() const { return {weights, bias}; }

 private:
  static type matrix_for(type const& features, std::int64_t units) {
    expects(features.has_rank() && features.rank == 1 && features[0].known(),
            "a layer's features are a vector of known extent, for the weights are made now");
    expects(units > 0, "a layer's number of units is not above 0");
    return {features.element, {features[0], dim(units)}};
  }
};

/// The type of x's last axis, the features of each row.
constexpr type dense_features(type const& x) {
  expects(x.has_rank() && x.rank >= 2, "dense: the operand is not [batch, ..., features]; expand_dims makes one");
  expects(x[x.rank - std::size_t{1}].known(),
          "dense: the number of columns must be known, for the weights are made now");
  return {x.element, {x[x.rank - std::size_t{1}]}};
}

}  // namespace detail

/// A fully connected layer: x W + b for each row of x [batch, ..., in]. Each call has the same weights:
/// `auto hidden = dense_layer<64>(g, 128, "hidden"); auto a = hidden(x), b = hidden(y);`. Its variables are
/// hidden/weights [128, 64] and hidden/bias [64].
template <dim Units = unknown, element T = float> class dense_layer {
 public:
  /// For rows of `in` features.
  template <initializer_of_variables I = initializers::glorot>
    requires(Units.known())
  dense_layer(graph& g, std::int64_t in, std::string_view name, I const& weights = {})
      : name_(name), affine_(g, type(dtype_of<T>, {dim(in)}), Units.extent, name, weights) {}
  /// The same where only the run of the program knows the numbers: `dense_layer(g, of<float, 128>, 64, "hidden")`, by
  /// the type of a row's features.
  template <initializer_of_variables I = initializers::glorot>
    requires(!Units.known())
  dense_layer(graph& g, type const& features, std::int64_t units, std::string_view name, I const& weights = {})
      : name_(name), affine_(g, features, units, name, weights) {}

  template <typed X>
    requires(Units.known())
  auto operator()(X x) const {
    constexpr type in = X::static_type;
    static_assert(in.has_rank() && in.rank >= 2,
                  "dense: the operand is not [batch, ..., features]; expand_dims makes one");
    static_assert(in.element == dtype_of<T>, "dense: the operand has another element type than the layer");
    return detail::graph_of(x).scope(name_, [&] {
      return bias_add(matmul(x, expr<of<T, unknown, Units>>{affine_.weights}), expr<of<T, Units>>{affine_.bias});
    });
  }
  value operator()(value x) const {
    detail::dense_features(x.type());
    return detail::graph_of(x).scope(name_, [&] { return affine_(x); });
  }

  variable_value weights() const { return affine_.weights; }
  variable_value bias() const { return affine_.bias; }
  /// What training changes: `adam{}.minimize(loss, hidden.variables())`.
  std::vector<variable_value> variables() const { return affine_.variables(); }

 private:
  std::string name_;
  detail::affine affine_;
};

/// A dense_layer that is called once: `dense<128>(image, "hidden")` makes the variables hidden/weights [in, 128] and
/// hidden/bias [128], and is [batch, ..., 128]. A second layer of that name is an error: keep a dense_layer to share.
template <dim Units, typed X, initializer_of_variables I = initializers::glorot>
auto dense(X x, std::string_view name, I const& weights = {}) {
  constexpr type in = X::static_type;
  static_assert(in.has_rank() && in.rank >= 2,
                "dense: the operand is not [batch, ..., features]; expand_dims makes one");
  static_assert(in.rank < 2 || in[in.rank - std::size_t{1}].known(),
                "dense: the number of columns must be known, for the weights are made now");
  static_assert(Units.known(), "dense: the number of units is not a number");
  return dense_layer<Units, element_of<in.element>>(detail::graph_of(x), in[in.rank - std::size_t{1}].extent, name,
                                                    weights)(x);
}
/// The same where only the run of the program knows the type of x.
template <initializer_of_variables I = initializers::glorot>
value dense(value x, std::int64_t units, std::string_view name, I const& weights = {}) {
  return dense_layer<>(detail::graph_of(x), detail::dense_features(x.type()), units, name, weights)(x);
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
