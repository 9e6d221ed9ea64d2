// Finds which inputs of a node with bodies the derivative of each output reaches. A branch's result that depends on one
// capture has no path to the other captures.
#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "rill/graph/subgraph.hpp"

namespace rill {

/// The paths from a body's results to its inputs and variables.
struct body_paths {
  path_table to_inputs, to_variables;       ///< by result
  std::vector<std::string_view> variables;  ///< the names of the variables that the body reads

  bool reaches(std::size_t result, std::size_t input) const { return to_inputs[result][input]; }
  bool reaches(std::size_t result, std::string_view variable) const;
};

/// Finds paths, and keeps the paths of each body.
class path_finder {
 public:
  /// Returns the paths from the outputs of node `n` of `nodes`, a graph or subgraph. Empty: from each output to each
  /// input.
  template <class Nodes> path_table of(Nodes const& nodes, node const& n) {
    if (n.op->paths == nullptr) return {};
    std::vector<std::string_view> names;
    for (auto e : n.inputs) names.push_back(nodes[e.node].name);
    return n.op->paths(n, names, *this);
  }
  /// Returns the paths through a body; null while they are being found, as in the body of a recursive function.
  body_paths const* through(std::shared_ptr<subgraph const> const& body);

 private:
  // By body: whether its paths are found, and the paths. The keys keep the bodies alive, so that no new body gets the
  // address of an old one.
  std::map<std::shared_ptr<subgraph const>, std::pair<bool, body_paths>> known_;
};

/// Whether the operation lets derivatives pass from an output of a node to input k.
inline bool is_path(node const& n, std::size_t k) {
  return n.rule >= 0 || !(n.op->stops_gradient || reads_extents_alone(n, k));
}

#if RILL_RUNTIME
namespace detail {

/// Goes over a body once, and finds the inputs and variables that each value depends on.
class path_sweep {
 public:
  path_sweep(subgraph const& body, path_finder& finder) : body_(body), finder_(finder), from_(body.size()) {
    for (std::uint32_t i = 0; i < body.size(); ++i)
      if (is_variable(body[i])) variables_.push_back(i);
  }

  body_paths run() && {
    auto const sources = body_.inputs.size() + variables_.size();
    for (std::uint32_t i = 0; i < body_.size(); ++i)
      from_[i].assign(body_[i].outputs.size(), std::vector<bool>(sources));
    for (std::size_t k = 0; k < body_.inputs.size(); ++k) from_[body_.inputs[k]][0][k] = true;
    for (std::size_t v = 0; v < variables_.size(); ++v) from_[variables_[v]][0][body_.inputs.size() + v] = true;
    for (std::uint32_t i = 0; i < body_.size(); ++i) visit(i);
    body_paths made;
    for (auto v : variables_) made.variables.push_back(body_[v].name);
    auto const inputs = static_cast<std::ptrdiff_t>(body_.inputs.size());
    for (auto e : body_.outputs) {
      auto const& all = from_[e.node][e.port];
      made.to_inputs.emplace_back(all.begin(), all.begin() + inputs);
      made.to_variables.emplace_back(all.begin() + inputs, all.end());
    }
    return made;
  }

 private:
  void visit(std::uint32_t i) {
    auto const& n = body_[i];
    auto const table = finder_.of(body_, n);
    for (std::size_t o = 0; o < n.outputs.size(); ++o)
      for (std::size_t k = 0; k < n.inputs.size() && is_differentiable(n.outputs[o].element); ++k)
        if (is_path(n, k) && (table.empty() || table[o][k]))
          join(from_[i][o], from_[n.inputs[k].node][n.inputs[k].port]);
  }
  static void join(std::vector<bool>& to, std::vector<bool> const& more) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = to[i] || more[i];
  }

  subgraph const& body_;
  path_finder& finder_;
  std::vector<std::uint32_t> variables_;
  std::vector<path_table> from_;  // by node and port: whether it depends on each input, then on each variable
};

}  // namespace detail

RILL_INLINE body_paths const* path_finder::through(std::shared_ptr<subgraph const> const& body) {
  auto const [at, fresh] = known_.try_emplace(body);
  if (fresh) {
    auto found = detail::path_sweep(*body, *this).run();
    at->second = {true, std::move(found)};
  }
  return at->second.first ? &at->second.second : nullptr;
}

RILL_INLINE bool body_paths::reaches(std::size_t result, std::string_view variable) const {
  auto const at = std::find(variables.begin(), variables.end(), variable);
  return at != variables.end() && to_variables[result][static_cast<std::size_t>(at - variables.begin())];
}

#endif

}  // namespace rill
