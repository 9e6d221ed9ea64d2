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

/// What memory is laid out by where instructions run in parallel: values share a place only if the users of one have
/// run before the other is made, whatever the schedule.
struct parallel_order {
  indexed<plan::slot_id, std::vector<plan::instruction_id>> users;
  std::optional<ancestry> ancestors = {};       ///< where instructions run at the same time
  std::optional<rill::arrivals> arrivals = {};  ///< where one at a time begins

  bool before(plan::instruction_id earlier, plan::instruction_id later) const {
    return arrivals ? (*arrivals)(earlier, later) : (*ancestors)(earlier, later);
  }
  /// Whether all of `list` have run before `at`, or are it.
  bool end_with(std::vector<plan::instruction_id> const& list, plan::instruction_id at) const {
    return std::all_of(list.begin(), list.end(), [&](auto user) { return user == at || before(user, at); });
  }
};

/// The schedule, and the order that it keeps to; empty and nothing where one instruction runs after the other.
struct schedule_choice {
  parallel_schedule schedule;
  std::optional<parallel_order> order;
};

// Returns the instructions that use each slot. Adds to `waits`: an update waits for the earlier users of its variable's
// snapshot, so that it need not copy.
inline indexed<plan::slot_id, std::vector<plan::instruction_id>> users_of_slots(subgraph const& sub,
                                                                                step_order const& sequence,
                                                                                kernel_list const& kernels,
                                                                                slot_layout const& slots,
                                                                                dependencies& waits) {
  indexed<plan::slot_id, std::vector<plan::instruction_id>> users(slots.slots.size());
  indexed<plan::slot_id, std::size_t> before_update(slots.slots.size());  // users that come before an earlier update
  for (plan::instruction_id at = 0; at < kernels.instructions.size(); ++at) {
    auto const i = kernels.instructions[at].node;
    auto const& n = sub[i];
    for (auto s : slots.of_node[i]) users[s].push_back(at);
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      auto& list = users[slots.of(n.inputs[k])];
      if (takes_variable(sub, n, k)) {
        if (!updates_reference(n, k)) continue;
        auto& first = before_update[slots.of(n.inputs[k])];
        std::vector<plan::instruction_id> earlier;
        std::copy_if(
            list.begin() + static_cast<std::ptrdiff_t>(first), list.end(), std::back_inserter(earlier),
            [&](auto user) { return user != at && sequence.may_wait_for(kernels.instructions[user].node, i); });
        waits.add(earlier, at);
        if (!n.may_race) first = list.size();
      } else if (!reads_extents_alone(n, k) && (list.empty() || list.back() != at)) list.push_back(at);
    }
  }
  return users;
}

// What the instructions cost, from their types.
inline std::vector<cost> costs_of(subgraph const& sub, kernel_list const& kernels) {
  std::vector<cost> all;
  std::vector<type> inputs;
  for (auto const& made : kernels.instructions) {
    auto const& n = sub[made.node];
    inputs.clear();
    for (auto e : n.inputs) inputs.push_back(sub.type_of(e));
    all.push_back(n.op->work(n.attributes, inputs, n.outputs));
  }
  return all;
}

/// Chooses between sequential and parallel execution.
inline schedule_choice choose_schedule(subgraph const& sub, step_order const& sequence, kernel_list const& kernels,
                                       slot_layout const& slots, result_list const& results, plan_request const& with) {
  auto const count = kernels.instructions.size();
  if (!may_fork(with.execution, count, with.threads, kernels.waiting)) return {};
  std::vector<plan::instruction_id> instruction_of(sub.size(), plan::none);
  for (plan::instruction_id at = 0; at < count; ++at) instruction_of[kernels.instructions[at].node] = at;
  dependencies waits(sequence, instruction_of, count);
  bool const pays = with.execution == execution::parallel || pays_to_fork(waits, costs_of(sub, kernels), with.threads);
  if (!pays && kernels.waiting < 2 && !kernels.tagged) return {};

  auto users = users_of_slots(sub, sequence, kernels, slots, waits);
  schedule_choice chosen{parallel_schedule(waits), parallel_order{std::move(users)}};
  auto& [schedule, order] = chosen;
  schedule.one_at_a_time = count > costs::most_parallel || (!pays && !kernels.tagged);
  schedule.alone = !kernels.tagged && (count > costs::most_parallel || !pays);
  if (schedule.one_at_a_time) {
    std::vector<bool> may_wait;
    for (auto const& made : kernels.instructions) may_wait.push_back(made.run.waits);
    order->arrivals.emplace(waits, may_wait);
  } else order->ancestors.emplace(waits);

  schedule.holds.resize(count);
  for (auto id : results.owned.indices()) {
    auto const s = results.owned[id];
    bool const fetched = slots.slots[s].last == count;
    schedule.holders.push_back(fetched ? plan::none : static_cast<std::uint32_t>(order->users[s].size()));
    if (!fetched)
      for (auto at : order->users[s]) schedule.holds[at].push_back(as_integer(id));
  }
  return chosen;
}

}  // namespace rill::planning
#endif
