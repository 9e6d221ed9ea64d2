// Which of the devices that constraints leave a group of nodes is put on: the part of placement that a cost model takes
// the place of.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "rill/place/placement.hpp"

namespace rill {

/// What a choice may rest on.
struct place_context {
  subgraph const& sub;
  std::span<place_target const> devices;
  std::span<placed_node const> placed;  ///< by node; `device` is `none` for those not placed yet
};

/// The choice of a device.
struct place_choice {
  std::uint32_t device;
  place_reason why;
  std::uint32_t other = placed_node::none;
};

/// Chooses one of `candidates`, which is not empty, for nodes that must lie together; their inputs outside of the group
/// are placed already, unless those lie together with later nodes.
using place_chooser = std::function<place_choice(std::span<std::uint32_t const> candidates,
                                                 std::span<std::uint32_t const> group, place_context const&)>;

/// Chooses the host for counters and predicates, then the device on which most bytes of the group's inputs lie, then
/// the fastest. Inputs that nothing but the host can make don't count, because they are copied to whichever device.
place_choice choose_near_inputs(std::span<std::uint32_t const> candidates, std::span<std::uint32_t const> group,
                                place_context const& context);

namespace detail {

/// The bytes of a value; 0 where extents are open, and for strings.
std::int64_t bytes_of(type const& t);

}  // namespace detail

#if RILL_RUNTIME
namespace detail {

RILL_INLINE std::int64_t bytes_of(type const& t) {
  if (!t.is_known() || t.element == dtype::string) return 0;
  return elements(t.shape()) * static_cast<std::int64_t>(size_of(t.element));
}

inline bool is_counter(type const& t) {
  return t.is_scalar() && (dtypes::integers.contains(t.element) || t.element == dtype::boolean);
}

// Whether nodes read and make whole numbers and truth values without axes alone.
inline bool count_only(subgraph const& sub, std::span<std::uint32_t const> group) {
  return std::all_of(group.begin(), group.end(), [&](std::uint32_t i) {
    auto const& n = sub[i];
    return std::all_of(n.outputs.begin(), n.outputs.end(), is_counter) &&
           std::all_of(n.inputs.begin(), n.inputs.end(), [&](endpoint e) { return is_counter(sub.type_of(e)); });
  });
}

// The candidate on which most bytes of the inputs lie, if any do.
inline std::optional<place_choice> nearest(std::span<std::uint32_t const> candidates,
                                           std::span<std::uint32_t const> group, place_context const& c) {
  std::vector<std::int64_t> bytes(c.devices.size(), -1);
  std::vector<endpoint> largest(c.devices.size());
  for (auto i : group)
    for (auto e : c.sub[i].inputs) {
      auto const& from = c.placed[e.node];
      if (from.device == placed_node::none || is_host_alone(from.why)) continue;
      auto const size = bytes_of(c.sub.type_of(e));
      auto& most = largest[from.device];
      if (bytes[from.device] < 0 || size > bytes_of(c.sub.type_of(most))) most = e;
      bytes[from.device] = std::max<std::int64_t>(bytes[from.device], 0) + size;
    }
  auto const best =
      *std::max_element(candidates.begin(), candidates.end(), [&](auto a, auto b) { return bytes[a] < bytes[b]; });
  if (bytes[best] < 0) return {};
  return place_choice{best, place_reason::largest_input, largest[best].node};
}

inline bool is_slower(place_target const& a, place_target const& b) {
  return std::pair(a.flops, a.bandwidth) < std::pair(b.flops, b.bandwidth);
}

}  // namespace detail

RILL_INLINE place_choice choose_near_inputs(std::span<std::uint32_t const> candidates,
                                            std::span<std::uint32_t const> group, place_context const& context) {
  auto const a_host =
      std::find_if(candidates.begin(), candidates.end(), [&](auto d) { return context.devices[d].is_host; });
  if (a_host != candidates.end() && detail::count_only(context.sub, group)) return {*a_host, place_reason::counter};
  if (auto const near = detail::nearest(candidates, group, context)) return *near;
  return {*std::max_element(candidates.begin(), candidates.end(),
                            [&](auto a, auto b) { return detail::is_slower(context.devices[a], context.devices[b]); }),
          place_reason::fastest};
}
#endif

}  // namespace rill
