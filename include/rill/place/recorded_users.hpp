// The nodes of a graph that take a variable by reference, whether a step needs them or not.
#pragma once
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rill/graph/graph.hpp"
#include "rill/graph/node_traits.hpp"
#include "rill/place/groups.hpp"

#if RILL_RUNTIME
namespace rill::detail {

/// The uses of the variables of a graph, which may grow meanwhile. Each node of the graph is looked at once.
class recorded_users {
 public:
  explicit recorded_users(graph const& g) : graph_(g) {}

  std::vector<variable_use> operator()(std::string_view variable) {
    std::lock_guard lock(mutex_);
    for (auto const size = static_cast<std::uint32_t>(graph_.size()); seen_ < size; ++seen_) look_at(graph_[seen_]);
    std::vector<variable_use> all;
    auto const at = users_.find(std::string(variable));
    if (at == users_.end()) return all;
    for (auto i : at->second) all.push_back(use_by(graph_[i]));
    return all;
  }

 private:
  void look_at(node const& n) {
    for (std::size_t k = 0; k < n.inputs.size(); ++k)
      if (auto const& from = graph_[n.inputs[k].node]; takes_reference(n, k) && is_variable(from))
        if (auto& users = users_[from.name]; users.empty() || users.back() != seen_) users.push_back(seen_);
  }
  variable_use use_by(node const& user) const {
    variable_use use{&user, {}, {}};
    for (std::size_t k = 0; k < user.inputs.size(); ++k) {
      auto const e = user.inputs[k];
      auto const& from = graph_[e.node];
      use.inputs.push_back(from.outputs[e.port]);
      if (takes_reference(user, k) && is_variable(from)) use.variables.push_back(from.name);
    }
    return use;
  }

  graph const& graph_;
  std::mutex mutex_;
  std::uint32_t seen_ = 0;
  std::unordered_map<std::string, std::vector<std::uint32_t>> users_;
};

}  // namespace rill::detail
#endif
