// Gradients added up over several batches, for one update as by a larger batch.
#pragma once
#include <utility>
#include <vector>

#include "rill/train/optimizer.hpp"

namespace rill {

/// Adds up gradients until an update takes their mean:
///
///     gradient_sums sums(variable_gradients(loss));
///     auto add = sums.add(), train = sums.apply(adam{});
///     for (…) { for (int i = 0; i < 4; ++i) step_with(add); step_with(train); }
///
/// A step runs one of both. The variables "<variable>/gradient_sum" hold the sums, and checkpoints save them. For
/// 16-bit elements, the sums and the means that the optimizer gets are float32. Sparse gradients are made dense.
class gradient_sums {
 public:
  /// Creates the sums. Throws error(invalid_argument) if there are no gradients or one is empty.
  explicit gradient_sums(std::vector<variable_gradient> gradients);

  /// Records the addition of a batch's gradients.
  operation add() const;
  /// Records an update by the mean of what was added, after which the sums start again at 0. If nothing was added, the
  /// gradients are 0.
  template <class Optimizer> operation apply(Optimizer const& optimizer) const {
    return start_again(optimizer.apply(means()));
  }

 private:
  std::vector<variable_gradient> means() const;
  operation start_again(operation updated) const;

  std::vector<variable_gradient> gradients_;
  std::vector<variable_value> sums_;
  variable_value count_;
};

#if RILL_RUNTIME

RILL_INLINE gradient_sums::gradient_sums(std::vector<variable_gradient> gradients) try
    : gradients_(std::move(gradients)) {
  auto& g = detail::graph_of(gradients_);
  for (auto const& each : gradients_) {
    if (!each.gradient)
      throw error(code::invalid_argument, "gradient_sums: expected a gradient for this variable, got an empty one",
                  each.variable.name());
    sums_.push_back(g.near(each.variable, [&] { return detail::slot(each.variable, "gradient_sum"); }));
  }
  count_ = detail::with_task_of(gradients_[0].variable, [&] {
    return variable_value(variable(constant(g, std::int64_t{0}), detail::numbered_variable(g, "gradient_sum", "/count"),
                                   {.trainable = false}));
  });
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE operation gradient_sums::add() const try {
  auto& g = detail::graph_of(gradients_);
  std::vector<operation> all{detail::with_task_of(
      gradients_[0].variable, [&] { return operation(assign_add(count_, constant(g, std::int64_t{1}))); })};
  for (std::size_t i = 0; i < sums_.size(); ++i)
    all.push_back(g.near(sums_[i], [&] {
      return operation(assign_add(sums_[i], detail::wide_gradient(gradients_[i].gradient, gradients_[i].variable)));
    }));
  return group(g, all, "gradient_sums");
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE std::vector<variable_gradient> gradient_sums::means() const try {
  value const count = maximum(value(count_), 1);
  std::vector<variable_gradient> all;
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    auto const v = gradients_[i].variable;
    value const mean = sums_[i] / cast(count, sums_[i].type().element);
    all.push_back({gradient(mean), v});
  }
  return all;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE operation gradient_sums::start_again(operation updated) const {
  auto& g = detail::graph_of(gradients_);
  return g.after({updated}, [&] {
    std::vector<operation> all{detail::with_task_of(
        gradients_[0].variable, [&] { return operation(assign(count_, constant(g, std::int64_t{0}))); })};
    for (auto const& sum : sums_)
      all.push_back(g.near(sum, [&] { return operation(assign(sum, broadcast_like(zero(value(sum)), read(sum)))); }));
    return group(g, all, "gradient_sums");
  });
}

#endif

}  // namespace rill
