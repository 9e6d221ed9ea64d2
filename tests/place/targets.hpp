// Devices and subgraphs for the tests of placement.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "pass/subgraphs.hpp"
#include "rill/place/place.hpp"
#include "rill/rill.hpp"

namespace rill {

inline place_target device_at(char const* name, double flops, bool is_host = false) {
  return {.name = device_name::parse(name), .is_host = is_host, .flops = flops, .bandwidth = flops / 4, .link = 1e9};
}

/// A host, and two accelerators of which the second is the faster.
inline std::vector<place_target> machine() {
  return {device_at("cpu:0", 1e11, true), device_at("accelerator:0", 1e12), device_at("accelerator:1", 2e12)};
}
inline constexpr std::uint32_t cpu0 = 0, accelerator0 = 1, accelerator1 = 2;

/// The number of the node of that name; fails the test if there is none.
inline std::uint32_t at(subgraph const& sub, std::string_view name) {
  for (std::uint32_t i = 0; i < sub.size(); ++i)
    if (sub[i].name == name) return i;
  ADD_FAILURE() << "no node is called " << name;
  return 0;
}
inline std::uint32_t at(subgraph const& sub, value const& v) { return at(sub, v.origin().name); }

/// A placement and what it is of, so that tests can ask by name.
struct placed_subgraph {
  subgraph sub;
  placement made;

  template <class Node> std::uint32_t device(Node const& n) const { return made.nodes[at(sub, n)].device; }
  template <class Node> place_reason why(Node const& n) const { return made.nodes[at(sub, n)].why; }
  template <class Node> std::string reason(Node const& n) const { return made.reason(sub, at(sub, n)); }
};
inline placed_subgraph placed(subgraph sub, std::vector<place_target> const& devices,
                              place_options const& options = {}) {
  auto made = place(sub, devices, options);
  return {std::move(sub), std::move(made)};
}

/// The error that placing a subgraph throws.
inline error refusal(subgraph const& sub, std::vector<place_target> const& devices, place_options const& options = {}) {
  try {
    place(sub, devices, options);
  } catch (error const& e) {
    return e;
  }
  ADD_FAILURE() << "the subgraph was placed";
  return error(code::internal, "");
}

}  // namespace rill
