// Metrics of numbers, over any number of batches: running mean, mean squared and absolute error, R², perplexity. They
// work on the host, on tensors that steps have fetched.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "rill/train/metric_inputs.hpp"

#if RILL_RUNTIME
namespace rill::detail {

/// Calls f(label, prediction) for each element.
template <class F> void for_each_prediction(tensor const& labels, tensor const& predictions, char const* who, F&& f) {
  detail::check_same_extents(labels, predictions, who);
  auto const wanted = detail::numbers_of(labels, who), given = detail::numbers_of(predictions, who);
  for (std::size_t i = 0; i < wanted.size(); ++i) f(wanted[i], given[i]);
}

}  // namespace rill::detail
#endif

namespace rill::metrics {

/// The mean of all numbers that it was given.
class mean {
 public:
  /// Adds a number that stands for `weight` examples: `loss.update(step(x), 32)`. With a weight of 0 it adds nothing,
  /// not even the NaN that is the mean loss of no examples.
  void update(double x, double weight = 1) {
    if (weight != 0) sum_ += weight * x, weights_ += weight;
  }
  /// Adds each element. Throws error(invalid_argument) unless they are bools, integers or floats.
  void update(tensor const& all);
  /// Throws error(failed_precondition) if the weights don't add up to more than 0.
  double result() const;
  void reset() { *this = {}; }

 private:
  double sum_ = 0, weights_ = 0;
};

/// The mean of (prediction - label)² over all elements.
class mse {
 public:
  /// Counts a batch. Throws error(invalid_argument) unless both are numbers of the same extents.
  void update(tensor const& labels, tensor const& predictions);
  /// Throws error(failed_precondition) if no element was counted.
  double result() const { return mean_.result(); }
  void reset() { *this = {}; }

 private:
  mean mean_;
};

/// The mean of |prediction - label| over all elements.
class mae {
 public:
  /// Counts a batch. Throws error(invalid_argument) unless both are numbers of the same extents.
  void update(tensor const& labels, tensor const& predictions);
  /// Throws error(failed_precondition) if no element was counted.
  double result() const { return mean_.result(); }
  void reset() { *this = {}; }

 private:
  mean mean_;
};

/// R², the coefficient of determination: 1 less the squared errors over the squared deviations of the labels from their
/// mean. For equal labels it is 1 if all predictions are exact, else 0, as in scikit-learn.
class r_squared {
 public:
  /// Counts a batch. Throws error(invalid_argument) unless both are numbers of the same extents.
  void update(tensor const& labels, tensor const& predictions);
  /// Throws error(failed_precondition) if less than two elements were counted.
  double result() const;
  void reset() { *this = {}; }

 private:
  double count_ = 0, mean_ = 0, deviations_ = 0, errors_ = 0;  // Welford's mean and sum of squared deviations
};

/// e to the power of the mean cross-entropy: of how many classes a model of words is in doubt.
class perplexity {
 public:
  /// Counts a batch of labels [...] and logits [..., classes]. Throws error(invalid_argument) for others.
  void update(tensor const& labels, tensor const& logits);
  /// Counts a number, the mean cross-entropy of `weight` labels.
  void update(double cross_entropy, double weight = 1) { mean_.update(cross_entropy, weight); }
  /// Throws error(failed_precondition) if no label was counted.
  double result() const { return std::exp(mean_.result()); }
  void reset() { *this = {}; }

 private:
  mean mean_;
};

#if RILL_RUNTIME

RILL_INLINE void mean::update(tensor const& all) try {
  for (double const x : detail::numbers_of(all, "mean")) update(x);
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE double mean::result() const try {
  detail::check_counted(weights_, "mean");
  return sum_ / weights_;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void mse::update(tensor const& labels, tensor const& predictions) try {
  detail::for_each_prediction(labels, predictions, "mse", [&](double y, double p) { mean_.update((p - y) * (p - y)); });
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void mae::update(tensor const& labels, tensor const& predictions) try {
  detail::for_each_prediction(labels, predictions, "mae", [&](double y, double p) { mean_.update(std::abs(p - y)); });
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void r_squared::update(tensor const& labels, tensor const& predictions) try {
  detail::for_each_prediction(labels, predictions, "r_squared", [&](double y, double p) {
    double const from = y - mean_;
    mean_ += from / ++count_;
    deviations_ += from * (y - mean_);
    errors_ += (p - y) * (p - y);
  });
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE double r_squared::result() const try {
  if (count_ < 2) throw error(code::failed_precondition, "r_squared: expected two examples or more before the result");
  if (deviations_ == 0) return errors_ == 0;
  return 1 - errors_ / deviations_;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void perplexity::update(tensor const& labels, tensor const& logits) try {
  detail::class_scores const given(logits, labels, "perplexity");
  auto const wanted = detail::labels_of(labels, "perplexity");
  for (auto const label : wanted)
    if (label >= static_cast<std::int64_t>(given.classes))
      throw error(code::invalid_argument, "perplexity: expected labels below the " + std::to_string(given.classes) +
                                              " classes, got " + std::to_string(label));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    auto const* row = given.row(i);
    double const highest = *std::max_element(row, row + given.classes);
    double sum = 0;
    for (std::size_t k = 0; k < given.classes; ++k) sum += std::exp(row[k] - highest);
    mean_.update(std::log(sum) + (highest - row[wanted[i]]));
  }
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill::metrics
