// Parts of graphs for the tests of passes.
#pragma once
#include <string>
#include <vector>

#include "rill/graph/prune.hpp"
#include "rill/pass/bind.hpp"
#include "rill/pass/options.hpp"

namespace rill {

/// What a run of `fetches` and `targets` needs, bound for no feeds.
inline subgraph part_of(graph const& g, std::vector<value> const& fetches, std::vector<operation> const& targets = {},
                        std::vector<value> const& feeds = {}) {
  std::vector<endpoint> fetched, fed;
  std::vector<std::uint32_t> run;
  std::vector<type> types;
  for (auto const& f : fetches) fetched.push_back(f.endpoint());
  for (auto const& t : targets) run.push_back(t.node);
  for (auto const& f : feeds) fed.push_back(f.endpoint()), types.push_back(f.type());
  auto sub = prune(g, fed, fetched, run);
  container state;
  bind_extents(sub, types, state);
  return sub;
}

/// How many nodes of an operation the subgraph has.
inline std::size_t count(subgraph const& sub, std::string_view operation) {
  return static_cast<std::size_t>(
      std::count_if(sub.nodes.begin(), sub.nodes.end(), [&](node const& n) { return n.op->name == operation; }));
}

}  // namespace rill
