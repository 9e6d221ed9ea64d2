// A part of the papers' primitives (EuroSys'18 §4.2), for tagged execution.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "rill/graph/subgraph.hpp"

namespace rill {

/// A part of primitives, and where each of its nodes stood before, which is what errors say.
struct lowered {
  static constexpr std::uint32_t none = UINT32_MAX;
  enum class body : std::uint8_t { condition, iteration, branch, function };
  struct place {
    std::uint32_t outer;  ///< the place of the loop, branch or call; none: it is the outermost
    std::string name;     ///< its own
    rill::lowered::body body;
    std::string text;  ///< of a branch or a function: which; empty where a branch within says so
    bool hands_on() const { return body == rill::lowered::body::branch && text.empty(); }
  };
  rill::subgraph subgraph;
  std::vector<std::uint32_t> within = {};  ///< of each node: its place, or none
  std::vector<place> places = {};
};

}  // namespace rill
