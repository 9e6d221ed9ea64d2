// What metrics read from tensors on the host: numbers, labels, and the classes that predictions choose.
#pragma once
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "rill/base/error.hpp"
#include "rill/tensor/tensor.hpp"

namespace rill::detail {

/// Returns the elements as float64. Throws error(invalid_argument) unless they are bools, integers or floats.
std::vector<double> numbers_of(tensor const& t, std::string_view who);

/// Returns the elements as int64. Throws error(invalid_argument) unless they are bools or integers from 0 on.
std::vector<std::int64_t> labels_of(tensor const& t, std::string_view who);

/// Returns the class that is predicted for each label. Predictions with the extents of the labels are classes, or
/// probabilities of class 1, which choose it above 0.5. Predictions with a further axis are scores of classes, of which
/// the first largest is chosen (NaN is below all numbers). Throws error(invalid_argument) for other predictions.
std::vector<std::int64_t> classes_of(tensor const& predictions, tensor const& labels, std::string_view who);

/// The scores of classes, one row for each label. Throws error(invalid_argument) unless they are floats with the
/// extents of the labels and a further axis of one class or more.
struct class_scores {
  std::vector<double> all;
  std::size_t classes = 0;

  class_scores(tensor const& scores, tensor const& labels, std::string_view who);
  double const* row(std::size_t i) const { return all.data() + i * classes; }
};

/// Throws error(invalid_argument) unless two tensors have the same extents.
void check_same_extents(tensor const& labels, tensor const& predictions, std::string_view who);

/// Throws error(failed_precondition) unless something was counted.
inline void check_counted(double count, std::string_view who) {
  if (!(count > 0))
    throw error(code::failed_precondition, std::string(who) + ": expected an update() before the result, got none");
}

#if RILL_RUNTIME

/// What numbers of 16 bits are converted by.
template <class T> using wide_number = std::conditional_t<is_float(dtype_of<T>) && sizeof(T) == 2, float, T>;

[[noreturn]] inline void refuse_metric_input(tensor const& t, std::string_view who, std::string_view wanted) {
  throw error(code::invalid_argument, std::string(who) + ": expected " + std::string(wanted) + ", got " +
                                          (t ? "a tensor of type " + t.type().text() : "an empty tensor handle"));
}

RILL_INLINE std::vector<double> numbers_of(tensor const& t, std::string_view who) {
  std::vector<double> all;
  if (!t || !(dtypes::reals | dtype::boolean).contains(t.element())) refuse_metric_input(t, who, "numbers");
  auto const here = t.to(host);
  all.reserve(static_cast<std::size_t>(here.elements()));
  visit(here.element(), [&]<class T>() {
    if constexpr ((dtypes::reals | dtype::boolean).contains(dtype_of<T>))
      for (T const& x : here.span<T>()) all.push_back(static_cast<double>(static_cast<wide_number<T>>(x)));
  });
  return all;
}

RILL_INLINE std::vector<std::int64_t> labels_of(tensor const& t, std::string_view who) {
  std::vector<std::int64_t> all;
  if (!t || !(dtypes::integers | dtype::boolean).contains(t.element()))
    refuse_metric_input(t, who, "integers or bools as classes");
  auto const here = t.to(host);
  all.reserve(static_cast<std::size_t>(here.elements()));
  visit(here.element(), [&]<class T>() {
    if constexpr (std::is_integral_v<T>)
      for (T const& x : here.span<T>()) all.push_back(static_cast<std::int64_t>(x));
  });
  for (auto const label : all)
    if (label < 0)
      throw error(code::invalid_argument,
                  std::string(who) + ": expected classes from 0 on, got " + std::to_string(label));
  return all;
}

RILL_INLINE void check_same_extents(tensor const& labels, tensor const& predictions, std::string_view who) {
  if (labels.shape() == predictions.shape()) return;
  throw error(code::invalid_argument, std::string(who) + ": expected predictions with the extents of the labels " +
                                          labels.shape().text() + ", got " + predictions.shape().text());
}

RILL_INLINE class_scores::class_scores(tensor const& scores, tensor const& labels, std::string_view who) {
  bool fits = scores && labels && is_float(scores.element()) && scores.rank() == labels.rank() + 1;
  for (std::size_t i = 0; fits && i < labels.rank(); ++i) fits = scores.shape()[i] == labels.shape()[i];
  if (fits) classes = static_cast<std::size_t>(scores.shape()[labels.rank()]);
  if (!fits || classes == 0)
    refuse_metric_input(scores, who, "scores of floats, with the extents of the labels and a further axis of classes");
  all = numbers_of(scores, who);
}

RILL_INLINE std::vector<std::int64_t> classes_of(tensor const& predictions, tensor const& labels,
                                                 std::string_view who) {
  if (predictions.rank() == labels.rank()) {
    check_same_extents(labels, predictions, who);
    if (!predictions || !is_float(predictions.element())) return labels_of(predictions, who);
    std::vector<std::int64_t> all;
    for (double const p : numbers_of(predictions, who)) all.push_back(p > 0.5);
    return all;
  }
  class_scores const scores(predictions, labels, who);
  std::vector<std::int64_t> all(scores.all.size() / scores.classes);
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::size_t best = 0;
    for (std::size_t k = 1; k < scores.classes; ++k)
      if (scores.row(i)[k] > scores.row(i)[best] || std::isnan(scores.row(i)[best])) best = k;
    all[i] = static_cast<std::int64_t>(best);
  }
  return all;
}

#endif

}  // namespace rill::detail
