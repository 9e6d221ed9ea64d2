// A subgraph of primitives (EuroSys'18 §4.2), for tagged execution.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "rill/graph/subgraph.hpp"

namespace rill {

/// A subgraph of primitives, and for errors the bodies from which its nodes come.
struct lowered {
  static constexpr std::uint32_t none = UINT32_MAX;
  enum class body : std::uint8_t { condition, iteration, branch, function };
  /// A body of a loop, branch or call.
  struct place {
    std::uint32_t outer;  ///< the body around the loop, branch or call; none: there is none
    std::string name;     ///< of the loop, branch or call
    rill::lowered::body body;
    std::string text;  ///< names the branch or the function; empty if errors name the branch within it instead
    bool is_unnamed() const { return body == rill::lowered::body::branch && text.empty(); }
  };
  rill::subgraph subgraph;
  std::vector<std::uint32_t> within = {};  ///< by node: its place, or none; empty: a user wrote the primitives
  std::vector<place> places = {};
};

}  // namespace rill
