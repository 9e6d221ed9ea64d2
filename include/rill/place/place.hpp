// Puts the nodes of a subgraph on devices: first what constraints say, then a choice (white paper §3.2.1 and §4.3,
// OSDI'16 §3.3; docs/architecture/placement.md).
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rill/place/choose.hpp"
#include "rill/place/constraints.hpp"

namespace rill {

/// How nodes are placed.
struct place_options {
  bool soft_placement = false;  ///< a wish that can't be fulfilled is noted, and its node runs elsewhere, on the host
                                ///< if that can run it
  place_surroundings around = {};
  place_chooser choose = choose_near_inputs;
};

/// Places the nodes of a bound subgraph, or of a body, whose inputs lie on the first host. Nodes that take a variable
/// by reference, and nodes that g.near joins, lie together; wishes, homes and kernels say where they can. Throws
/// error(invalid_argument), with all nodes that a constraint comes from, if a device is unknown, if constraints
/// contradict each other, or if no device can run a group of nodes. The same subgraph and devices give the same
/// placement. Takes linear time.
placement place(subgraph const& sub, std::span<place_target const> devices, place_options const& options = {});

#if RILL_RUNTIME
namespace detail {

class placer {
 public:
  placer(subgraph const& sub, std::span<place_target const> devices, place_options const& options)
      : sub_(sub),
        devices_(devices),
        options_(options),
        constraints_(sub, devices, options.around, options.soft_placement),
        groups_(constraints_.groups()),
        largest_(devices.size()),
        note_of_(sub.size(), none) {
    for (auto const& d : devices) room_.push_back(d.room);
    made_.nodes.resize(sub.size());
  }

  // Groups that can lie in one place alone come first: others may want to lie beside them.
  placement run() {
    for (std::uint32_t i = 0; i < sub_.size(); ++i)
      if (!groups_.has_place(i)) made_.nodes[i] = {first_of(constraints_.hosts()), *groups_.why_host(i)};
    std::vector<constrained_group> open;
    for (auto r : groups_.roots()) open.push_back(constraints_.group_at(r));
    made_.notes = constraints_.notes();
    for (auto n = made_.notes.size(); n-- > 0;) note_of_[made_.notes[n].node] = static_cast<std::uint32_t>(n);
    for (auto const& g : open)
      if (g.devices.size() == 1) put(g, {first_of(g.devices), place_reason::fastest});
    for (auto const& g : open)
      if (g.devices.size() > 1) put(g, choose(g));
    return std::move(made_);
  }

 private:
  static constexpr auto none = placed_node::none;

  /// Bytes that a group needs at least.
  struct need {
    std::int64_t variables = 0;  ///< that have no home yet
    std::int64_t values = 0;     ///< at once
  };

  static std::uint32_t first_of(device_set const& s) {
    auto first = none;
    s.for_each([&](std::uint32_t d) { first = std::min(first, d); });
    return first;
  }

  place_choice choose(constrained_group const& g) const {
    std::vector<std::uint32_t> candidates, with_room;
    auto const hosts = g.devices & constraints_.hosts();
    (g.gave_way && !hosts.empty() ? hosts : g.devices).for_each([&](std::uint32_t d) { candidates.push_back(d); });
    auto const n = need_of(g);
    for (auto d : candidates)
      if (room_[d] - n.variables >= std::max(largest_[d], n.values)) with_room.push_back(d);
    auto const& from = with_room.empty() ? candidates : with_room;
    auto const made = options_.choose(from, groups_.members(g.root), {sub_, devices_, made_.nodes});
    if (std::find(from.begin(), from.end(), made.device) == from.end())
      throw error(code::internal, "place: the device that was chosen is no candidate", sub_[g.root].name);
    return made;
  }

  need need_of(constrained_group const& g) const {
    need n;
    for (auto i : groups_.members(g.root)) {
      std::int64_t bytes = 0;
      for (auto const& t : sub_[i].outputs) bytes += bytes_of(t);
      if (is_variable(sub_[i])) {
        n.variables += demand_on(g, i) && demand_on(g, i)->is_home() ? 0 : bytes;
        continue;
      }
      for (auto e : sub_[i].inputs)
        if (!is_variable(sub_[e.node])) bytes += bytes_of(sub_.type_of(e));
      n.values = std::max(n.values, bytes);
    }
    return n;
  }

  static place_demand const* demand_on(constrained_group const& g, std::uint32_t i) {
    auto const at = std::lower_bound(g.demands.begin(), g.demands.end(), i,
                                     [](place_demand const& d, std::uint32_t node) { return d.node < node; });
    return at == g.demands.end() || at->node != i ? nullptr : &*at;
  }

  void put(constrained_group const& g, place_choice const& chosen) {
    auto const members = groups_.members(g.root);
    auto const n = need_of(g);
    room_[chosen.device] -= n.variables;
    largest_[chosen.device] = std::max(largest_[chosen.device], n.values);
    for (auto i : members)
      if (auto const own = reason_of(g, i)) made_.nodes[i] = {chosen.device, own->why, own->other};
    // What the others lie beside: a variable, or the first member that has a reason of its own.
    auto const decides = [&](std::uint32_t i) { return made_.nodes[i].device != none; };
    auto const variable = std::find_if(members.begin(), members.end(), [&](auto i) { return is_variable(sub_[i]); });
    auto first = std::find_if(members.begin(), members.end(), decides);
    if (first == members.end()) {
      first = members.begin();
      made_.nodes[*first] = {chosen.device, chosen.why, chosen.other};
    }
    auto const centre = variable == members.end() ? first : variable;
    if (!decides(*centre)) made_.nodes[*centre] = {chosen.device, place_reason::beside, *first};
    for (auto i : members)
      if (!decides(i)) made_.nodes[i] = {chosen.device, place_reason::beside, *centre};
  }

  // The reason that a node has of its own, if it has one.
  std::optional<place_choice> reason_of(constrained_group const& g, std::uint32_t i) const {
    if (auto const alone = groups_.why_host(i)) return place_choice{none, *alone};
    if (note_of_[i] != none) return place_choice{none, place_reason::soft, note_of_[i]};
    auto const* const d = demand_on(g, i);
    if (d == nullptr) return {};
    if (d->by != sub_[i].name)
      return place_choice{none, sub_[i].colocated.empty() ? place_reason::for_body : place_reason::beside_absent};
    return place_choice{none, d->is_home() ? place_reason::lives_there : place_reason::asked_for};
  }

  subgraph const& sub_;
  std::span<place_target const> devices_;
  place_options const& options_;
  place_constraints constraints_;
  place_groups const& groups_;
  std::vector<std::int64_t> room_;     // by device, without the variables that were put there
  std::vector<std::int64_t> largest_;  // by device, the most bytes that one node reads and makes there
  std::vector<std::uint32_t> note_of_;
  placement made_;
};

}  // namespace detail

RILL_INLINE placement place(subgraph const& sub, std::span<place_target const> devices, place_options const& options) {
  return detail::placer(sub, devices, options).run();
}
#endif

}  // namespace rill
