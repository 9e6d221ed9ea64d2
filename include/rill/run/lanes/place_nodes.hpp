// Places the nodes of a subgraph on the devices of a session.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/place/place.hpp"
#include "rill/run/lanes/form_regions.hpp"
#include "rill/run/plan/request.hpp"
#include "rill/run/plan/session_devices.hpp"
#include "rill/run/plan/text_table.hpp"

#if RILL_RUNTIME
namespace rill::detail {

/// Whether a device has a kernel of an operation: one of its table, or the CPU's if it has no table.
inline bool has_kernel(device const& d, op_def const& op) {
  auto const* const own = d.kernels();
  return own ? own->find(op) != nullptr : op.cpu != nullptr;
}
/// Whether the device of a placed node has a kernel of an operation that nodes are joined into. If the node is one of
/// that operation already, a device whose rule chooses kernels is asked about the node itself.
inline bool can_run_as(session_devices& devices, subgraph const& sub, node const& placed, op_def const& op) {
  auto const d = std::find_if(devices.begin(), devices.end(), [&](auto& each) { return each.name == placed.device; });
  if (d == devices.end()) return op.cpu != nullptr;
  auto const* const own = d->on->kernels();
  if (placed.op != &op || !own || !own->rule()) return has_kernel(*d->on, op);
  std::vector<type> inputs;
  for (auto e : placed.inputs) inputs.push_back(sub.type_of(e));
  return own->rule()(placed, inputs) != nullptr;
}
/// Whether a user-defined device has a kernel for the operation.
inline bool is_devices_own(session_devices& devices, op_def const& op) {
  return std::any_of(devices.begin(), devices.end(), [&](auto& d) {
    auto const* const own = d.on->kernels();
    return own && own->find(op) != nullptr;
  });
}
/// Whether a node asks for a device.
inline bool asks_for_devices(subgraph const& sub) {
  return std::any_of(sub.nodes.begin(), sub.nodes.end(), [](node const& n) { return !n.device.empty(); });
}

/// The host and the devices of a session, as placement sees them. The host is the first.
inline std::vector<place_target> place_targets(session_devices& devices) {
  auto const& task = devices.placement().task;
  std::vector<place_target> all{{.name = nested(task, device_name::parse(host_name)),
                                 .is_host = true,
                                 .has_kernel = [&](node const& n, std::span<type const>) {
                                   return n.op->cpu != nullptr || !is_devices_own(devices, *n.op);
                                 }}};
  for (auto& d : devices) {
    auto const speed = d.on->speed();
    auto const limit = d.on->memory_limit();
    auto const held = static_cast<std::size_t>(std::max<std::int64_t>(d.on->memory().usage().current, 0));
    all.push_back({.name = device_name::parse(d.name),
                   .flops = speed.flops,
                   .bandwidth = speed.memory_bytes,
                   .link = speed.link_bytes,
                   .room = limit == 0 ? std::numeric_limits<std::int64_t>::max()
                                      : static_cast<std::int64_t>(limit - std::min(limit, held)),
                   .has_kernel = [&on = *d.on](node const& n, std::span<type const> in) {
                     return factory_on(on, n, in) != nullptr;
                   }});
  }
  return all;
}

/// Returns the number among `targets` of the device on which a variable lies that has a value. Several devices may
/// share the host's memory: then it is the one that the variable, or the variable that it is near, asks for.
inline std::optional<std::uint32_t> home_of(variable_state const& v, session_devices& devices,
                                            std::span<place_target const> targets) {
  auto const home = v.home();
  if (!home) return {};
  auto const space_of = [&](std::size_t target) { return target == 0 ? nullptr : devices[target - 1].space(); };
  auto const& recorded = devices.placement().recorded.find_node;
  auto const wish = device_name::parse(wish_beside(recorded, recorded(v.name())));
  std::optional<std::uint32_t> first;
  for (std::uint32_t d = 0; d < targets.size(); ++d) {
    if (space_of(d) != *home) continue;
    if (!first) first = d;
    if (!wish.empty() && matches(wish, targets[d].name)) return d;
  }
  return first;
}

/// Returns the device and the reason for each node that has a place.
inline std::string placement_text(subgraph const& sub, placement const& p, std::span<place_target const> targets) {
  text_table all;
  for (std::uint32_t i = 0; i < sub.size(); ++i)
    if (!has_no_place(p.nodes[i].why)) all.add({sub[i].name, targets[p.nodes[i].device].name.text(), p.reason(sub, i)});
  return all.text();
}

/// Writes into each node the name of the device that it runs on, and into `text`, which may be null, where each runs,
/// and why. A variable without a value that a body takes lies where the step around it puts it.
inline void place_nodes(subgraph& sub, plan_request const& with, std::string* text, bool is_body) {
  auto& devices = *with.devices;
  if (add_wishes && devices.placement().graph && devices.placement().soft) add_wishes(sub);
  auto const targets = place_targets(devices);
  place_options options{.soft_placement = devices.placement().soft, .choose = devices.placement().choose};
  options.around = devices.placement().recorded;
  options.around.home = [&](std::string_view name) -> std::optional<std::uint32_t> {
    auto const v = with.state.find_variable(std::string(name));
    auto const home = v ? home_of(*v, devices, targets) : std::nullopt;
    return home || !is_body ? home : devices.planned_home(name);
  };
  auto const placed = place(sub, targets, options);
  if (!is_body)
    for (std::uint32_t i = 0; i < sub.size(); ++i)
      if (is_variable(sub[i])) devices.plan_home(sub[i].name, placed.nodes[i].device);
  if (text) *text = placement_text(sub, placed, targets);
  apply(placed, targets, sub);
}

/// Returns which outputs of a subgraph that is not placed yet are of nodes that the user put on a device by
/// `graph::on`: they stay there rather than be copied to the host.
inline std::vector<bool> outputs_put_on_devices(subgraph const& sub) {
  std::vector<bool> stay;
  for (auto e : sub.outputs) stay.push_back(!sub[e.node].device.empty());
  return stay;
}

/// Returns the devices of nodes that were placed.
inline node_devices devices_of(subgraph const& sub, session_devices& devices) {
  std::map<std::string_view, std::int32_t> numbers;
  for (std::size_t d = 0; d < devices.size(); ++d) numbers.emplace(devices[d].name, static_cast<std::int32_t>(d));
  node_devices all(sub.size(), on_host);
  for (std::uint32_t i = 0; i < sub.size(); ++i)
    if (auto const at = numbers.find(sub[i].device); at != numbers.end()) all[i] = at->second;
  return all;
}

}  // namespace rill::detail
#endif
