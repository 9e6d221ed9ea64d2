// Makes a plan of a bound subgraph: slots, kernels, results, schedule, memory, pointers, a stage and a header each.
#pragma once
#include <utility>
#include <vector>

#include "rill/run/plan/link.hpp"
#include "rill/run/plan/plan.hpp"
#include "rill/run/plan/request.hpp"

namespace rill {

/// Plans a bound subgraph. All extents must be known, except in outputs that kernels allocate. Throws if the step of
/// the request is cancelled or late.
plan make_plan(subgraph const& sub, plan_request const& with);

/// Plans one iteration of a frame in tagged execution. The walk orders it, so values share no memory; the walk can read
/// the values in `kept`.
plan make_frame_plan(subgraph const& iteration, std::vector<endpoint> const& kept, plan_request const& with);

#if RILL_RUNTIME
namespace planning {

/// Puts the results of the stages together.
inline plan assemble(slot_layout const& layout, kernel_list kernels, result_list results, parallel_schedule schedule,
                     schedule_reason why, memory_layout memory) {
  plan p;
  for (auto s : layout.fed) p.fed.push_back(layout.all[s].of);
  for (auto const& c : kernels.constants) p.memory.held += c.bytes();
  p.all_slots = layout.all;
  p.fed_slots = layout.fed;
  p.instructions = std::move(kernels.instructions);
  p.constants = std::move(kernels.constants);
  p.assumed = std::move(kernels.assumed);
  p.bodies = std::move(kernels.bodies);
  p.body_of = std::move(kernels.body_of);
  p.waiting = kernels.waiting;
  p.owned_slots = std::move(results.owned);
  p.output_slots = std::move(results.outputs);
  p.fetches = std::move(results.fetches);
  p.copies = std::move(results.copies);
  p.drops = std::move(results.drops);
  p.schedule = std::move(schedule);
  p.why = why;
  p.memory.arena = memory.arena;
  p.memory.least = most_alive(memory.blocks, p.instructions.size());
  p.blocks = std::move(memory.blocks);
  p.scratch = std::move(memory.scratch);
  p.held_slots = std::move(memory.held);
  return p;
}

}  // namespace planning

RILL_INLINE plan make_plan(subgraph const& sub, plan_request const& with) {
  using namespace planning;
  auto own = with.functions ? nullptr : no_functions();
  auto* const functions = own ? own.get() : with.functions;

  auto const sequence = order(sub, with.step);
  auto layout = lay_out_slots(sub, plan_scope::whole);
  auto kernels = select_kernels(sub, sequence.nodes, nodes_to_compute(sub, sequence.nodes), layout, with, functions);
  find_lifetimes(sub, kernels, layout);
  auto results = place_results(sub, kernels, layout);
  auto [schedule, parallel, why] = choose_schedule(sub, sequence, kernels, layout, results, with);
  auto* const always = parallel ? &*parallel : nullptr;
  update_in_place(sub, kernels, layout, results, always);
  auto memory = assign_memory(sub, kernels, layout, always, with.step);

  auto p = assemble(layout, std::move(kernels), std::move(results), std::move(schedule), why, std::move(memory));
  link_pointers(p, sub, layout, {});
  mark_plain(p);
  if (has_devices(with.devices))
    for (auto const& d : *with.devices) p.devices.push_back(d.name);
  p.functions = std::move(own);
  p.allocator = &with.memory;
  return p;
}

RILL_INLINE plan make_frame_plan(subgraph const& iteration, std::vector<endpoint> const& kept,
                                 plan_request const& with) {
  using namespace planning;
  std::vector<std::uint32_t> as_they_stand;
  for (std::uint32_t i = 0; i < iteration.size(); ++i) as_they_stand.push_back(i);
  auto layout = lay_out_slots(iteration, plan_scope::frame);
  auto kernels = select_kernels(iteration, as_they_stand, nodes_to_compute_in_frame(iteration, kept), layout, with,
                                with.functions);
  find_lifetimes(iteration, kernels, layout);
  auto results = place_results(iteration, kernels, layout);
  auto memory = assign_memory_apart(kernels, layout);

  auto p = assemble(layout, std::move(kernels), std::move(results), {}, {schedule_reason::tokens}, std::move(memory));
  link_pointers(p, iteration, layout, kept);
  p.allocator = &with.memory;
  return p;
}
#endif

}  // namespace rill
