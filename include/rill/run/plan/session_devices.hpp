// The devices of a session besides its host.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/device/device.hpp"
#include "rill/device/device_name.hpp"
#include "rill/graph/node.hpp"
#include "rill/graph/op_def.hpp"
#include "rill/place/choose.hpp"
#include "rill/place/groups.hpp"
#include "rill/run/plan/arena_pool.hpp"

namespace rill {

/// The name of a session's host, as placement writes it into nodes; within a cluster job and task stand before it.
inline constexpr std::string_view host_name = "/device:cpu:0";

/// A device of a session, and the arenas that regions of steps borrow there.
struct session_device {
  session_device(std::shared_ptr<device> d, device_name const& task)
      : on(std::move(d)), name(nested(task, device_name::parse(on->name())).text()), arenas(on->memory()) {}

  memory_space* space() const { return on->memory().space(); }

  std::shared_ptr<device> on;
  std::string name;  ///< as nodes that are placed have it
  arena_pool arenas;
};

/// How a session places nodes.
struct session_placement {
  bool soft = false;                   ///< passes over wishes that can't be fulfilled
  place_chooser choose;                ///< among the devices that constraints leave
  place_surroundings recorded;         ///< the graph that steps are taken from
  device_name task = {};               ///< of a cluster, to which the devices belong; empty: to none
  rill::graph const* graph = nullptr;  ///< that steps are taken from; null: it is not here
};

namespace detail {

/// Has the nodes of a step or body ask for places beyond what was recorded, before they are placed; null: does nothing.
/// Set by tests.
inline void (*add_wishes)(subgraph&) = nullptr;

/// Returns the factory of the kernel for a node on a device; null: it has no such kernel.
inline kernel_factory factory_on(device const& d, node const& n, std::span<type const> inputs) {
  auto const* const own = d.kernels();
  return !own ? n.op->cpu : own->rule() ? own->rule()(n, inputs) : own->find(*n.op);
}

}  // namespace detail

/// The devices of a session besides its host, by number.
class session_devices {
 public:
  session_devices(std::span<std::shared_ptr<device> const> devices, session_placement how) : how_(std::move(how)) {
    for (auto const& d : devices) all_.emplace_back(d, how_.task);
  }

  session_placement const& placement() const { return how_; }

  std::size_t size() const { return all_.size(); }
  bool empty() const { return all_.empty(); }
  session_device& operator[](std::size_t i) { return all_[i]; }
  /// Returns the memory of a node's values by the device that it was placed on; null: the host's.
  memory_space* space_of(node const& placed) {
    for (auto& d : all_)
      if (d.name == placed.device) return d.space();
    return nullptr;
  }
  /// Records the device that a step being compiled has chosen for a variable. The step's bodies are placed later, and
  /// while the variable has no value they must choose the same device. In a session on tasks, also records the task
  /// that holds named state, so that later steps agree.
  void plan_home(std::string const& name, std::uint32_t device) {
    std::lock_guard lock(mutex_);
    homes_[name] = device;
  }
  std::optional<std::uint32_t> planned_home(std::string_view name) const {
    std::lock_guard lock(mutex_);
    auto const at = homes_.find(name);
    return at == homes_.end() ? std::nullopt : std::optional(at->second);
  }
  auto begin() { return all_.begin(); }
  auto end() { return all_.end(); }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }
  /// Gives back the memory that is kept for the next step.
  void trim() {
    for (auto& d : all_) d.arenas.trim();
  }

 private:
  session_placement how_;
  std::deque<session_device> all_;
  mutable std::mutex mutex_;
  std::map<std::string, std::uint32_t, std::less<>> homes_;  // as steps were compiled last
};

/// Whether there are devices besides the host.
inline bool has_devices(session_devices const* all) { return all != nullptr && !all->empty(); }

}  // namespace rill
