// Metrics of classifiers, over any number of batches: accuracy, top-k accuracy, confusion matrix, precision, recall,
// F1, and the area under the ROC curve. They work on the host, on tensors that steps have fetched.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "rill/train/metric_inputs.hpp"

namespace rill::metrics {

/// The fraction of examples whose class was predicted. Labels are bools or integers from 0 on. Predictions are classes,
/// probabilities of class 1 (above 0.5 is class 1), or scores with a further axis of classes (the first largest).
class accuracy {
 public:
  /// Counts a batch. Throws error(invalid_argument) for other labels and predictions.
  void update(tensor const& labels, tensor const& predictions);
  /// Throws error(failed_precondition) if no example was counted.
  double result() const;
  void reset() { *this = {}; }

 private:
  double right_ = 0, all_ = 0;
};

/// The fraction of examples whose class is among the k with the highest scores. Of equal scores, the first classes are
/// higher, so k = 1 gives the accuracy.
class top_k_accuracy {
 public:
  /// Throws error(invalid_argument) unless k > 0.
  explicit top_k_accuracy(std::int64_t k);
  /// Counts a batch of labels [...] and scores [..., classes]. Throws error(invalid_argument) for others.
  void update(tensor const& labels, tensor const& scores);
  /// Throws error(failed_precondition) if no example was counted.
  double result() const;
  void reset() { right_ = all_ = 0; }

 private:
  std::int64_t k_;
  double right_ = 0, all_ = 0;
};

/// How precision, recall and F1 are made one number.
enum class averaging {
  binary,    ///< of class 1, of two
  macro,     ///< the mean over the classes that occur in labels or predictions
  micro,     ///< by the counts of all classes together
  weighted,  ///< the mean over the classes, weighted by how often each is a label
};

/// How often each class was predicted for each label, and what follows from it. Fractions with a zero divisor are 0, as
/// in scikit-learn.
class confusion_matrix {
 public:
  /// Throws error(invalid_argument) unless there is a class.
  explicit confusion_matrix(std::int64_t classes);
  /// Counts a batch, of labels and predictions as of `accuracy`. Throws error(invalid_argument) for others, and for
  /// classes out of range; then it counts nothing.
  void update(tensor const& labels, tensor const& predictions);
  /// Returns the counts: [label, prediction].
  tensor_of<of<std::int64_t, unknown, unknown>> result() const;
  void reset() { std::fill(counts_.begin(), counts_.end(), 0); }

  /// Returns the fraction of examples whose class was predicted. Throws error(failed_precondition) if no example was
  /// counted; so do the others.
  double accuracy() const;
  /// Returns how many of those that were predicted as the class are of the class. Throws error(invalid_argument) for
  /// binary averaging of more or less than two classes; so do `recall` and `f1`.
  double precision(averaging by) const;
  /// Returns how many of those of the class were predicted as the class.
  double recall(averaging by) const;
  /// Returns the harmonic mean of precision and recall.
  double f1(averaging by) const;

 private:
  // What was counted of a class, or of all: labels, predictions, and where both agree.
  struct tally {
    double labels = 0, predictions = 0, both = 0;
  };
  tally of_class(std::int64_t c) const;
  template <class Score> double averaged(averaging by, Score const& score) const;
  std::int64_t& count(std::int64_t label, std::int64_t prediction) {
    return counts_[static_cast<std::size_t>(label * classes_ + prediction)];
  }
  std::int64_t count(std::int64_t label, std::int64_t prediction) const {
    return counts_[static_cast<std::size_t>(label * classes_ + prediction)];
  }

  std::int64_t classes_;
  std::vector<std::int64_t> counts_;
};

/// The area under the ROC curve of two classes: the probability that an example of class 1 has a higher score than one
/// of class 0, where equal scores count half. It is exact, so it keeps all scores.
class roc_auc {
 public:
  /// Counts a batch of labels 0 and 1 and scores of the same extents. Throws error(invalid_argument) for other labels
  /// and NaN; then it counts nothing.
  void update(tensor const& labels, tensor const& scores);
  /// Throws error(failed_precondition) unless both classes were counted.
  double result() const;
  void reset() { scored_.clear(); }

 private:
  std::vector<std::pair<double, bool>> scored_;
};

#if RILL_RUNTIME

RILL_INLINE void accuracy::update(tensor const& labels, tensor const& predictions) try {
  auto const classes = detail::classes_of(predictions, labels, "accuracy");
  auto const wanted = detail::labels_of(labels, "accuracy");
  for (std::size_t i = 0; i < wanted.size(); ++i) right_ += wanted[i] == classes[i];
  all_ += static_cast<double>(wanted.size());
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE double accuracy::result() const try {
  detail::check_counted(all_, "accuracy");
  return right_ / all_;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE top_k_accuracy::top_k_accuracy(std::int64_t k) try : k_(k) {
  if (k <= 0) throw error(code::invalid_argument, "top_k_accuracy: expected a k above 0, got " + std::to_string(k));
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void top_k_accuracy::update(tensor const& labels, tensor const& scores) try {
  detail::class_scores const given(scores, labels, "top_k_accuracy");
  auto const wanted = detail::labels_of(labels, "top_k_accuracy");
  for (auto const label : wanted)
    if (label >= static_cast<std::int64_t>(given.classes))
      throw error(code::invalid_argument, "top_k_accuracy: expected labels below the " + std::to_string(given.classes) +
                                              " classes, got " + std::to_string(label));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    auto const label = static_cast<std::size_t>(wanted[i]);
    auto const* row = given.row(i);
    std::int64_t higher = 0;
    for (std::size_t k = 0; k < given.classes; ++k)
      higher += row[k] > row[label] || (row[k] == row[label] && k < label) || (std::isnan(row[label]) && k != label);
    right_ += higher < k_;
  }
  all_ += static_cast<double>(wanted.size());
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE double top_k_accuracy::result() const try {
  detail::check_counted(all_, "top_k_accuracy");
  return right_ / all_;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE confusion_matrix::confusion_matrix(std::int64_t classes) try : classes_(classes) {
  if (classes <= 0)
    throw error(code::invalid_argument,
                "confusion_matrix: expected a number of classes above 0, got " + std::to_string(classes));
  counts_.resize(static_cast<std::size_t>(checked_product(classes, classes)));
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void confusion_matrix::update(tensor const& labels, tensor const& predictions) try {
  auto const predicted = detail::classes_of(predictions, labels, "confusion_matrix");
  auto const wanted = detail::labels_of(labels, "confusion_matrix");
  for (auto const* all : {&wanted, &predicted})
    for (auto const c : *all)
      if (c >= classes_)
        throw error(code::invalid_argument, "confusion_matrix: expected classes below " + std::to_string(classes_) +
                                                ", got " + std::to_string(c));
  for (std::size_t i = 0; i < wanted.size(); ++i) ++count(wanted[i], predicted[i]);
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE tensor_of<of<std::int64_t, unknown, unknown>> confusion_matrix::result() const try {
  return tensor_of<of<std::int64_t, unknown, unknown>>(
      tensor::copy(std::span<std::int64_t const>(counts_), shape{classes_, classes_}));
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE confusion_matrix::tally confusion_matrix::of_class(std::int64_t c) const {
  tally t{.both = static_cast<double>(count(c, c))};
  for (std::int64_t other = 0; other < classes_; ++other) {
    t.labels += static_cast<double>(count(c, other));
    t.predictions += static_cast<double>(count(other, c));
  }
  return t;
}

template <class Score> double confusion_matrix::averaged(averaging by, Score const& score) const {
  if (by == averaging::binary) {
    if (classes_ != 2)
      throw error(code::invalid_argument, "confusion_matrix: binary averaging expects 2 classes, got " +
                                              std::to_string(classes_) + ": use averaging::macro, micro or weighted");
    return score(of_class(1));
  }
  tally together;
  double sum = 0, weights = 0;
  for (std::int64_t c = 0; c < classes_; ++c) {
    auto const t = of_class(c);
    together = {together.labels + t.labels, together.predictions + t.predictions, together.both + t.both};
    double const weight = by == averaging::weighted ? t.labels : t.labels + t.predictions > 0;
    sum += weight * score(t), weights += weight;
  }
  return by == averaging::micro ? score(together) : sum / weights;
}

RILL_INLINE double confusion_matrix::accuracy() const try {
  double all = 0, right = 0;
  for (std::int64_t c = 0; c < classes_; ++c) {
    auto const t = of_class(c);
    all += t.labels, right += t.both;
  }
  detail::check_counted(all, "confusion_matrix");
  return right / all;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE double confusion_matrix::precision(averaging by) const try {
  accuracy();  // throws if nothing was counted
  return averaged(by, [](tally const& t) { return t.predictions > 0 ? t.both / t.predictions : 0; });
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE double confusion_matrix::recall(averaging by) const try {
  accuracy();
  return averaged(by, [](tally const& t) { return t.labels > 0 ? t.both / t.labels : 0; });
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE double confusion_matrix::f1(averaging by) const try {
  accuracy();
  return averaged(
      by, [](tally const& t) { return t.labels + t.predictions > 0 ? 2 * t.both / (t.labels + t.predictions) : 0; });
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void roc_auc::update(tensor const& labels, tensor const& scores) try {
  detail::check_same_extents(labels, scores, "roc_auc");
  auto const wanted = detail::labels_of(labels, "roc_auc");
  auto const given = detail::numbers_of(scores, "roc_auc");
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] > 1)
      throw error(code::invalid_argument, "roc_auc: expected labels 0 and 1, got " + std::to_string(wanted[i]));
    if (std::isnan(given[i])) throw error(code::invalid_argument, "roc_auc: expected scores that compare, got NaN");
  }
  std::vector<std::pair<double, bool>> more;
  for (std::size_t i = 0; i < wanted.size(); ++i) more.emplace_back(given[i], wanted[i] == 1);
  scored_.insert(scored_.end(), more.begin(), more.end());  // all or none
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE double roc_auc::result() const try {
  auto sorted = scored_;
  std::sort(sorted.begin(), sorted.end());
  double below = 0, pairs = 0, positives = 0;  // zeros with lower scores; pairs in order; ones
  for (std::size_t i = 0; i < sorted.size();) {
    double zeros = 0, ones = 0;
    for (auto const score = sorted[i].first; i < sorted.size() && sorted[i].first == score; ++i)
      (sorted[i].second ? ones : zeros) += 1;
    pairs += ones * (below + zeros / 2);
    below += zeros, positives += ones;
  }
  if (positives == 0 || below == 0)
    throw error(code::failed_precondition, "roc_auc: expected examples of both classes before the result, got " +
                                               std::to_string(sorted.size()) + " of one");
  return pairs / positives / below;
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill::metrics
