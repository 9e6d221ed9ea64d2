// The stages of a step on tasks. A node is planned when the extents that it reads are settled; its stage is the number
// of times that extents must be settled before. All tasks count alike, and each runs stage after stage, so no task
// waits in one stage for what another sends in a later one.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "rill/graph/order.hpp"
#include "rill/run/plan/deferred_nodes.hpp"

namespace rill {

/// Whether a subgraph is a share of a step with several stages.
bool has_stages(subgraph const& sub);
/// Returns which nodes of a share belong to later stages than its first, as `deferred_nodes` does. Empty: none.
std::vector<bool> later_stages(subgraph const& share);

#if RILL_RUNTIME
namespace detail {

/// The stage in which a value is sent to another task.
inline std::int32_t stage_of_send(subgraph const& whole, std::vector<std::int32_t> const& stages, endpoint e) {
  return stages[e.node] + has_deferred_shape(whole, e);
}

/// Counts the stages of the nodes of a whole step or body; `crosses(from, to)`: whether a value goes from one task to
/// another on the way from node to node.
template <class Crosses> class stage_counter {
 public:
  stage_counter(subgraph const& whole, step_order const& order, Crosses crosses)
      : whole_(whole), order_(order), crosses_(crosses), stages_(whole.size()) {}

  std::vector<std::int32_t> run() && {
    auto const deferred = deferred_nodes(whole_);  // also those that wait at a queue for what is settled
    for (std::uint32_t i = 0; i < deferred.size(); ++i) stages_[i] = deferred[i];
    pass_on();
    if (deferred.empty()) return std::move(stages_);
    meetings const met(whole_);
    if (met.nodes().size() < 2) return std::move(stages_);
    auto const hidden = find_hidden_waits(whole_, met, order_.after, meeting_scope::step);
    for (int rounds = 0; rounds < most_rounds && serve(hidden); ++rounds) pass_on();
    return std::move(stages_);
  }

 private:
  // Nodes that wait for each other at queues in more rounds than this would wait for ever in one process too.
  static constexpr int most_rounds = 64;

  static bool raise(std::int32_t& stage, std::int32_t to) {
    if (stage >= to) return false;
    stage = to;
    return true;
  }
  void pass_on() {
    for (auto i : order_.nodes) {
      auto const& n = whole_[i];
      for (std::size_t k = 0; k < n.inputs.size(); ++k) {
        auto const e = n.inputs[k];
        raise(stages_[i], stages_[e.node] + reads_open(whole_, i, k));
        if (crosses_(e.node, i)) raise(stages_[i], stage_of_send(whole_, stages_, e) + !whole_.type_of(e).is_known());
      }
      for (auto next : order_.after[i]) raise(stages_[next], stages_[i]);
    }
  }
  // Puts deferred nodes that wait at a queue or the like in the stage of what serves them. Returns whether one moved.
  bool serve(hidden_waits const& hidden) {
    bool moved = false;
    std::vector<std::uint32_t> todo;
    for (std::uint32_t i = 0; i < whole_.size() && !hidden.empty(); ++i)
      for (todo = hidden.after[i]; stages_[i] > 0 && !todo.empty();) {
        auto const n = todo.back();
        todo.pop_back();
        if (n >= whole_.size()) todo.insert(todo.end(), hidden.after[n].begin(), hidden.after[n].end());
        else if (stages_[n] > 0) moved = raise(stages_[n], stages_[i]) || moved;
      }
    return moved;
  }

  subgraph const& whole_;
  step_order const& order_;
  Crosses crosses_;
  std::vector<std::int32_t> stages_;
};

}  // namespace detail

RILL_INLINE bool has_stages(subgraph const& sub) {
  return std::any_of(sub.nodes.begin(), sub.nodes.end(), [](node const& n) { return n.stage >= 0; });
}

RILL_INLINE std::vector<bool> later_stages(subgraph const& share) {
  auto first = INT32_MAX;
  for (auto const& n : share.nodes)
    if (n.stage >= 0 && !is_variable(n)) first = std::min(first, n.stage);  // a variable is there in all stages
  std::vector<bool> later;
  for (auto const& n : share.nodes) later.push_back(n.stage > first);
  if (std::none_of(later.begin(), later.end(), [](bool is) { return is; })) later.clear();
  return later;
}

#endif

}  // namespace rill
