// A layer that divides each row by the root of its mean square (B. Zhang and R. Sennrich, Root Mean Square Layer
// Normalization, NeurIPS 2019).
#pragma once
#include "rill/train/normalization.hpp"

namespace rill {

/// Computes x / √(mean of x² + epsilon) * scale over the features of each row of x [batch, ..., features]:
/// `rms_norm_layer norm(g, 64, "norm"); norm(x);`. Its variable is norm/scale [features].
class rms_norm_layer {
 public:
  /// Creates the variable, for rows of `features` floats.
  rms_norm_layer(graph& g, std::int64_t features, std::string_view name, double epsilon = 1e-6)
      : rms_norm_layer(g, type(dtype::float32, {dim(features)}), name, epsilon) {}
  /// Creates the variable, for rows of the type `features`: `rms_norm_layer(g, of<double, 64>, "norm")`. Throws
  /// error(invalid_argument) unless the type is a vector of floats and epsilon >= 0.
  rms_norm_layer(graph& g, type const& features, std::string_view name, double epsilon = 1e-6) try
      : name_(name), epsilon_(epsilon), scale_(variable(g, features, name_ + "/scale", constant(1))) {
    detail::check_normalization(features, epsilon, name_);
  } catch (...) {
    rethrow_as_error();
  }

  /// Returns x normalised. Throws error(invalid_argument) unless x is [batch, ..., features] of the layer's type.
  template <typed X> auto operator()(X x) const { return expr<X::static_type>{(*this)(value(x))}; }
  value operator()(value x) const {
    detail::check_features(x, scale_.type(), "rms_norm");
    return detail::graph_of(x).scope(name_, [&] {
      return detail::in_wide([&](value v, value scale) { return mul(rms_norm(v, epsilon_), scale); }, x, value(scale_));
    });
  }

  /// Returns the variables that training changes.
  std::vector<variable_value> variables() const try { return {scale_}; } catch (...) {
    rethrow_as_error();
  }

 private:
  std::string name_;
  double epsilon_;
  variable_value scale_;
};

}  // namespace rill
