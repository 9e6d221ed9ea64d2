// Gathers the nodes of each device in regions, which the device is handed together.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "rill/graph/order.hpp"
#include "rill/graph/subgraph.hpp"

namespace rill {

/// Where each node of a subgraph runs: the number of a device, or `on_host`.
using node_devices = std::vector<std::int32_t>;
/// The host in `node_devices`.
inline constexpr std::int32_t on_host = -1;

/// The regions of a subgraph.
struct region_cut {
  static constexpr std::uint32_t none = UINT32_MAX;
  std::vector<std::uint32_t> order;                 ///< all nodes, each after those that it waits for
  std::vector<std::uint32_t> region;                ///< of each node; `none`: the host runs or reads it
  std::vector<std::vector<std::uint32_t>> regions;  ///< the nodes of each, in order
};

/// Cuts a placed subgraph into regions. A region ends behind a node that others than the device's next wait for, and
/// one begins at a node that waits for others, so that copies overlap with kernels and no cycle can arise; in a share
/// of a step, not through other tasks either.
region_cut cut_regions(subgraph const& sub, node_devices const& where);

#if RILL_RUNTIME
namespace detail {

class region_cutter {
 public:
  region_cutter(subgraph const& sub, node_devices const& where) : sub_(sub), where_(where) {}

  region_cut run() const {
    region_cut made;
    made.order = as_recorded(order(sub_));
    cut(made);
    return made;
  }

 private:
  static constexpr auto none = region_cut::none;
  using node_list = std::vector<std::uint32_t>;

  std::size_t devices() const {
    auto const last = std::max_element(where_.begin(), where_.end());
    return last == where_.end() ? 0 : static_cast<std::size_t>(*last + 1);
  }
  // Orders nodes as they were recorded, as far as they need not wait for each other. Passes put nodes just before those
  // that read them; a value that several nodes read would be kept until the last of these, on a device that has little
  // memory.
  node_list as_recorded(step_order const& o) const {
    std::vector<std::uint32_t> waits(sub_.size());
    for (auto const& later : o.after)
      for (auto i : later) ++waits[i];
    std::set<std::pair<std::uint32_t, std::uint32_t>> ready;
    auto const add = [&](std::uint32_t i) { ready.emplace(sub_.origin[i], i); };
    for (std::uint32_t i = 0; i < sub_.size(); ++i)
      if (waits[i] == 0) add(i);
    node_list all;
    while (!ready.empty()) {
      all.push_back(ready.begin()->second);
      ready.erase(ready.begin());
      for (auto i : o.after[all.back()])
        if (--waits[i] == 0) add(i);
    }
    return all;
  }

  // Whether a node stays outside of regions, although its value lies on a device.
  bool is_read_by_host(std::uint32_t i) const { return is_variable(sub_[i]) || is_constant(sub_[i]); }
  // Whether nothing has to happen before a node: waiting for it delays nothing, and closes no circle.
  bool is_free(std::uint32_t i) const {
    return is_read_by_host(i) && sub_[i].inputs.empty() && sub_[i].controls.empty();
  }
  template <class F> void for_each_edge(F const& f) const {
    for (std::uint32_t i = 0; i < sub_.size(); ++i) {
      for (auto e : sub_[i].inputs) f(e.node, i);
      for (auto c : sub_[i].controls) f(c, i);
    }
  }
  void cut(region_cut& made) const {
    std::vector<bool> begins(sub_.size()), ends(sub_.size());
    for_each_edge([&](std::uint32_t from, std::uint32_t to) {
      bool const together = where_[from] == where_[to] && !is_read_by_host(from) && !is_read_by_host(to);
      if (together || is_free(from)) return;
      begins[to] = true;
      ends[from] = true;
    });
    for (auto e : sub_.outputs) ends[e.node] = true;
    for (auto t : sub_.targets) ends[t] = true;
    std::vector<std::uint32_t> open(devices(), none);
    made.region.resize(sub_.size(), none);
    for (auto i : made.order) {
      if (where_[i] == on_host || is_read_by_host(i)) continue;
      auto& current = open[static_cast<std::size_t>(where_[i])];
      if (current == none || begins[i] || sub_[i].hops != sub_[made.regions[current].back()].hops) {
        current = static_cast<std::uint32_t>(made.regions.size());
        made.regions.emplace_back();
      }
      made.region[i] = current;
      made.regions[current].push_back(i);
      if (ends[i]) current = none;
    }
  }

  subgraph const& sub_;
  node_devices const& where_;
};

}  // namespace detail

RILL_INLINE region_cut cut_regions(subgraph const& sub, node_devices const& where) {
  return detail::region_cutter(sub, where).run();
}
#endif

}  // namespace rill
