// A plan and the plan_instances that run it: what a session keeps for a run signature.
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
#include "rill/run/free_list.hpp"
#include "rill/run/plan/deferred.hpp"
#include "rill/run/plan/plan_instance.hpp"
#include "rill/run/run_plan.hpp"

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

  /// Of a bound subgraph.
  static step_names of(subgraph const& sub) {
    step_names names{sub.axes, {}};
    for (std::size_t i = 0; i < sub.outputs.size(); ++i) {
      auto const& t = sub.type_of(sub.outputs[i]);
      bool const named = t.has_rank() && std::any_of(&t[0], &t[0] + t.rank, [](dim const& d) { return d.named(); });
      if (named) names.open.push_back({i, t, sub[sub.outputs[i].node].name});
    }
    return names;
  }
};

/// What a step does with variables.
struct step_variables {
  bool any = true;            ///< anything in it, its bodies and functions included, reads or updates one
  bool first_values = false;  ///< it gives them their first values, which don't depend on the number of the step
};

/// A compiled step. Several threads may run it at once, each with a plan_instance of its own. Instances are kept for
/// the next run.
class compiled_step {
 public:
  explicit compiled_step(rill::plan p, std::optional<deferred_subgraph> deferred = {}, step_names names = {},
                         step_variables variables = {})
      : plan_(std::move(p)),
        deferred_(std::move(deferred)),
        deferred_steps_(costs::most_deferred_steps),
        names_(std::move(names)),
        variables_(variables) {}

  /// All of the step, or what of it could be planned at first.
  rill::plan const& plan() const { return plan_; }
  /// What is planned when that has run; null: nothing.
  deferred_subgraph const* deferred() const { return deferred_ ? &*deferred_ : nullptr; }
  /// And for which extents it was.
  deferred_cache<compiled_step>& deferred_steps() { return deferred_steps_; }
  step_names const& names() const { return names_; }
  step_variables variables() const { return variables_; }
  /// Whether variables of open extents still have those that it was compiled for.
  bool holds() const { return plan_.holds(); }

  /// A plan_instance that is lent to one run.
  class lease {
   public:
    explicit lease(compiled_step& s) : step_(s), held_(s.idle_.take()) {
      if (!held_) held_ = std::make_unique<plan_instance>(s.plan_);
    }
    ~lease() {
      held_->release();
      held_->give_back_arena();
      step_.idle_.give_back(std::move(held_));
    }
    lease(lease const&) = delete;
    lease& operator=(lease const&) = delete;
    plan_instance& operator*() const { return *held_; }
    plan_instance* operator->() const { return held_.get(); }

   private:
    compiled_step& step_;
    std::unique_ptr<plan_instance> held_;
  };

  /// Runs once and hands the plan_instance to `take`, which reads the results.
  template <class Take> void run(std::span<tensor const> fed, pool* workers, step_context& step, Take&& take) {
    lease mine(*this);
    run_step(*mine, fed, workers, step);
    take(*mine);
  }

  /// Gives the memory of plan_instances that don't run now back.
  void trim() {
    idle_.clear();
    plan_.trim();
    deferred_steps_.trim();
  }

 private:
  rill::plan plan_;
  std::optional<deferred_subgraph> deferred_;
  deferred_cache<compiled_step> deferred_steps_;
  step_names names_;
  step_variables variables_;
  detail::free_list<plan_instance> idle_;
};

}  // namespace rill
