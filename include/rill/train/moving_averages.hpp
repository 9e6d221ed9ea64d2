// Exponential moving averages of weights, which often generalise better than the weights (B. Polyak and A. Juditsky,
// 1992).
#pragma once
#include <string>
#include <vector>

#include "rill/ops/math/power.hpp"
#include "rill/tensor/print.hpp"
#include "rill/train/optimizer.hpp"

namespace rill {

/// The options of moving_averages.
struct moving_averages_options {
  double decay = 0.999;  ///< the weight of the old average in each update
  /// Whether the averages start at zeros and are divided by 1 - decayᵗ after t updates, as adam's. Otherwise they start
  /// at the first values of the variables.
  bool bias_correction = false;
};

/// Averages of variables over the steps of training: average = decay * average + (1 - decay) * variable.
///
/// `auto train = averages.update({adam{}.minimize(loss)})` is an operation that trains and then updates the averages. A
/// step of `averages.swap()` exchanges variables and averages, for an evaluation; a second one exchanges them back. The
/// variables "<variable>/average" hold the averages, already corrected, and checkpoints save them. Those of variables
/// with 16-bit elements are float32. A swap rounds them for the variable and keeps them in "<variable>/average/exact",
/// so that the second swap brings them back as they were, except elements of the variable that were changed meanwhile.
class moving_averages {
 public:
  /// Creates the averages. Throws error(invalid_argument) unless 0 <= decay < 1 and there are variables, of floats or
  /// complex numbers, and error(failed_precondition) if one has neither known extents nor a first value.
  moving_averages(std::vector<variable_value> of, moving_averages_options o = {});

  /// Records an update of all averages by the variables' values after the operations `first`.
  operation update(std::vector<operation> const& first = {}) const;
  /// Records an exchange of the variables' values and the averages.
  operation swap() const;
  /// Returns the average of a variable. Throws error(not_found) if it has none here.
  variable_value average(variable_value v) const;

 private:
  graph& graph_;
  std::vector<variable_value> variables_, averages_;
  std::vector<variable_value> exact_;  // empty handles for variables that are not of 16 bits
  moving_averages_options options_;
  variable_value updates_;  // their number, with bias correction
};

#if RILL_RUNTIME

namespace detail {

inline graph& graph_of_averages(std::vector<variable_value> const& of) {
  expects(!of.empty(), "moving_averages: expected at least one variable, got an empty list");
  return graph_of(of[0]);
}

}  // namespace detail

RILL_INLINE moving_averages::moving_averages(std::vector<variable_value> of, moving_averages_options o) try
    : graph_(detail::graph_of_averages(of)), variables_(std::move(of)), options_(o) {
  if (!(o.decay >= 0 && o.decay < 1))
    throw error(code::invalid_argument,
                "moving_averages: expected a decay from 0 to below 1, got " + printing::number_text(o.decay, ""));
  for (auto const& v : variables_) {
    if (!is_differentiable(v.type().element))
      throw error(code::invalid_argument,
                  "moving_averages: expected a variable of floats or complex numbers, got " + v.type().text(),
                  v.name());
    averages_.push_back(graph_.near(v, [&] {
      return o.bias_correction ? detail::slot(v, "average")
                               : detail::slot_from(detail::widened(initial_value(v)), v, "average");
    }));
    exact_.push_back(detail::has_master(v) ? graph_.near(v, [&] { return detail::slot(v, "average", "/exact"); })
                                           : variable_value());
  }
  if (o.bias_correction)
    updates_ = detail::with_task_of(variables_[0], [&] {
      return variable_value(variable(constant(graph_, std::int64_t{0}),
                                     detail::numbered_variable(graph_, "average", "/updates"), {.trainable = false}));
    });
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE operation moving_averages::update(std::vector<operation> const& first) const try {
  return graph_.after(first, [&] {
    value share;
    if (options_.bias_correction) {  // (1 - decay) / (1 - decayᵗ) keeps the average corrected
      value const count = detail::with_task_of(
          variables_[0], [&] { return value(assign_add(updates_, constant(graph_, std::int64_t{1}))); });
      value const t = cast(count, dtype::float64);
      share = (1 - options_.decay) / (1 - pow(options_.decay, t));
    }
    std::vector<operation> all;
    for (std::size_t i = 0; i < variables_.size(); ++i)
      all.push_back(graph_.near(variables_[i], [&] {
        value const now = detail::widened(read(variables_[i])), change = now - read(averages_[i]);
        return operation(assign_add(
            averages_[i], change * (share ? cast(share, now.type().element) : like(now, 1 - options_.decay))));
      }));
    return group(graph_, all, "average");
  });
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE operation moving_averages::swap() const try {
  std::vector<operation> all;
  for (std::size_t i = 0; i < variables_.size(); ++i)
    all.push_back(graph_.near(variables_[i], [&] {
      value const v = read(variables_[i]), average = read(averages_[i]);
      // The unrounded values of v from the last swap, where v has not changed since.
      value const exact = exact_[i] ? detail::exact_values(read(exact_[i]), v) : v;
      return graph_.after({v, average, exact}, [&] {
        std::vector<operation> both{assign(variables_[i], cast(average, v.type().element)),
                                    assign(averages_[i], exact)};
        if (exact_[i]) both.push_back(assign(exact_[i], average));
        return group(graph_, both, "swap");
      });
    }));
  return group(graph_, all, "swap");
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE variable_value moving_averages::average(variable_value v) const try {
  for (std::size_t i = 0; i < variables_.size(); ++i)
    if (variables_[i].node == v.node && variables_[i].graph == v.graph) return averages_[i];
  throw error(code::not_found, "moving_averages: the variable has no average here: list it when they are created",
              v.name());
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill
