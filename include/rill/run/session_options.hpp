// The options of a session.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "rill/device/device.hpp"
#include "rill/device/step.hpp"
#include "rill/pass/options.hpp"
#include "rill/place/choose.hpp"
#include "rill/run/plan/execution.hpp"
#include "rill/run/tasks/task.hpp"
#include "rill/state/container.hpp"

namespace rill {

class pool;

/// The options of a session. A pool and a container that are given are shared, not copied.
struct session_options {
  int threads = 0;                        ///< that compute, the caller's included; 0: one for each processor
                                          ///< that the process may use (affinity, quota of a cgroup)
  std::shared_ptr<rill::pool> pool = {};  ///< the caller's own; then `threads` is ignored
  std::shared_ptr<container> state = {};  ///< where variables live; empty: a new one. With a target none may be given
  allocator* memory = nullptr;            ///< of variables and of what steps compute, but for constants, those that
                                          ///< are folded too. Null: host_allocator(). It must outlive all tensors
  log_callback log = {};                  ///< where `print` writes; empty: nowhere
  pass_options passes = {};               ///< which rewrites are done
  rill::execution execution = execution::automatic;   ///< how the nodes of a step are walked
  std::vector<std::shared_ptr<device>> devices = {};  ///< besides the host, which has what they lack. `cpu:0` is
                                                      ///< the host: its threads are the session's
  bool soft_placement = false;   ///< whether a constraint on a device that is absent, or has no kernel, is ignored
  place_chooser placement = {};  ///< chooses among the devices that constraints leave; empty: `choose_near_inputs`
  rill::target target = {};      ///< the tasks of a cluster on which steps run; empty: they run here
  std::size_t plans = 256;       ///< compiled steps that are kept; the one used longest ago goes first
  /// The number of this session among those that train together (train/synchronous.hpp); empty: the number of the
  /// target's first task in its job, or 0.
  std::optional<std::uint32_t> worker = {};
  /// Tells the random numbers of sessions apart that run one graph; 0 leaves them as they are, and first values never
  /// depend on it. Empty: `worker`, so that replicas drop different elements out.
  std::optional<std::uint64_t> salt = {};
};

namespace detail {

/// Changes the options of each session that is made from now on; null: none. Set by tests that run the programs of
/// others over devices.
inline void (*change_session_options)(session_options&) = nullptr;

}  // namespace detail

}  // namespace rill
