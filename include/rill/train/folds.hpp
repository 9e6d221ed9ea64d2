// Examples in memory, divided into those to train on and those to test on, and standardised. The same seed divides in
// the same way.
#pragma once
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "rill/tensor/print.hpp"
#include "rill/train/batches.hpp"
#include "rill/train/metric_inputs.hpp"

namespace rill {

/// The numbers of the examples to train on and of those to test on.
struct data_split {
  std::vector<std::int64_t> training, testing;
};

/// Returns `folds` divisions of n examples, in each of which another part is for testing. The first n % folds parts
/// have an example more. Throws error(invalid_argument) unless there are two folds or more, and an example for each.
std::vector<data_split> k_folds(std::int64_t n, std::int64_t folds, std::uint64_t seed = 0);

/// Returns a division of n examples, of which the fraction `testing`, rounded up, is for testing. Throws
/// error(invalid_argument) unless both parts have an example.
data_split train_test_split(std::int64_t n, double testing, std::uint64_t seed = 0);

/// Returns copies of the rows with these numbers. Throws error(invalid_argument) for other rows.
tensor take_rows(tensor const& from, std::vector<std::int64_t> const& rows);
template <type T>
tensor_of<detail::rows_of(T)> take_rows(tensor_of<T> const& from, std::vector<std::int64_t> const& rows) {
  return tensor_of<detail::rows_of(T)>(take_rows(static_cast<tensor const&>(from), rows));
}
/// The same of each tensor of a tuple.
template <class... Tensors> auto take_rows(std::tuple<Tensors...> const& from, std::vector<std::int64_t> const& rows) {
  return std::apply([&](auto const&... each) { return std::tuple{take_rows(each, rows)...}; }, from);
}

/// Moves and scales each column to mean 0 and variance 1: `standardizer by(train_x); by.transform(test_x)`. Columns are
/// along the last axis; the variance divides by n. A column of equal numbers is only moved.
class standardizer {
 public:
  /// Measures the columns. Throws error(invalid_argument) unless x [..., columns] is of floats and has a row.
  explicit standardizer(tensor const& x);
  /// Returns (x - mean) / deviation, of x's element type. Throws error(invalid_argument) unless x is of floats and has
  /// as many columns.
  tensor transform(tensor const& x) const;
  /// Returns x * deviation + mean: what was transformed into x.
  tensor inverse(tensor const& x) const;

  /// Returns the mean of each column.
  std::vector<double> const& means() const { return means_; }
  /// Returns the standard deviation of each column; 1 for a column of equal numbers.
  std::vector<double> const& deviations() const { return deviations_; }

 private:
  template <class F> tensor each(tensor const& x, F&& f) const;
  std::vector<double> means_, deviations_;
};

#if RILL_RUNTIME

RILL_INLINE std::vector<data_split> k_folds(std::int64_t n, std::int64_t folds, std::uint64_t seed) try {
  if (folds < 2 || n < folds)
    throw error(code::invalid_argument, "k_folds: expected two folds or more, and an example for each, got " +
                                            std::to_string(folds) + " folds of " + std::to_string(n) + " examples");
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  detail::shuffle(order, seed, 0);
  std::vector<data_split> all(static_cast<std::size_t>(folds));
  auto first = order.begin();
  for (std::int64_t i = 0; i < folds; ++i) {
    auto const last = first + n / folds + (i < n % folds);
    auto& f = all[static_cast<std::size_t>(i)];
    f.testing.assign(first, last);
    f.training.assign(order.begin(), first);
    f.training.insert(f.training.end(), last, order.end());
    first = last;
  }
  return all;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE data_split train_test_split(std::int64_t n, double testing, std::uint64_t seed) try {
  auto const part = testing * static_cast<double>(n);  // 0.07 · 100 is 7.000000000000001, which is not to become 8
  auto const held = testing > 0 && testing < 1 && n > 0 ? std::ceil(part * (1 - 1e-15)) : 0;
  auto const count = static_cast<std::int64_t>(held);
  if (count < 1 || count >= n)
    throw error(code::invalid_argument, "train_test_split: expected a fraction that leaves examples for both, got " +
                                            printing::number_text(testing, "") + " of " + std::to_string(n) +
                                            " examples");
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  detail::shuffle(order, seed, 0);
  return {{order.begin() + count, order.end()}, {order.begin(), order.begin() + count}};
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE tensor take_rows(tensor const& from, std::vector<std::int64_t> const& rows) try {
  if (!from || from.rank() == 0)
    throw error(code::invalid_argument, "take_rows: expected a tensor with a first axis of examples");
  auto extents = from.shape();
  for (auto const row : rows)
    if (row < 0 || row >= extents[0])
      throw error(code::invalid_argument, "take_rows: expected rows from 0 to " + std::to_string(extents[0] - 1) +
                                              ", got " + std::to_string(row));
  extents[0] = static_cast<std::int64_t>(rows.size());
  tensor taken(from.element(), extents);
  detail::copy_rows(from.to(host), rows, 0, extents[0], taken);
  return taken;
} catch (...) {
  rethrow_as_error();
}

namespace detail {

/// Throws error(invalid_argument) unless x is of floats and has columns.
inline void check_columns(tensor const& x) {
  if (!x || !is_float(x.element()) || x.rank() == 0)
    refuse_metric_input(x, "standardizer", "floats with a last axis of columns");
}

}  // namespace detail

RILL_INLINE standardizer::standardizer(tensor const& x) try {
  detail::check_columns(x);
  if (x.elements() == 0) detail::refuse_metric_input(x, "standardizer", "a row or more");
  auto const all = detail::numbers_of(x, "standardizer");
  auto const columns = static_cast<std::size_t>(x.shape()[x.rank() - 1]);
  auto const rows = static_cast<double>(all.size() / columns);
  means_.resize(columns), deviations_.resize(columns);
  for (std::size_t i = 0; i < all.size(); ++i) means_[i % columns] += all[i] / rows;
  for (std::size_t i = 0; i < all.size(); ++i)
    deviations_[i % columns] += (all[i] - means_[i % columns]) * (all[i] - means_[i % columns]) / rows;
  for (std::size_t c = 0; c < columns; ++c) {
    bool equal = true;  // rounding may leave a variance that is not 0
    for (std::size_t i = c; i < all.size(); i += columns) equal = equal && all[i] == all[c];
    deviations_[c] = equal ? 1 : std::sqrt(deviations_[c]);
  }
} catch (...) {
  rethrow_as_error();
}

template <class F> tensor standardizer::each(tensor const& x, F&& f) const {
  detail::check_columns(x);
  if (x.shape()[x.rank() - 1] != static_cast<std::int64_t>(means_.size()))
    detail::refuse_metric_input(x, "standardizer", std::to_string(means_.size()) + " columns");
  auto const all = detail::numbers_of(x, "standardizer");
  tensor y(x.element(), x.shape());
  visit(x.element(), [&]<class T>() {
    if constexpr (is_float(dtype_of<T>))
      for (std::size_t i = 0; i < all.size(); ++i)
        y.mutable_data<T>()[i] = static_cast<T>(
            static_cast<detail::wide_number<T>>(f(all[i], means_[i % means_.size()], deviations_[i % means_.size()])));
  });
  return y;
}

RILL_INLINE tensor standardizer::transform(tensor const& x) const try {
  return each(x, [](double v, double mean, double deviation) { return (v - mean) / deviation; });
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE tensor standardizer::inverse(tensor const& x) const try {
  return each(x, [](double v, double mean, double deviation) { return v * deviation + mean; });
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill
