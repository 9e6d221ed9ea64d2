// Joins fused updates of small variables by the same program: a GPU runs them as one kernel, where each would be one
// that takes longer to launch than to run.
#pragma once
#include "rill/pass/rewriter.hpp"

#if RILL_RUNTIME
#include <cstddef>
#include <numeric>
#include <utility>

#include "rill/ops/state/fused_update.hpp"
#include "rill/ops/state/grouped_update.hpp"
#endif

namespace rill {

/// Joins fused updates by equal programs on one device, if none of them waits for another. Returns whether it changed
/// the subgraph.
bool group_updates(subgraph& sub, pass_report* report, join_predicate const& can_run = {});

#if RILL_RUNTIME
namespace detail {

class update_grouping {
 public:
  update_grouping(subgraph& sub, pass_report* report, join_predicate const& can_run)
      : subgraph_(sub), can_run_(can_run), rewriter_(sub, "group updates", report) {}

  bool run() {
    find_kinds();
    if (kinds_.empty()) return false;
    find_depths();
    for (auto& kind : kinds_) join(kind);
    return rewriter_.finish();
  }

 private:
  using node_list = std::vector<std::uint32_t>;

  // The gradients of a group stay in memory until all of them are there. The launch of a kernel takes as long as the
  // update of some 100,000 elements, so a group of larger variables gains little.
  static constexpr std::int64_t most_elements = std::int64_t{1} << 18;
  // Of a group, which locks them all: ThreadSanitizer ends a program whose thread has more than 64 locks.
  static constexpr std::int64_t most_variables = 48;

  // Finds the lists of updates that differ only in their variables and operands.
  void find_kinds() {
    find_uses();
    for (std::uint32_t i = 0; i < subgraph_.size(); ++i) {
      if (!fits(i)) continue;
      auto const known = std::find_if(kinds_.begin(), kinds_.end(),
                                      [&](auto const& k) { return is_alike(subgraph_[i], subgraph_[k.front()]); });
      if (known == kinds_.end()) kinds_.push_back({i});
      else known->push_back(i);
    }
    std::erase_if(kinds_, [](auto const& k) { return k.size() < 2; });
  }
  void find_uses() {
    read_.resize(subgraph_.size());
    updates_of_.resize(subgraph_.size());
    for (auto e : subgraph_.outputs) read_[e.node] = true;
    for (auto const& n : subgraph_.nodes)
      for (std::size_t k = 0; k < n.inputs.size(); ++k) {
        read_[n.inputs[k].node] = true;
        if (updates_reference(n, k)) ++updates_of_[n.inputs[k].node];
      }
  }
  // Whether a node is a fused update of small variables, whose result nobody reads and whose variables nothing else
  // updates.
  bool fits(std::uint32_t i) const {
    auto const& n = subgraph_[i];
    if (n.op != &definition<ops::fused_update_op>() || read_[i]) return false;
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      auto const& t = subgraph_.type_of(n.inputs[k]);
      if (!t.is_known() || elements(t.shape()) > most_elements) return false;
      auto const from = n.inputs[k].node;
      if (updates_reference(n, k) && (!is_variable(subgraph_[from]) || updates_of_[from] != 1)) return false;
    }
    return !can_run_ || can_run_(n, definition<ops::grouped_update_op>());
  }
  static bool is_alike(node const& a, node const& b) {
    return same_place(a, b) &&
           std::equal(a.attributes.begin(), a.attributes.end(), b.attributes.begin(), b.attributes.end(),
                      [](auto const& x, auto const& y) { return same(x.second, y.second); });
  }

  // Finds the most updates on a path of waits to each update. Updates of one depth don't wait for each other, and no
  // cycle arises if those of each depth are joined: a path that leaves an update leads to greater depths alone.
  void find_depths() {
    waiters const after(subgraph_);
    auto const cycle_of = cycle_numbers({&after.of});  // an edge between two cycles leads to the smaller number
    std::vector<std::uint32_t> order(after.of.size()), depth(after.of.size()), members(after.of.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(),
              [&](auto a, auto b) { return std::pair(cycle_of[b], a) < std::pair(cycle_of[a], b); });
    for (auto c : cycle_of) ++members[c];
    // One that waits for itself by way of a queue, perhaps in another step, must not wait for more.
    for (auto& kind : kinds_) std::erase_if(kind, [&](auto i) { return members[cycle_of[i]] != 1; });
    std::vector<bool> joins(after.of.size());
    for (auto const& kind : kinds_)
      for (auto i : kind) joins[i] = true;
    for (auto i : order)
      for (auto w : after[i])
        if (cycle_of[w] != cycle_of[i])
          depth[cycle_of[w]] = std::max(depth[cycle_of[w]], depth[cycle_of[i]] + (joins[i] ? 1u : 0u));
    depth_.resize(subgraph_.size());
    for (std::uint32_t i = 0; i < subgraph_.size(); ++i) depth_[i] = depth[cycle_of[i]];
  }

  void join(node_list& kind) {
    std::sort(kind.begin(), kind.end(),
              [&](auto a, auto b) { return std::pair(depth_[a], a) < std::pair(depth_[b], b); });
    for (std::size_t from = 0; from < kind.size();) {
      auto const variables = decode<ops::fused_update_op::attributes>(subgraph_[kind[from]].attributes).references;
      auto const most = static_cast<std::size_t>(std::max<std::int64_t>(most_variables / variables, 1));
      auto to = from + 1;
      while (to < kind.size() && to - from < most && depth_[kind[to]] == depth_[kind[from]]) ++to;
      if (to - from > 1)
        replace({kind.begin() + static_cast<std::ptrdiff_t>(from), kind.begin() + static_cast<std::ptrdiff_t>(to)});
      from = to;
    }
  }
  void replace(node_list const& updates) {
    auto const& first = subgraph_[updates.front()];
    auto const a = decode<ops::fused_update_op::attributes>(first.attributes);
    node made;
    made.op = &definition<ops::grouped_update_op>();
    made.name = first.name;
    made.device = first.device;
    made.hops = first.hops;
    made.colocated = first.colocated;
    made.attributes =
        encode(ops::grouped_update_op::attributes{a.what, a.references * static_cast<std::int64_t>(updates.size())});
    for (auto u : updates) {
      auto const& of = subgraph_[u].inputs;
      made.inputs.insert(made.inputs.end(), of.begin(), of.begin() + a.references);
      made.controls.insert(made.controls.end(), subgraph_[u].controls.begin(), subgraph_[u].controls.end());
    }
    for (auto u : updates) {
      auto const& of = subgraph_[u].inputs;
      made.inputs.insert(made.inputs.end(), of.begin() + a.references, of.end());
    }
    std::sort(made.controls.begin(), made.controls.end());
    made.controls.erase(std::unique(made.controls.begin(), made.controls.end()), made.controls.end());
    if (can_run_ && !can_run_(made, *made.op)) return;
    auto const at = rewriter_.add(std::move(made), subgraph_.origin[updates.front()]);
    for (auto u : updates) rewriter_.replace({u, 0}, {at, 0}, "in one kernel");
  }

  subgraph& subgraph_;
  join_predicate const& can_run_;
  rewriter rewriter_;
  std::vector<bool> read_;                 // nodes whose values are read
  std::vector<std::uint32_t> updates_of_;  // the number of updates of each variable
  std::vector<std::uint32_t> depth_;
  std::vector<node_list> kinds_;
};

}  // namespace detail

RILL_INLINE bool group_updates(subgraph& sub, pass_report* report, join_predicate const& can_run) {
  return detail::update_grouping(sub, report, can_run).run();
}
#endif

}  // namespace rill
