// The fourth stage of a plan: whether its instructions run in parallel, and what always runs before what.
#pragma once
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "rill/graph/order.hpp"
#include "rill/run/plan/results.hpp"

#if RILL_RUNTIME
namespace rill::planning {

/// The order that parallel execution guarantees, by which memory is laid out: values share memory only if all users of
/// one have run before the other is made, whatever the schedule.
struct parallel_order {
  indexed<plan::slot_id, std::vector<plan::instruction_id>> users;
  std::optional<ancestry> ancestors = {};       ///< where instructions run at the same time
  std::optional<rill::arrivals> arrivals = {};  ///< where one at a time begins

  bool before(plan::instruction_id earlier, plan::instruction_id later) const {
    return arrivals ? (*arrivals)(earlier, later) : (*ancestors)(earlier, later);
  }
  /// Whether each of `list` is `at` or always runs before it.
  bool end_with(std::vector<plan::instruction_id> const& list, plan::instruction_id at) const {
    return std::all_of(list.begin(), list.end(), [&](auto user) { return user == at || before(user, at); });
  }
};

/// The schedule and its order; empty and nullopt for sequential execution.
struct schedule_choice {
  parallel_schedule schedule;
  std::optional<parallel_order> order;
  schedule_reason why;
};

// Returns the instructions that use each slot. Adds to `waits`: an update waits for the earlier users of its variable's
// snapshot, so that it need not copy.
inline indexed<plan::slot_id, std::vector<plan::instruction_id>> users_of_slots(subgraph const& sub,
                                                                                step_order const& sequence,
                                                                                kernel_list const& kernels,
                                                                                slot_layout const& layout,
                                                                                dependencies& waits) {
  indexed<plan::slot_id, std::vector<plan::instruction_id>> users(layout.all.size());
  indexed<plan::slot_id, std::size_t> before_update(layout.all.size());  // users that come before an earlier update
  for (auto at : kernels.instructions.indices()) {
    auto const i = kernels.instructions[at].node;
    auto const& n = sub[i];
    for (auto s : layout.of_node[i]) users[s].push_back(at);
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      auto& list = users[layout.of(n.inputs[k])];
      if (takes_variable(sub, n, k)) {
        if (!updates_reference(n, k)) continue;
        auto& first = before_update[layout.of(n.inputs[k])];
        std::vector<plan::instruction_id> earlier;
        std::copy_if(list.begin() + static_cast<std::ptrdiff_t>(first), list.end(), std::back_inserter(earlier),
                     [&](auto user) {
                       auto const reader = kernels.instructions[user].node;
                       return user != at && sequence.may_wait_for(reader, i) && sub[reader].hops <= n.hops;
                     });
        waits.add(earlier, at);
        if (!n.may_race) first = list.size();
      } else if (!reads_extents_alone(n, k) && (list.empty() || list.back() != at)) list.push_back(at);
    }
  }
  return users;
}

// What the instructions cost, from their types.
inline indexed<plan::instruction_id, cost> costs_of(subgraph const& sub, kernel_list const& kernels) {
  indexed<plan::instruction_id, cost> all;
  std::vector<type> inputs;
  for (auto const& made : kernels.instructions) {
    auto const& n = sub[made.node];
    inputs.clear();
    for (auto e : n.inputs) inputs.push_back(sub.type_of(e));
    all.push_back(n.op->work(n.attributes, inputs, n.outputs));
  }
  return all;
}

// Why a step that can fork does, or does not.
inline schedule_reason reason_to_fork(dependencies const& waits, subgraph const& sub, kernel_list const& kernels,
                                      plan_request const& with) {
  if (with.execution == execution::parallel) return {};
  auto const gain = fork_gain(waits, costs_of(sub, kernels), with.threads);
  if (gain > costs::least_parallel_gain) return {schedule_reason::gain, gain};
  if (kernels.tagged) return {schedule_reason::tagged_node, gain};
  return {kernels.waiting > 1 ? schedule_reason::several_wait : schedule_reason::gain, gain};
}

/// Chooses between sequential and parallel execution.
inline schedule_choice choose_schedule(subgraph const& sub, step_order const& sequence, kernel_list const& kernels,
                                       slot_layout const& layout, result_list const& results,
                                       plan_request const& with) {
  auto const count = kernels.instructions.size();
  if (auto const why = reason_not_to_fork(with.execution, count, with.threads, kernels.waiting))
    return {{}, {}, {*why == schedule_reason::wish && with.functions ? schedule_reason::body : *why}};
  std::vector<plan::instruction_id> instruction_of(sub.size(), no_index<plan::instruction_id>);
  for (auto at : kernels.instructions.indices()) instruction_of[kernels.instructions[at].node] = at;
  dependencies waits(sequence, instruction_of, count);
  auto const why = reason_to_fork(waits, sub, kernels, with);
  bool const pays = why.why == schedule_reason::wish || why.gain_ns > costs::least_parallel_gain;
  if (!pays && why.why == schedule_reason::gain) return {{}, {}, why};

  auto users = users_of_slots(sub, sequence, kernels, layout, waits);
  schedule_choice chosen{parallel_schedule(waits), parallel_order{std::move(users)}, why};
  auto& [schedule, order, _] = chosen;
  schedule.one_at_a_time = count > costs::most_parallel || (!pays && !kernels.tagged);
  schedule.alone = !kernels.tagged && (count > costs::most_parallel || !pays);
  if (schedule.one_at_a_time) {
    indexed<plan::instruction_id, bool> may_wait;
    for (auto const& made : kernels.instructions) may_wait.push_back(made.run.waits);
    order->arrivals.emplace(waits, may_wait);
  } else order->ancestors.emplace(waits);

  schedule.holds.resize(count);
  for (auto id : results.owned.indices()) {
    auto const s = results.owned[id];
    bool const fetched = layout.all[s].last == kernels.instructions.end_index();
    schedule.holders.push_back(fetched ? parallel_schedule::fetched
                                       : static_cast<std::uint32_t>(order->users[s].size()));
    if (!fetched)
      for (auto at : order->users[s]) schedule.holds[at].push_back(id);
  }
  return chosen;
}

}  // namespace rill::planning
#endif
