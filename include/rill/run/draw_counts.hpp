// How many steps have drawn random numbers, as checkpoints store it.
#pragma once
#include <cstdint>
#include <map>
#include <string>

namespace rill {

/// How many steps of a session have drawn random numbers: those that train, and others, by the name of their client.
/// The empty name stands for steps without a client.
struct draw_counts {
  std::map<std::string, std::uint64_t> training = {}, others = {};
  std::uint64_t first = 0;  ///< the counts of a client that is not listed

  bool operator==(draw_counts const&) const = default;
};

}  // namespace rill
