// The choice of rewrites, and their report.
#pragma once
#include <string>
#include <vector>

namespace rill {

/// Which rewrites a session applies.
struct pass_options {
  bool common_subexpressions = true;  ///< merges nodes that compute the same value
  bool fold_constants = true;         ///< computes nodes that depend only on constants when the step is compiled
  bool identities = true;             ///< removes nodes that return an input unchanged, such as x * 1
  bool fuse = true;                   ///< fuses elementwise nodes into one pass over memory
  bool loops = true;                  ///< removes unread rows and inputs of loops
  bool functions = true;              ///< inlines functions that are small or called once
  bool verify = false;                ///< checks the subgraph before and after each pass

  /// Returns options without rewrites: the graph runs as it was written.
  static pass_options none() { return {false, false, false, false, false, false, false}; }
};

/// The rewrites that passes made, a line for each.
struct pass_report {
  std::vector<std::string> lines;
  std::string text() const {
    std::string s;
    for (auto const& l : lines) s += l + "\n";
    return s;
  }
};

}  // namespace rill
