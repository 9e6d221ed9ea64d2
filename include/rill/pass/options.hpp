// Which rewrites a session makes, and what they tell.
#pragma once
#include <string>
#include <vector>

namespace rill {

/// Which rewrites a session makes.
struct pass_options {
  bool common_subexpressions = true;  ///< equal nodes are computed once
  bool fold_constants = true;         ///< what depends on constants alone is computed once
  bool identities = true;             ///< x + 0, a transposed transpose and the like are left out
  bool fuse = true;                   ///< elementwise neighbours are one pass over memory
  bool loops = true;                  ///< loops make and take only what is read
  bool functions = true;              ///< functions that are small, or called once, stand where they are called
  bool verify = false;                ///< check the subgraph before and after each pass

  /// The graph is run as it was written.
  static pass_options none() { return {false, false, false, false, false, false, false}; }
};

/// What the passes did, a line for each rewrite.
struct pass_report {
  std::vector<std::string> lines;
  std::string text() const {
    std::string s;
    for (auto const& l : lines) s += l + "\n";
    return s;
  }
};

}  // namespace rill
