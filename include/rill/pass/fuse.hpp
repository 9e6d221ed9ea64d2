// Fuses elementwise nodes into programs, which read each input and write each result once.
#pragma once
#include "rill/pass/fold_constants.hpp"

#if RILL_RUNTIME
#include "rill/pass/elementwise_program.hpp"
#endif

namespace rill {

/// Fuses elementwise nodes of equal extents and the same place. Returns whether it changed the subgraph.
bool fuse_elementwise(subgraph& sub, pass_report* report, join_predicate const& can_run = {});

#if RILL_RUNTIME
namespace detail {

/// Collects elementwise nodes in groups, from the last node to the first. A node joins the group of a consumer unless
/// one of its other consumers leads to the group, or the group leads to it by way of a queue or the like: then the
/// group would wait for itself.
class fusion {
 public:
  fusion(subgraph& sub, pass_report* report, join_predicate const& can_run)
      : subgraph_(sub),
        can_run_(can_run),
        rewriter_(sub, "fuse", report),
        waiters_(sub),
        visits_left_(64 * sub.size()),
        group_(waiters_.of.size(), none),
        fetched_(sub.size()) {
    for (auto e : sub.outputs) fetched_[e.node] = true;
    for (auto t : sub.targets) fetched_[t] = true;
  }

  bool run() {
    for (auto i = static_cast<std::uint32_t>(subgraph_.size()); i-- > 0;)
      if (is_elementwise(i)) join(i);
    for (auto& g : groups_)
      if (g.size() > 1) make(g);
    return rewriter_.finish();
  }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  static constexpr std::size_t most_nodes = 24, most_visited = 128, most_tried = 16;

  bool is_elementwise(std::uint32_t i) const {
    return subgraph_[i].controls.empty() && elementwise_program::takes(subgraph_, i) &&
           (!can_run_ || can_run_(subgraph_[i], definition<ops::fused_op>()));
  }

  void join(std::uint32_t i) {
    std::uint32_t best = none;
    std::size_t tried = 0;  // limits the tries, because each looks at all waiters
    for (auto c : waiters_[i]) {
      if (group_[c] == none || group_[c] == best) continue;
      if (++tried > most_tried) break;
      if ((best == none || group_[c] < best) && fits(i, group_[c])) best = group_[c];
    }
    if (best == none) {
      best = static_cast<std::uint32_t>(groups_.size());
      groups_.emplace_back();
    }
    group_[i] = best;
    groups_[best].push_back(i);
  }

  bool fits(std::uint32_t i, std::uint32_t group) {
    auto const& members = groups_[group];
    auto const& a = subgraph_[i].outputs[0];
    auto const& b = subgraph_[members[0]].outputs[0];
    if (members.size() >= most_nodes || a.rank != b.rank || a.dims != b.dims) return false;
    if (!same_place(subgraph_[i], subgraph_[members[0]])) return false;
    if (inputs_with(i, group) > 16 || registers_with(i, group) > elementwise_program::most_registers) return false;
    for (auto c : waiters_[i])
      if (group_[c] != group && reaches(c, group)) return false;
    return waiters_.served.empty() || !waiters_.served[i] || !serves(group, i);
  }

  std::size_t inputs_with(std::uint32_t i, std::uint32_t group) const {
    std::size_t count = subgraph_[i].inputs.size();
    for (auto m : groups_[group])
      for (auto e : subgraph_[m].inputs) count += group_[e.node] != group && e.node != i;
    return count;
  }

  std::size_t registers_with(std::uint32_t i, std::uint32_t group) const {
    std::size_t count = elementwise_program::size_of(subgraph_[i]);
    for (auto m : groups_[group]) count += elementwise_program::size_of(subgraph_[m]);
    return count;
  }

  // Whether a path leads from `from` into the group. Returns true if the search takes too long.
  bool reaches(std::uint32_t from, std::uint32_t group) {
    std::size_t visits = most_visited;
    return search(from, visits, [&](std::uint32_t i) { return group_[i] == group; });
  }
  // Whether a path leads from the group to a node that may join it. Such a path goes by way of a queue or the like,
  // because the joining node is earlier, and edges lead to later nodes.
  bool serves(std::uint32_t group, std::uint32_t joining) {
    return search(groups_[group][0], visits_left_, [&](std::uint32_t i) { return i == joining; });
  }
  template <class Found> bool search(std::uint32_t from, std::size_t& visits, Found const& found) {
    if (mark_.size() < group_.size()) mark_.resize(group_.size());
    ++marks_;
    std::vector<std::uint32_t> todo{from};
    mark_[from] = marks_;
    while (!todo.empty()) {
      auto const i = todo.back();
      todo.pop_back();
      if (found(i) || visits == 0) return true;
      --visits;
      auto const more = [&](std::uint32_t n) {
        if (mark_[n] != marks_) mark_[n] = marks_, todo.push_back(n);
      };
      if (group_[i] != none) {  // a group will be one node: waiters of one member wait for all members
        for (auto m : groups_[group_[i]])
          for (auto n : waiters_[m]) more(n);
      } else {
        for (auto n : waiters_[i]) more(n);
      }
    }
    return false;
  }

  void make(std::vector<std::uint32_t>& members) {
    std::sort(members.begin(), members.end());
    auto const group = group_[members[0]];
    elementwise_program p(subgraph_);
    node made;
    std::vector<endpoint> results;
    for (auto m : members)
      for (auto e : subgraph_[m].inputs) {
        if (group_[e.node] == group || p.find(e) != p.none) continue;
        if (is_constant(subgraph_[e.node]) && subgraph_.type_of(e).is_scalar()) p.add_constant(e);
        else p.add_input(e), made.inputs.push_back(e);
      }
    if (made.inputs.empty()) return;
    for (auto m : members) {
      p.add(m);
      auto const leaves = fetched_[m] || std::any_of(waiters_[m].begin(), waiters_[m].end(),
                                                     [&](auto c) { return group_[c] != group; });
      if (!leaves) continue;
      for (std::uint32_t port = 0; port < subgraph_[m].outputs.size(); ++port) {
        made.outputs.push_back(subgraph_[m].outputs[port]);
        results.push_back({m, port});
      }
    }
    made.op = &definition<ops::fused_op>();
    made.name = subgraph_[members.back()].name;
    made.device = subgraph_[members.back()].device;
    made.hops = subgraph_[members.back()].hops;
    made.colocated = subgraph_[members.back()].colocated;
    made.attributes = encode(ops::fused_op::attributes{std::make_shared<program const>(p.finish(results))});
    auto const at = rewriter_.add(std::move(made), subgraph_.origin[members.back()]);
    for (std::uint32_t o = 0; o < results.size(); ++o) rewriter_.replace(results[o], {at, o}, "joined");
  }

  subgraph& subgraph_;
  join_predicate const& can_run_;
  rewriter rewriter_;
  waiters waiters_;
  std::size_t visits_left_;  // of all calls of `serves` together
  std::vector<std::uint32_t> group_;
  std::vector<std::vector<std::uint32_t>> groups_;
  std::vector<bool> fetched_;
  std::vector<std::uint32_t> mark_;  // of each node the number of the last search that met it
  std::uint32_t marks_ = 0;
};

}  // namespace detail

RILL_INLINE bool fuse_elementwise(subgraph& sub, pass_report* report, join_predicate const& can_run) {
  return detail::fusion(sub, report, can_run).run();
}
#endif

}  // namespace rill
