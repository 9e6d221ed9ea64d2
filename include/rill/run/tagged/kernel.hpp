// The kernel of a loop, branch or call in tagged execution, and of a region of primitives that a user wrote.
#pragma once
#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "rill/run/plan/primitive_region.hpp"
#include "rill/run/plan/request.hpp"
#include "rill/run/tagged/can_lower.hpp"
#include "rill/run/tagged/lower.hpp"
#include "rill/run/tagged/make_tagged_plan.hpp"
#include "rill/run/tagged/print.hpp"
#include "rill/run/tagged/walk.hpp"

namespace rill {

#if RILL_RUNTIME
namespace detail {

/// The walks of one plan: each concurrent run has its own.
class tagged_walks final : public keeps_memory {
 public:
  tagged_walks(std::shared_ptr<tagged_plan const> p, std::size_t references)
      : plan_(std::move(p)), references_(references) {}
  std::shared_ptr<tagged_walk> find() {
    std::lock_guard lock(mutex_);
    for (auto& w : all_)
      if (w.use_count() == 1) return w;
    return all_.emplace_back(std::make_shared<tagged_walk>(plan_, references_));
  }
  void trim() override {
    for (auto const& f : plan_->frames) f.plan->trim();
    std::lock_guard lock(mutex_);
    std::erase_if(all_, [](auto const& w) { return w.use_count() == 1; });
  }
  std::string explain(stages which) const override { return text(*plan_, which); }

 private:
  std::shared_ptr<tagged_plan const> plan_;
  std::size_t references_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<tagged_walk>> all_;
};

}  // namespace detail

RILL_INLINE bool runs_tagged(node const& n, std::span<type const> inputs, plan_request const& with) {
  if (is_primitive_region(n)) return true;
  if (with.execution == execution::sequential || has_devices(with.devices) || !detail::is_lowered(n)) return false;
  return (with.execution == execution::tagged || may_wait(n)) && can_lower(n, inputs, with.state, with.passes);
}

RILL_INLINE kernel tagged_kernel(kernel_request const& r) {
  std::size_t references = 0;
  while (references < r.inputs.size() && takes_reference(r.at, references)) ++references;
  auto sub = is_primitive_region(r.at)
                 ? lowered{*detail::attribute_as<std::shared_ptr<subgraph const>>(r.at.attributes, "body")}
                 : lower(r.at, r.inputs, r.state, *r.passes);
  auto p =
      std::make_shared<tagged_plan const>(make_tagged_plan(std::move(sub), plan_request{.state = r.state,
                                                                                        .seed = r.seed,
                                                                                        .memory = *r.memory,
                                                                                        .threads = r.threads,
                                                                                        .passes = *r.passes,
                                                                                        .functions = r.functions}));
  bool const open = std::any_of(p->outputs.begin(), p->outputs.end(), [](auto const& o) { return !o.of.is_known(); });
  auto const walks = std::make_shared<detail::tagged_walks>(std::move(p), references);
  if (r.bodies) r.bodies->push_back(walks);
  kernel k([walks](kernel_call const& call) { walks->find()->start(call); });
  k.waits = true;
  k.allocates_outputs = open;
  return k;
}
#endif

}  // namespace rill
