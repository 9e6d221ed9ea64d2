// Orders the critical sections of a mutex within a step.
#pragma once
#include "rill/pass/rewriter.hpp"

#if RILL_RUNTIME
#include <algorithm>
#include <map>
#include <utility>
#include <vector>
#endif

namespace rill {

/// Adds control edges from the nodes that unlock a mutex to the node that locks it next. Sections that wait for nothing
/// else come first, then those recorded first. So updates in two sections have an order, and a node that locks a mutex
/// which its step holds is found as a cycle. If the edges of a mutex would close a cycle, by way of other steps too,
/// its sections stay unordered, and `node::may_race` of its locks is set. Returns whether it changed the subgraph.
bool order_sections(subgraph& sub, pass_report* report);

#if RILL_RUNTIME
namespace detail {

class section_order {
 public:
  section_order(subgraph& sub, pass_report* report) : subgraph_(sub), report_(report), met_(sub) {}

  bool run() {
    std::map<std::uint32_t, mutex_uses> all;
    for (auto i : met_.nodes())
      for (auto const& m : met_[i])
        if (m.role == rendezvous_kind::locks) all[m.place].locks.push_back(i);
        else if (m.role == rendezvous_kind::unlocks) all[m.place].unlocks.push_back(i);
    std::erase_if(all, [](auto const& each) { return each.second.locks.size() < 2; });
    if (all.empty()) return false;
    after_ = edges_of(subgraph_);
    elsewhere_ = find_hidden_waits(subgraph_, met_.without_locks(), after_, meeting_scope::elsewhere);
    set_positions();
    for (auto& [_, uses] : all) chain(uses);
    return put_edges(all);
  }

 private:
  struct mutex_uses {
    std::vector<std::uint32_t> locks, unlocks;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges = {};
  };

  // Sets the positions of the nodes as one thread would run them: nodes that wait come late.
  void set_positions() {
    auto const far = static_cast<std::uint32_t>(subgraph_.size());
    std::vector<std::uint32_t> keys(far);
    for (std::uint32_t i = 0; i < far; ++i) {
      bool const only_locks = std::all_of(met_[i].begin(), met_[i].end(), [](meeting const& m) {
        return !m.waits || m.role == rendezvous_kind::locks;
      });
      keys[i] = i + (only_locks && !may_wait_elsewhere(i) ? 0 : far);
    }
    position_.resize(far);
    std::uint32_t count = 0;
    for (auto i : sequence(after_, elsewhere_.gifts(met_), keys)) position_[i] = count++;
  }
  bool may_wait_elsewhere(std::uint32_t i) const { return met_[i].empty() && may_wait(subgraph_[i]); }

  // Adds an edge from each node that unlocks to the lock behind the last one that comes before it.
  void chain(mutex_uses& uses) {
    auto& locks = uses.locks;
    std::sort(locks.begin(), locks.end(), [&](auto a, auto b) { return position_[a] < position_[b]; });
    auto const last = last_locks(locks);
    for (auto u : uses.unlocks)
      if (last[u] != 0 && last[u] < locks.size() && locks[last[u]] != u) uses.edges.emplace_back(u, locks[last[u]]);
  }
  // Returns for each node the last of the locks that come before it or that it is, counted from 1; 0: none.
  std::vector<std::uint32_t> last_locks(std::vector<std::uint32_t> const& locks) const {
    std::vector<std::uint32_t> last(subgraph_.size()), todo;
    for (auto number = static_cast<std::uint32_t>(locks.size()); number > 0; --number) {
      auto const mark = [&](std::uint32_t n) {
        if (last[n] == 0) last[n] = number, todo.push_back(n);
      };
      for (mark(locks[number - 1]); !todo.empty();) {
        auto const i = todo.back();
        todo.pop_back();
        for (auto n : after_[i]) mark(n);
      }
    }
    return last;
  }

  bool put_edges(std::map<std::uint32_t, mutex_uses> const& all) {
    node_edges wished(subgraph_.size());
    for (auto const& [_, uses] : all)
      for (auto const& [from, to] : uses.edges) wished[from].push_back(to);
    auto const cycle_of = cycle_numbers({&after_, &elsewhere_.after, &wished});
    rewriter r(subgraph_, "sections", report_);
    for (auto const& [_, uses] : all) {
      auto const& edges = uses.edges;
      bool const closes = std::any_of(edges.begin(), edges.end(),
                                      [&](auto const& e) { return cycle_of[e.first] == cycle_of[e.second]; });
      for (auto l : uses.locks) subgraph_[l].may_race = closes;
      if (closes) continue;
      for (auto const& [from, to] : edges) {
        auto& controls = subgraph_[to].controls;
        if (std::find(controls.begin(), controls.end(), from) != controls.end()) continue;
        controls.push_back(from);
        r.log("comes after " + subgraph_[from].name, to);
      }
    }
    return r.finish();
  }

  subgraph& subgraph_;
  pass_report* report_;
  meetings met_;
  node_edges after_;
  hidden_waits elsewhere_;
  std::vector<std::uint32_t> position_;
};

}  // namespace detail

RILL_INLINE bool order_sections(subgraph& sub, pass_report* report) { return detail::section_order(sub, report).run(); }
#endif

}  // namespace rill
