// A compiled step: a plan and the plan_instances that run it.
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
#include "rill/run/step_uses.hpp"

namespace rill {

/// The axis names that are bound when a step is compiled, and the results whose named extents are known only when it
/// has run.
struct step_names {
  struct result {
    std::size_t at;
    type said;
    std::string node;
  };
  bound_axes axes;
  std::vector<result> open;

  /// Returns the names of a bound subgraph.
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

/// A compiled step. Several threads may run it at once, each with its own plan_instance. It keeps instances for the
/// next run.
class compiled_step {
 public:
  explicit compiled_step(rill::plan p, std::optional<deferred_subgraph> deferred = {}, step_names names = {},
                         step_uses uses = {})
      : plan_(std::move(p)),
        deferred_(std::move(deferred)),
        deferred_steps_(costs::most_deferred_steps),
        names_(std::move(names)),
        uses_(uses) {}

  /// Returns the plan of the step, or of all of it that is not deferred.
  rill::plan const& plan() const { return plan_; }
  /// Returns the subgraph that is planned when the plan has run; null: none.
  deferred_subgraph const* deferred() const { return deferred_ ? &*deferred_ : nullptr; }
  /// Returns the plans of the deferred subgraph, by the types of its inputs.
  deferred_cache<compiled_step>& deferred_steps() { return deferred_steps_; }
  step_names const& names() const { return names_; }
  step_uses const& uses() const { return uses_; }
  /// Whether variables with open extents still have the extents that it was compiled for.
  bool holds() const { return plan_.holds(); }

  /// Lends a plan_instance to one run.
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

  /// Runs once, then calls `take` with the plan_instance, from which it reads the results.
  template <class Take> void run(std::span<tensor const> fed, pool* workers, step_context& step, Take&& take) {
    lease mine(*this);
    run_step(*mine, fed, workers, step);
    take(*mine);
  }

  /// Frees the memory of plan_instances that no run uses now.
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
  step_uses uses_;
  detail::free_list<plan_instance> idle_;
};

}  // namespace rill
