// A plan and the activations that run it: what a session keeps for a run signature.
#pragma once
#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rill/pass/bind.hpp"
#include "rill/run/activation.hpp"
#include "rill/run/idle_runs.hpp"
#include "rill/run/plan/late.hpp"

namespace rill {

/// What a step has bound its axes' names to before it runs, and which results bring extents that have names.
struct step_names {
  struct result {
    std::size_t at;
    type said;
    std::string node;
  };
  axis_binding::extents_of_names axes;
  std::vector<result> open;

  /// Of a bound part.
  static step_names of(subgraph const& part) {
    step_names names{part.axes, {}};
    for (std::size_t i = 0; i < part.outputs.size(); ++i) {
      auto const& t = part.type_of(part.outputs[i]);
      bool const named = t.has_rank() && std::any_of(&t[0], &t[0] + t.rank, [](dim const& d) { return d.named(); });
      if (named) names.open.push_back({i, t, part[part.outputs[i].node].name});
    }
    return names;
  }
};

/// What a step does with variables.
struct step_variables {
  bool any = true;            ///< anything in it, its bodies and functions included, reads or updates one
  bool first_values = false;  ///< it gives them their first values, which don't depend on the number of the step
};

/// A compiled step. Several threads may run it at once, each with an activation of its own; those are kept for the
/// next.
class compiled_step {
 public:
  explicit compiled_step(rill::plan p, std::optional<late_part> late = {}, step_names names = {},
                         step_variables variables = {})
      : plan_(std::move(p)), late_part_(std::move(late)), late_(64), names_(std::move(names)), variables_(variables) {}

  /// All of the step, or what of it could be planned at first.
  rill::plan const& plan() const { return plan_; }
  /// What is planned when that has run; null: nothing.
  late_part const* late() const { return late_part_ ? &*late_part_ : nullptr; }
  /// And for which extents it was.
  compiled_lately<compiled_step>& late_steps() { return late_; }
  step_names const& names() const { return names_; }
  step_variables variables() const { return variables_; }
  /// Whether variables of open extents still have those that it was compiled for.
  bool holds() const { return plan_.holds(); }

  /// Runs once and hands the activation to `take`, which reads the results.
  template <class Take> void run(std::span<tensor const> fed, pool* crew, step_context& step, Take&& take) {
    lease mine(*this);
    mine.held->run(fed, crew, step);
    take(*mine.held);
  }

  /// Gives the memory of activations that don't run now back.
  void trim() {
    idle_.clear();
    plan_.trim();
    late_.trim();
  }

 private:
  struct lease {
    explicit lease(compiled_step& s) : step(s), held(s.idle_.take()) {
      if (!held) held = std::make_unique<activation>(s.plan_);
    }
    ~lease() {
      held->release();
      held->give_back_arena();
      step.idle_.give_back(std::move(held));
    }
    compiled_step& step;
    std::unique_ptr<activation> held;
  };

  rill::plan plan_;
  std::optional<late_part> late_part_;
  compiled_lately<compiled_step> late_;
  step_names names_;
  step_variables variables_;
  detail::idle_runs<activation> idle_;
};

}  // namespace rill
