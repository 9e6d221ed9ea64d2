// A layer that normalises groups of channels of each example (Y. Wu and K. He, Group Normalization, ECCV 2018).
#pragma once
#include "rill/train/normalization.hpp"

namespace rill {

/// Computes (x - mean) / √(variance + epsilon) * scale + shift over each group of neighbouring channels of each example
/// of x [n, ..., channels], and over all axes between: `group_norm_layer norm(g, 64, 8, "norm"); norm(images);` for 8
/// groups of 8 channels. As many groups as channels make it an instance norm. Its variables are norm/scale and
/// norm/shift [channels].
class group_norm_layer {
 public:
  /// Creates the variables, for `channels` floats.
  group_norm_layer(graph& g, std::int64_t channels, std::int64_t groups, std::string_view name, double epsilon = 1e-5)
      : group_norm_layer(g, type(dtype::float32, {dim(channels)}), groups, name, epsilon) {}
  /// Creates the variables, for channels of the type `channels`: `group_norm_layer(g, of<double, 64>, 8, "norm")`.
  /// Throws error(invalid_argument) unless the type is a vector of floats and epsilon >= 0.
  group_norm_layer(graph& g, type const& channels, std::int64_t groups, std::string_view name, double epsilon = 1e-5)
      : last_(g, channels, name, epsilon), groups_(groups) {}

  /// Returns x normalised. Throws error(invalid_argument) unless x is [n, ..., channels] of the layer's type and the
  /// groups divide the channels.
  template <typed X> auto operator()(X x) const { return expr<X::static_type>{(*this)(value(x))}; }
  value operator()(value x) const {
    last_.check(x, "group_norm");
    return detail::graph_of(x).scope(last_.name,
                                     [&] { return last_(group_norm(detail::widened(x), groups_, last_.epsilon)); });
  }

  /// Returns the variables that training changes.
  std::vector<variable_value> variables() const try { return {last_.scale, last_.shift}; } catch (...) {
    rethrow_as_error();
  }

 private:
  detail::scale_and_shift last_;
  std::int64_t groups_;
};

}  // namespace rill
