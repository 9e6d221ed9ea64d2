// Where the nodes of a subgraph run, and why.
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rill/device/device_name.hpp"
#include "rill/graph/subgraph.hpp"

namespace rill {

/// A device that nodes can be placed on, as placement sees it.
struct place_target {
  device_name name;      ///< with a type and an index; in a cluster with a job and a task
  bool is_host = false;  ///< whether host code can read its memory: strings, files and control flow run there
  double flops = 0;      ///< floating-point operations a second
  double bandwidth = 0;  ///< bytes a second of its memory
  double link = 0;       ///< bytes a second between its memory and the host's
  std::int64_t room = std::numeric_limits<std::int64_t>::max();  ///< free bytes of its memory
  std::vector<device_name> others = {};  ///< where it stands for a whole task: the other devices of the task, a wish
                                         ///< for which is one for the task
  /// Whether it has a kernel for a node whose inputs have these types. Extents of nodes in bodies may still be open.
  /// Empty: it has one for every node. Is not asked about nodes that run no kernel.
  std::function<bool(node const&, std::span<type const> inputs)> has_kernel = {};
};

/// Why a node runs where it runs.
enum class place_reason : std::uint8_t {
  asked_for,      ///< by g.on
  lives_there,    ///< a variable that has a value on this device
  beside,         ///< must lie together with node `other`: takes it by reference, or g.near asks for it
  beside_absent,  ///< must lie together with a node that is not in the subgraph and has a device
  for_body,       ///< a variable that a node of a body takes by reference, which asks for the device
  largest_input,  ///< most bytes of its inputs lie there, the largest of which is node `other`
  fastest,        ///< fastest device with a kernel and room
  dealt_out,      ///< of the tasks that suit it, has the fewest bytes of variables
  counter,        ///< whole numbers and truth values without axes stay on the host
  soft,           ///< note number `other`: what was asked for is not possible
  // What runs on the host alone.
  fed,            ///< a value from outside
  constant,       ///< is copied to where it is read
  orders,         ///< computes nothing
  bodies,         ///< runs subgraphs, whose nodes are placed one by one
  primitive,      ///< belongs to tagged execution
  strings,        ///< reads or makes strings
  outside_state,  ///< touches files, queues or other state by name
  open_extents,   ///< its extents are settled when it runs
};

/// Where a node runs, and why.
struct placed_node {
  static constexpr std::uint32_t none = UINT32_MAX;
  std::uint32_t device = none;  ///< the number of the device
  place_reason why = place_reason::fastest;
  std::uint32_t other = none;  ///< the node, or note, that `why` speaks of
};

/// Where the nodes of a subgraph run.
struct placement {
  /// A wish that was not fulfilled, because soft placement permits that.
  struct note {
    std::uint32_t node;
    std::string text;
  };
  std::vector<placed_node> nodes;  ///< by the number of the node
  std::vector<note> notes;

  /// Returns the reason for node `i` of the subgraph as a phrase: "beside variable 'w'".
  std::string reason(subgraph const& sub, std::uint32_t i) const;
};

/// Writes the devices into the nodes of the subgraph: `node::device` is the full name, and `node::colocated` is empty.
void apply(placement const& p, std::span<place_target const> devices, subgraph& sub);

/// Whether nothing but the host can run a node that was placed for this reason.
constexpr bool is_host_alone(place_reason why) { return why >= place_reason::fed; }

namespace detail {

/// Returns what a node that runs on the host alone does: "it reads or makes strings".
constexpr std::string_view why_host_alone(place_reason why) {
  switch (why) {
    case place_reason::fed:
      return "it is a value from outside";
    case place_reason::constant:
      return "it is a constant";
    case place_reason::orders:
      return "it computes nothing";
    case place_reason::bodies:
      return "it runs subgraphs, whose nodes are placed one by one";
    case place_reason::primitive:
      return "it belongs to tagged execution";
    case place_reason::strings:
      return "it reads or makes strings";
    case place_reason::outside_state:
      return "it touches files, queues or other state by name";
    case place_reason::open_extents:
      return "its extents are settled when it runs";
    default:
      return "";
  }
}

}  // namespace detail

#if RILL_RUNTIME

RILL_INLINE std::string placement::reason(subgraph const& sub, std::uint32_t i) const {
  auto const& p = nodes[i];
  auto const other = [&] {
    auto const& n = sub[p.other];
    return std::string(is_variable(n) ? "variable '" : "'") + n.name + "'";
  };
  switch (p.why) {
    case place_reason::asked_for:
      return "asked for by g.on";
    case place_reason::lives_there:
      return "the variable lives there";
    case place_reason::beside:
      return "beside " + other();
    case place_reason::beside_absent:
      return "beside '" + sub[i].colocated + "'";
    case place_reason::for_body:
      return "a node of a body that takes it asks for it";
    case place_reason::largest_input:
      return "next to its largest input " + other();
    case place_reason::fastest:
      return "fastest device with a kernel";
    case place_reason::dealt_out:
      return "has the fewest bytes of variables";
    case place_reason::counter:
      return "counters and predicates stay on the host";
    case place_reason::soft:
      return notes[p.other].text + ", soft placement";
    default:
      return "the host alone: " + std::string(detail::why_host_alone(p.why));
  }
}

RILL_INLINE void apply(placement const& p, std::span<place_target const> devices, subgraph& sub) {
  std::vector<std::string> names;
  for (auto const& d : devices) names.push_back(d.name.text());
  for (std::uint32_t i = 0; i < sub.size(); ++i) {
    sub[i].device = names[p.nodes[i].device];
    sub[i].colocated.clear();
  }
}

#endif

}  // namespace rill
