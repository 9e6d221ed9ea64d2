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

/// Computes x W + b over the last axis of x, with the variables name/weights [in, units] and name/bias [units].
struct affine {
  variable_value weights, bias;

  /// Creates the variables, for features of a type [in].
  template <initializer_of_variables Initializer = initializers::glorot>
  affine(graph& g, type const& features, std::int64_t units, std::string_view name, Initializer const& first = {})
      : weights(variable(g, matrix_for(features, units), std::string(name) + "/weights", first)),
        bias(variable(g, type(features.element, {dim(units)}), std::string(name) + "/bias", zeros())) {}

  value operator()(value x) const { return bias_add(matmul(x, value(weights)), value(bias)); }
  std::vector<variable_value> variables() const { return {weights, bias}; }

 private:
  static type matrix_for(type const& features, std::int64_t units) try {
    if (!features.has_rank() || features.rank != 1 || !features[0].known())
      throw error(code::invalid_argument,
                  "a layer: the weights need features [n] with a known n, got " + features.text());
    if (units <= 0)
      throw error(code::invalid_argument, "a layer: expected a number of units above 0, got " + std::to_string(units));
    return {features.element, {features[0], dim(units)}};
  } catch (...) {
    rethrow_as_error();
  }
};

/// Returns the type [features] of the rows of x.
inline type dense_features(type const& x) try {
  if (!x.has_rank() || x.rank < 2)
    throw error(code::invalid_argument,
                "dense: expected [batch, ..., features], got " + x.text() + "; expand_dims adds an axis");
  if (!x[x.rank - std::size_t{1}].known())
    throw error(code::invalid_argument,
                "dense: the weights need a known number of features, got " + x.text() + ": state it with rill::as");
  return {x.element, {x[x.rank - std::size_t{1}]}};
} catch (...) {
  rethrow_as_error();
}

}  // namespace detail

/// A fully connected layer: x W + b for each row of x [batch, ..., in]. All calls share the weights:
/// `auto hidden = dense_layer<64>(g, 128, "hidden"); auto a = hidden(x), b = hidden(y);`. Its variables are
/// hidden/weights [128, 64] and hidden/bias [64].
template <dim Units = unknown, element T = float> class dense_layer {
 public:
  /// Creates the variables, for rows of `in` features.
  template <initializer_of_variables Initializer = initializers::glorot>
    requires(Units.known())
  dense_layer(graph& g, std::int64_t in, std::string_view name, Initializer const& weights = {}) try
      : name_(name), affine_(g, type(dtype_of<T>, {dim(in)}), Units.extent, name, weights) {
  } catch (...) {
    rethrow_as_error();
  }
  /// Creates the variables where the numbers are known only when the program runs. The type is the type of a row's
  /// features: `dense_layer(g, of<float, 128>, 64, "hidden")`.
  template <initializer_of_variables Initializer = initializers::glorot>
    requires(!Units.known())
  dense_layer(graph& g, type const& features, std::int64_t units, std::string_view name,
              Initializer const& weights = {}) try
      : name_(name), affine_(g, features, units, name, weights) {
  } catch (...) {
    rethrow_as_error();
  }

  /// Returns [batch, ..., units]. Throws error(invalid_argument) unless x is [batch, ..., in] of the layer's type.
  template <typed X>
    requires(Units.known())
  auto operator()(X x) const {
    constexpr type in = X::static_type;
    constexpr bool has_rows = in.has_rank() && in.rank >= 2, is_of_layer = in.element == dtype_of<T>;
    static_assert(has_rows, "dense: expected [batch, ..., features]; expand_dims adds an axis");
    static_assert(is_of_layer, "dense: the operand's element type is not the layer's; cast it");
    if constexpr (has_rows && is_of_layer)
      return detail::graph_of(x).scope(name_, [&] {
        return bias_add(matmul(x, expr<of<T, unknown, Units>>{affine_.weights}), expr<of<T, Units>>{affine_.bias});
      });
    else return detail::refused{};
  }
  value operator()(value x) const try {
    detail::dense_features(x.type());
    return detail::graph_of(x).scope(name_, [&] { return affine_(x); });
  } catch (...) {
    rethrow_as_error();
  }

  /// Returns the variable of the weights [in, units].
  variable_value weights() const { return affine_.weights; }
  /// Returns the variable of the bias [units].
  variable_value bias() const { return affine_.bias; }
  /// Returns the variables that training changes: `adam{}.minimize(loss, hidden.variables())`.
  std::vector<variable_value> variables() const try { return affine_.variables(); } catch (...) {
    rethrow_as_error();
  }

 private:
  std::string name_;
  detail::affine affine_;
};

/// Creates a dense_layer and calls it once: `dense<128>(image, "hidden")` creates the variables hidden/weights [in,
/// 128] and hidden/bias [128], and returns [batch, ..., 128]. A second layer with that name is an error; to share
/// weights, keep a dense_layer.
template <dim Units, typed X, initializer_of_variables Initializer = initializers::glorot>
auto dense(X x, std::string_view name, Initializer const& weights = {}) {
  constexpr type in = X::static_type;
  constexpr bool has_rows = in.has_rank() && in.rank >= 2, is_known = Units.known(),
                 has_columns = !has_rows || in[in.rank - std::size_t{1}].known();
  static_assert(has_rows, "dense: expected [batch, ..., features]; expand_dims adds an axis");
  static_assert(has_columns, "dense: the weights need a known number of features");
  static_assert(is_known, "dense: the number of units must be a number");
  if constexpr (has_rows && has_columns && is_known)
    return dense_layer<Units, element_of<in.element>>(detail::graph_of(x), in[in.rank - std::size_t{1}].extent, name,
                                                      weights)(x);
  else return detail::refused{};
}
/// Does the same where x's type is known only when the program runs.
template <initializer_of_variables Initializer = initializers::glorot>
value dense(value x, std::int64_t units, std::string_view name, Initializer const& weights = {}) try {
  return dense_layer<>(detail::graph_of(x), detail::dense_features(x.type()), units, name, weights)(x);
} catch (...) {
  rethrow_as_error();
}

namespace detail {

/// Returns the type [rows, product of the other extents].
constexpr type flattened(type const& x, checks expects = {}) {
  if (!expects(x.has_rank() && x.rank > 0, "flatten: expected at least one axis, got a scalar or an unknown rank"))
    return x;
  std::int64_t columns = 1;
  for (std::size_t i = 1; i < x.rank; ++i) {
    if (!expects(x[i].known(), "flatten: expected known extents after the first axis")) return x;
    columns = checked_product(columns, x[i].extent, expects);
  }
  return {x.element, {x[0], dim(columns)}};
}

struct flattening {
  static constexpr std::string_view name = "flatten";
  static constexpr std::int8_t arity = 1;
  static constexpr type infer(no_attributes, type const& x, checks expects = {}) { return flattened(x, expects); }
};

}  // namespace detail

/// Reshapes x to a matrix that keeps the first axis: [batch, 4, 4, 32] becomes [batch, 512]. Throws
/// error(invalid_argument) unless all other extents are known.
template <typed X> auto flatten(X x) {
  using rules = detail::flattening;
  constexpr auto to = detail::inferred_by<rules, no_attributes{}, X>();
  if constexpr (to.refused()) return detail::refuse<rules, no_attributes{}, X>();
  else return reshape<to.types[0], to.types[1]>(x);
}
inline value flatten(value x) {
  return record_erased<ops::reshape_op>(detail::graph_of(x), {detail::flattened(x.type())}, {x});
}

}  // namespace rill
