// Cuts a placed subgraph by devices: copies of values where they cross from one memory to another, and regions of
// nodes that a device is handed together.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "rill/pass/options.hpp"
#include "rill/run/lanes/cut_regions.hpp"
#include "rill/run/lanes/region.hpp"
#include "rill/run/lanes/transfer.hpp"

namespace rill {

/// Rewrites a subgraph so that the host runs all of its nodes: what a device runs is in the bodies of `device_region`
/// nodes, and what crosses from one memory to another is copied by nodes, once for each value and destination.
///
/// A device runs its nodes in the order of the step, in the regions of `cut_regions`. A variable is read on the host,
/// which touches no byte of it, and its value lies in the memory of its device.
/// The subgraph's outputs are on the host, but for those whose device is given by `stays`.
void form_regions(subgraph& sub, node_devices const& where, session_devices& devices, std::vector<bool> const& stays,
                  pass_report* report);

#if RILL_RUNTIME
namespace detail {

class region_former {
 public:
  region_former(subgraph const& sub, node_devices const& where, session_devices& devices)
      : sub_(sub),
        where_(where),
        devices_(devices),
        cut_(cut_regions(sub, where)),
        placed_(sub.size()),
        lanes_(devices.size()) {}

  subgraph run(std::vector<bool> const& stays) {
    find_results();
    find_offloads();
    for (auto i : cut_.order)
      if (placed_[i].node != none) continue;  // it was offloaded
      else if (region_[i] == none) add_host_node(i);
      else if (i == cut_.regions[region_[i]].back()) add_region(cut_.regions[region_[i]]);
    for (auto i : sub_.inputs) made_.inputs.push_back(placed_.at(i).node);
    for (std::size_t o = 0; o < sub_.outputs.size(); ++o)
      made_.outputs.push_back(stays[o] ? same(sub_.outputs[o]) : value_on(on_host, sub_.outputs[o]));
    for (auto t : sub_.targets) made_.targets.push_back(placed_.at(t).node);
    made_.axes = sub_.axes;
    return std::move(made_);
  }
  std::size_t regions() const { return cut_.regions.size(); }
  std::size_t copies() const { return copies_; }
  /// Returns the bytes of the copies.
  std::size_t copied() const { return bytes_; }

 private:
  static constexpr auto none = region_cut::none;
  static constexpr std::size_t part_ahead = 8;  // copies run ahead of kernels by this part of a device's memory
  using node_list = std::vector<std::uint32_t>;

  // What leaves regions, and what must run in them.

  void find_results() {
    for (std::uint32_t i = 0; i < sub_.size(); ++i)
      for (auto from : sub_[i].inputs)
        if (region_[from.node] != none && region_[i] != region_[from.node]) read_outside_.insert(from);
    for (auto from : sub_.outputs) read_outside_.insert(from);
    waited_for_.resize(sub_.size());
    for (auto const& n : sub_.nodes)
      for (auto c : n.controls) waited_for_[c] = true;
    for (auto t : sub_.targets) waited_for_[t] = true;
  }

  // The new subgraph.

  std::uint32_t append(node n, std::uint32_t origin) {
    made_.nodes.push_back(std::move(n));
    made_.origin.push_back(sub_.origin[origin]);
    return static_cast<std::uint32_t>(made_.size() - 1);
  }
  endpoint same(endpoint e) const {
    auto const& p = placed_.at(e.node);
    return p.outputs.empty() ? endpoint{p.node, e.port} : p.outputs.at(e.port);
  }
  memory_space* space_of(std::int32_t device) const {
    return device == on_host ? nullptr : devices_[static_cast<std::size_t>(device)].space();
  }
  // Returns a value as it lies in the memory of a device.
  endpoint value_on(std::int32_t device, endpoint e) {
    auto const from = where_[e.node];
    if (space_of(from) == space_of(device) && !is_constant(sub_[e.node])) return same(e);
    if (device == on_host || space_of(device) == nullptr)
      return is_constant(sub_[e.node]) ? same(e) : copied(copy_out_op, from, e, same(e));
    if (is_constant(sub_[e.node])) return constant_on(device, e);
    auto* const source = space_of(from);
    if (!source) return copied(copy_in_op, device, e, same(e));
    if (space_of(device)->is_peer(*source)) return copied(copy_between_op, device, e, same(e));
    return copied(copy_in_op, device, e, copied(copy_out_op, from, e, same(e)));
  }
  endpoint copied(op_def const& op, std::int32_t device, endpoint of, endpoint from) {
    auto const [known, fresh] = copied_.try_emplace({&op, device, of});
    if (!fresh) return known->second;
    node n;
    n.op = &op;
    n.name = sub_[of.node].name + (of.port == 0 ? "" : ":" + std::to_string(of.port)) + "/" + std::string(op.name);
    n.inputs = {from};
    n.outputs = {sub_.type_of(of)};
    n.attributes = {{"device", std::int64_t{device}}};
    if (&op == &copy_between_op) n.attributes.push_back({"from", std::int64_t{where_[of.node]}});
    if (&op != &copy_out_op) n.controls = turn_of_copy(device, n.outputs[0], comes_back(of.node, device));
    ++copies_;
    bytes_ += n.outputs[0].is_known() ? n.outputs[0].bytes() : 0;
    return known->second = {append(std::move(n), of.node), 0};
  }
  // Returns the region, if any, for which a copy to a device waits, so that copies run ahead of kernels by no more than
  // a part of its memory, or by one region. It is a region before the one that the copy is for, which waits for it
  // anyway: so no circle arises.
  std::vector<std::uint32_t> turn_of_copy(std::int32_t device, type const& copied, bool comes_back) {
    auto& lane = lanes_[static_cast<std::size_t>(device)];
    // While the region before the one that it is for runs.
    if (comes_back && lane.regions.size() > 1) lane.turn = std::max(lane.turn, lane.regions.size() - 1);
    lane.copied += copied.is_known() ? copied.bytes() : 0;
    auto const limit = devices_[static_cast<std::size_t>(device)].on->memory_limit() / part_ahead;
    if (limit == 0 && !comes_back) return {};
    auto const before = [&] { return lane.turn == 0 ? 0 : lane.regions[lane.turn - 1].copied; };
    while (limit != 0 && lane.turn + 1 < lane.regions.size() && lane.copied - before() > limit) ++lane.turn;
    if (lane.turn == 0) return {};
    return {lane.regions[lane.turn - 1].node};
  }
  // Whether a value of the host was a device's before, and waits there for the device (graph::offload_saved).
  bool is_offload(std::uint32_t i) const {
    return where_[i] == on_host && sub_[i].op->aliases_input && region_[sub_[i].inputs[0].node] != none;
  }
  bool comes_back(std::uint32_t i, std::int32_t device) const {
    return is_offload(i) && where_[sub_[i].inputs[0].node] == device;
  }
  // Such values leave as soon as they are made, wherever in the order their nodes stand: if they need nothing else,
  // which may not be there yet.
  void find_offloads() {
    offloads_.resize(sub_.size());
    for (std::uint32_t i = 0; i < sub_.size(); ++i)
      if (is_offload(i) && sub_[i].controls.empty() && sub_[i].inputs.size() == 1)
        offloads_[sub_[i].inputs[0].node].push_back(i);
  }
  endpoint constant_on(std::int32_t device, endpoint e) {
    auto const [known, fresh] = copied_.try_emplace({&device_constant_op, device, e});
    if (!fresh) return known->second;
    node n;
    n.op = &device_constant_op;
    n.name = sub_[e.node].name;
    n.outputs = {sub_.type_of(e)};
    n.attributes = {{"device", std::int64_t{device}}, {"value", constant_value(sub_[e.node])}};
    return known->second = {append(std::move(n), e.node), 0};
  }
  std::vector<std::uint32_t> controls_of(node_list const& nodes) const {
    std::vector<std::uint32_t> all;
    for (auto i : nodes)
      for (auto c : sub_[i].controls)
        if (region_[c] == none || region_[c] != region_[i]) all.push_back(placed_.at(c).node);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }
  void add_host_node(std::uint32_t i) {
    auto n = sub_[i];
    for (std::size_t k = 0; k < n.inputs.size(); ++k)
      n.inputs[k] = takes_reference(sub_[i], k) && is_variable(sub_[n.inputs[k].node]) ? same(n.inputs[k])
                                                                                       : value_on(on_host, n.inputs[k]);
    n.controls = controls_of({i});
    placed_[i] = {append(std::move(n), i), {}};
  }

  // A region's body.
  struct body_maker {
    subgraph body;
    node whole;
    std::map<std::uint32_t, std::uint32_t> place;
    std::map<endpoint, endpoint> arguments;
  };
  std::uint32_t append(body_maker& b, node n, std::uint32_t origin) {
    n.controls.clear();  // the region keeps the order of the step
    b.body.nodes.push_back(std::move(n));
    b.body.origin.push_back(sub_.origin[origin]);
    return b.place[origin] = static_cast<std::uint32_t>(b.body.size() - 1);
  }
  // The variables that nodes take by reference, those that they update first.
  void add_references(body_maker& b, node_list const& nodes) {
    std::map<std::uint32_t, bool> updated;
    for (auto i : nodes)
      for (std::size_t k = 0; k < sub_[i].inputs.size(); ++k)
        if (auto const from = sub_[i].inputs[k].node; takes_reference(sub_[i], k) && is_variable(sub_[from])) {
          auto& u = updated[from];
          u = u || updates_reference(sub_[i], k);
        }
    std::int64_t updates = 0;
    for (bool const wanted : {true, false})
      for (auto const& [v, u] : updated)
        if (u == wanted) {
          b.whole.inputs.push_back(same({v, 0}));
          append(b, sub_[v], v);
          updates += u;
        }
    auto const count = static_cast<std::int64_t>(updated.size());
    b.whole.attributes.push_back({"references", count});
    b.whole.attributes.push_back({"updates", updates});
  }
  endpoint argument(body_maker& b, endpoint e, std::int32_t device) {
    auto const [known, fresh] = b.arguments.try_emplace(e);
    if (!fresh) return known->second;
    b.whole.inputs.push_back(value_on(device, e));
    node n;
    n.op = &fed_op;
    n.name = sub_[e.node].name;
    n.outputs = {sub_.type_of(e)};
    b.body.nodes.push_back(std::move(n));
    b.body.origin.push_back(sub_.origin[e.node]);
    b.body.inputs.push_back(static_cast<std::uint32_t>(b.body.size() - 1));
    return known->second = {b.body.inputs.back(), 0};
  }
  void add_region(node_list const& nodes) {
    auto const device = where_[nodes.front()];
    auto const region = region_[nodes.front()];
    body_maker b;
    b.whole.op = &device_region_op;
    b.whole.name = nodes.size() == 1 ? sub_[nodes[0]].name : sub_[nodes[0]].name + "…" + sub_[nodes.back()].name;
    b.whole.device = devices_[static_cast<std::size_t>(device)].name;
    b.whole.attributes = {{"device", std::int64_t{device}}};
    add_references(b, nodes);
    std::uint32_t last = none;
    for (auto i : nodes) {
      auto n = sub_[i];
      for (std::size_t k = 0; k < n.inputs.size(); ++k) {
        auto const e = n.inputs[k];
        bool const reference = takes_reference(sub_[i], k) && is_variable(sub_[e.node]);
        n.inputs[k] =
            reference || region_[e.node] == region ? endpoint{b.place.at(e.node), e.port} : argument(b, e, device);
      }
      auto const at = append(b, std::move(n), i);
      if (last != none) b.body.nodes[at].controls = {last};
      last = at;
      if (sub_[i].outputs.empty() || sub_[i].op->effect == effect::writes || waited_for_[i])
        b.body.targets.push_back(at);
    }
    add_results(b, nodes);
    auto& lane = lanes_[static_cast<std::size_t>(device)];
    b.whole.controls = controls_of(nodes);
    if (lane.regions.size() > 1) {  // what the region before the last has offloaded is gone
      auto const& gone = lane.regions[lane.regions.size() - 2].offloaded;
      b.whole.controls.insert(b.whole.controls.end(), gone.begin(), gone.end());
    }
    b.body.axes = sub_.axes;
    b.whole.attributes.push_back({"body", std::make_shared<subgraph const>(std::move(b.body))});
    auto const at = append(std::move(b.whole), nodes.back());
    lane.regions.push_back({at, lane.copied});
    for (auto i : nodes) {
      auto& p = placed_[i];
      p.node = at;
      for (auto& e : p.outputs) e.node = at;
    }
    for (auto i : nodes)
      for (auto away : offloads_[i])
        if (placed_[away].node == none) {
          add_host_node(away);
          lane.regions.back().offloaded.push_back(made_[placed_[away].node].inputs[0].node);
        }
  }
  // What others read of a region.
  void add_results(body_maker& b, node_list const& nodes) {
    for (auto i : nodes) {
      auto& p = placed_[i];
      for (std::uint32_t port = 0; port < sub_[i].outputs.size(); ++port) {
        bool const read = read_outside_.contains({i, port});
        p.outputs.push_back({0, static_cast<std::uint32_t>(b.whole.outputs.size())});
        if (!read) continue;
        b.whole.outputs.push_back(sub_[i].outputs[port]);
        b.body.outputs.push_back({b.place.at(i), port});
      }
    }
  }
  struct placed {
    std::uint32_t node = none;
    std::vector<endpoint> outputs = {};  // of a node in a region: the region's; empty: the node's own
  };
  subgraph const& sub_;
  node_devices const& where_;
  session_devices& devices_;
  region_cut const cut_;
  std::vector<std::uint32_t> const& region_ = cut_.region;
  std::vector<bool> waited_for_;     // nodes that run whether or not their values are read: they may be refused
  std::vector<node_list> offloads_;  // of each node
  subgraph made_;
  std::vector<placed> placed_;
  // What was made for a device: its regions, and the bytes that are copied in for them and those before.
  struct device_lane {
    struct region {
      std::uint32_t node;
      std::size_t copied;
      node_list offloaded = {};  // the copies of its results to the host
    };
    std::vector<region> regions = {};
    std::size_t copied = 0;
    std::size_t turn = 0;  // the number of regions that are done before the last copy
  };
  std::vector<device_lane> lanes_;
  std::map<std::tuple<op_def const*, std::int32_t, endpoint>, endpoint> copied_;
  std::set<endpoint> read_outside_;
  std::size_t copies_ = 0, bytes_ = 0;
};

}  // namespace detail

RILL_INLINE void form_regions(subgraph& sub, node_devices const& where, session_devices& devices,
                              std::vector<bool> const& stays, pass_report* report) {
  if (std::all_of(where.begin(), where.end(), [](auto d) { return d == on_host; })) return;
  detail::region_former former(sub, where, devices);
  sub = former.run(stays);
  if (report)
    report->lines.push_back("devices: " + std::to_string(former.regions()) + " regions, " +
                            std::to_string(former.copies()) + " copies of " + std::to_string(former.copied()) +
                            " bytes");
}
#endif

}  // namespace rill
