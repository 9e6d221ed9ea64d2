// Normalisation layers: over a batch (S. Ioffe and C. Szegedy, Batch Normalization, ICML 2015), and over the features
// of each row (J. L. Ba, J. R. Kiros and G. E. Hinton, Layer Normalization, 2016).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rill/ops/control/cond.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/ops/math/exponential.hpp"
#include "rill/ops/network/normalization.hpp"
#include "rill/ops/reduction/size.hpp"
#include "rill/ops/sum/sum.hpp"
#include "rill/tensor/print.hpp"
#include "rill/train/initializers.hpp"

namespace rill {

namespace detail {

/// Throws error(invalid_argument) unless a layer's rows are of the type `features`, [features] of floats, and its
/// epsilon is 0 or more.
void check_normalization(type const& features, double epsilon, std::string const& name);
/// Throws error(invalid_argument) unless x is [batch, ..., features] with the features and the element type of a layer.
void check_features(value x, type const& features, std::string_view who);

/// The affine map of the layers, y * scale + shift, with one scale (first 1) and one shift (first 0) per feature.
struct scale_and_shift {
  std::string name;
  variable_value scale, shift;
  double epsilon;

  scale_and_shift(graph& g, type const& features, std::string_view called, double least);
  void check(value x, std::string_view who) const { check_features(x, scale.type(), who); }
  /// Returns y * scale + shift in the layer's element type. y is float32 for layers of 16-bit floats.
  value operator()(value y) const {
    return narrowed_to(value(scale), add(mul(widened(y), widened(value(scale))), widened(value(shift))));
  }
};

}  // namespace detail

/// Computes (x - mean) / √(variance + epsilon) * scale + shift over the features of each row of x [batch, ...,
/// features]: `layer_norm_layer norm(g, 64, "norm"); norm(x);`. Its variables are norm/scale and norm/shift [features].
class layer_norm_layer {
 public:
  /// Creates the variables, for rows of `features` floats.
  layer_norm_layer(graph& g, std::int64_t features, std::string_view name, double epsilon = 1e-5)
      : layer_norm_layer(g, type(dtype::float32, {dim(features)}), name, epsilon) {}
  /// Creates the variables, for rows of the type `features`: `layer_norm_layer(g, of<double, 64>, "norm")`. Throws
  /// error(invalid_argument) unless the type is a vector of floats and epsilon >= 0.
  layer_norm_layer(graph& g, type const& features, std::string_view name, double epsilon = 1e-5)
      : last_(g, features, name, epsilon) {}

  /// Returns x normalised. Throws error(invalid_argument) unless x is [batch, ..., features] of the layer's type.
  template <typed X> auto operator()(X x) const { return expr<X::static_type>{(*this)(value(x))}; }
  value operator()(value x) const;

  /// Returns the variables that training changes.
  std::vector<variable_value> variables() const try { return {last_.scale, last_.shift}; } catch (...) {
    rethrow_as_error();
  }

 private:
  detail::scale_and_shift last_;
};

/// The options of a batch_norm_layer.
struct batch_norm_options {
  double decay = 0.9;  ///< the weight of the old moving average in each update (PyTorch's 1 - momentum)
  double epsilon = 1e-5;
};

/// Computes (x - mean) / √(variance + epsilon) * scale + shift for each feature of x [batch, ..., features], or for
/// each channel of images [n, height, width, channels]. In training, it uses the batch's mean and variance, and a step
/// that computes the result updates the moving averages; an empty batch leaves them as they are. Otherwise it uses the
/// moving averages. `norm(x, training)` takes a bool of the program or of the graph. The variables are name/scale and
/// name/shift, and the moving averages name/mean and name/variance, which no optimizer trains. If one step computes two
/// calls in training, order their updates: `g.after({first}, [&] { return norm(y, training); })`. The variance divides
/// by n, as in Keras (PyTorch's running_var divides by n - 1). A layer of 16-bit floats computes in float32, and its
/// moving averages are float32.
class batch_norm_layer {
 public:
  /// Creates the variables, for rows of `features` floats.
  batch_norm_layer(graph& g, std::int64_t features, std::string_view name, batch_norm_options o = {})
      : batch_norm_layer(g, type(dtype::float32, {dim(features)}), name, o) {}
  /// Creates the variables, for rows of the type `features`: `batch_norm_layer(g, of<double, 64>, "norm")`. Throws
  /// error(invalid_argument) unless the type is a vector of floats, epsilon >= 0 and 0 <= decay <= 1.
  batch_norm_layer(graph& g, type const& features, std::string_view name, batch_norm_options o = {});

  /// Returns x normalised. Throws error(invalid_argument) unless x is [batch, ..., features] of the layer's type.
  template <typed X> auto operator()(X x, std::same_as<bool> auto training) const {
    return expr<X::static_type>{(*this)(value(x), training)};
  }
  value operator()(value x, std::same_as<bool> auto training) const { return run(x, training); }
  template <typed X, operand T>
    requires detail::layer_mode<T>
  auto operator()(X x, T training) const {
    return expr<X::static_type>{run_if(training, x)};
  }
  template <operand T>
    requires detail::layer_mode<T>
  value operator()(value x, T training) const {
    return run_if(training, x);
  }
  /// Other arguments are refused while the program compiles.
  template <operand X, class... Rest>
    requires(sizeof...(Rest) != 1 || !(detail::layer_mode<Rest> && ...))
  X operator()(X x, Rest const&...) const {
    constexpr bool has_mode = sizeof...(Rest) == 1 && (detail::layer_mode<Rest> && ...);
    static_assert(has_mode,
                  "batch_norm_layer: expected norm(x, training), where training is a bool of the program or the graph: "
                  "true in a step that trains");
    return x;
  }

  /// Returns the variables that training changes.
  std::vector<variable_value> variables() const try { return {last_.scale, last_.shift}; } catch (...) {
    rethrow_as_error();
  }
  /// Returns the moving average of the mean, or of the variance.
  variable_value mean() const { return mean_; }
  variable_value variance() const { return variance_; }

 private:
  value run(value x, bool training) const;
  value run_if(value training, value x) const;
  value by_batch(value x, std::vector<operation>& updates) const;
  value by_averages(value x) const;

  detail::scale_and_shift last_;
  variable_value mean_, variance_;
  double decay_;
};

#if RILL_RUNTIME

RILL_INLINE void detail::check_normalization(type const& features, double epsilon, std::string const& name) try {
  if (!features.has_rank() || features.rank != 1 || !is_float(features.element))
    throw error(code::invalid_argument,
                "a normalisation layer: expected rows of floats, [features], got " + features.text(), name);
  if (!(epsilon >= 0))
    throw error(code::invalid_argument,
                "a normalisation layer: expected an epsilon from 0 on, got " + printing::number_text(epsilon, ""),
                name);
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void detail::check_features(value x, type const& features, std::string_view who) try {
  type const t = x.type();
  if (t.has_rank() && t.rank >= 2 && t.element == features.element &&
      may_equal(t[t.rank - std::size_t{1}], features[0]))
    return;
  throw error(code::invalid_argument, std::string(who) + ": expected [batch, ..., features] with features of " +
                                          with_article(features) + ", got " + t.text());
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE detail::scale_and_shift::scale_and_shift(graph& g, type const& features, std::string_view called,
                                                     double least) try
    : name(called),
      scale(variable(g, features, name + "/scale", constant(1))),
      shift(variable(g, features, name + "/shift", zeros())),
      epsilon(least) {
  check_normalization(features, least, name);
} catch (...) {
  rethrow_as_error();
}

namespace detail {
/// The mean of x over the given axes, x minus the mean, and the variance.
struct centred {
  value mean, x, variance;
  centred(value of, extents const& axes)
      : mean(rill::mean(of, axes)), x(sub(of, mean)), variance(rill::mean(square(x), axes)) {}
};
inline value divided_by_deviation(value x, value variance, double epsilon) {
  return div(x, sqrt(add(variance, like(variance, epsilon))));
}
}  // namespace detail

RILL_INLINE value layer_norm_layer::operator()(value x) const {
  last_.check(x, "layer_norm");
  return detail::graph_of(x).scope(last_.name, [&] { return last_(layer_norm(detail::widened(x), last_.epsilon)); });
}

RILL_INLINE batch_norm_layer::batch_norm_layer(graph& g, type const& features, std::string_view name,
                                               batch_norm_options o) try
    : last_(g, features, name, o.epsilon),
      mean_(variable(g, features.with(detail::wide_element(features.element)), last_.name + "/mean", zeros(),
                     {.trainable = false})),
      variance_(variable(g, features.with(detail::wide_element(features.element)), last_.name + "/variance",
                         constant(1), {.trainable = false})),
      decay_(o.decay) {
  if (!(o.decay >= 0 && o.decay <= 1))
    throw error(code::invalid_argument,
                "a batch_norm_layer: expected a decay from 0 to 1, got " + printing::number_text(o.decay, ""),
                last_.name);
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE value batch_norm_layer::by_batch(value x, std::vector<operation>& updates) const {
  extents all_but_features;
  for (std::int64_t i = 0; i + 1 < x.type().rank; ++i) all_but_features.push_back(i);
  detail::centred const c(detail::widened(x), all_but_features);
  // A batch of no rows has no mean. The averages stay as they are.
  auto const rows = detail::count_over(x, all_but_features);
  auto const some = less(zero(rows), rows);
  auto const move = [&](variable_value average, value to) {
    auto const now = read(average);  // perhaps after another call's update
    auto const step = mul(sub(now, to), like(to, 1 - decay_));
    updates.push_back(assign_sub(average, select(some, step, zero(step))));
  };
  move(mean_, c.mean), move(variance_, c.variance);
  return detail::divided_by_deviation(c.x, c.variance, last_.epsilon);
}

RILL_INLINE value batch_norm_layer::by_averages(value x) const {
  return detail::divided_by_deviation(sub(detail::widened(x), value(mean_)), value(variance_), last_.epsilon);
}

RILL_INLINE value batch_norm_layer::run(value x, bool training) const try {
  last_.check(x, "batch_norm");
  auto& g = detail::graph_of(x);
  return g.scope(last_.name, [&] {
    if (!training) return last_(by_averages(x));
    std::vector<operation> updates;
    auto const y = by_batch(x, updates);
    return last_(g.after(updates, [&] { return identity(y); }));
  });
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE value batch_norm_layer::run_if(value training, value x) const try {
  last_.check(x, "batch_norm");
  return detail::graph_of(x).scope(last_.name, [&] {
    std::vector<operation> updates;  // run whenever the branch runs
    return last_(cond(training, [&] { return by_batch(x, updates); }, [&] { return by_averages(x); }));
  });
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill
