// Nodes that wait for each other without an edge: at queues, mutexes and the like.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/device/step.hpp"
#include "rill/graph/subgraph.hpp"

namespace rill {

/// What a node does at a queue or the like, itself or by a node of its bodies or of the function that it calls.
struct meeting {
  std::uint32_t place;  ///< the number of the queue or the like
  rendezvous_kind role;
  bool waits;

  friend bool operator==(meeting const&, meeting const&) = default;
};

/// Whether `waiter` may wait for `giver`: at the same place, and in a role that `giver` serves.
bool serves(meeting const& giver, meeting const& waiter);

/// The meetings of each node of a subgraph.
class meetings {
 public:
  explicit meetings(subgraph const& sub);

  std::vector<meeting> const& operator[](std::uint32_t node) const { return of_[node]; }
  /// Returns the nodes that have meetings, ascending.
  std::vector<std::uint32_t> const& nodes() const { return nodes_; }
  /// Returns the meetings without the meetings at mutexes.
  meetings without_locks() const;

 private:
  void add(node const& n, std::vector<meeting>& all);
  std::vector<meeting> const& of_function(function_definition const& f);

  std::map<std::pair<std::string_view, std::string_view>, std::uint32_t> places_;  // by kind and name
  std::map<function_definition const*, std::vector<meeting>> functions_;
  std::vector<std::vector<meeting>> of_;
  std::vector<std::uint32_t> nodes_;
};

/// For each node its direct successors.
using node_edges = std::vector<std::vector<std::uint32_t>>;

/// Edges from nodes to the nodes that may wait for them at a queue or the like. Edges from many nodes to many go
/// through hubs: vertices with numbers beyond the nodes', which have edges to nodes and to other hubs.
struct hidden_waits {
  node_edges after = {};  ///< of nodes and hubs; empty: there are no hidden waits
  bool empty() const { return after.empty(); }
  /// Returns the edges, without edges from nodes that only make room.
  node_edges gifts(meetings const& met) const;
};

/// Which nodes may serve a node that waits.
enum class meeting_scope : std::uint8_t {
  step,       ///< a node that gives at the place where the other waits
  elsewhere,  ///< a node that gives at any place: another step or process may pass on what it gets there
};

/// Returns the hidden waits of a subgraph whose edges are `after`. A node does not serve a node that it comes after.
hidden_waits find_hidden_waits(subgraph const& sub, meetings const& met, node_edges const& after, meeting_scope scope);

/// Returns the edges of a subgraph: inputs and control edges.
node_edges edges_of(subgraph const& sub);

/// Returns the nodes in a topological order of `after`; among the nodes that are ready, the one with the smallest key
/// comes next. A node that has edges in `served`, directly or through hubs, comes when all their sources have come, or
/// when no other node is ready. Nodes on a cycle are missing. Throws if `step`, which may be null, is cancelled or
/// late.
std::vector<std::uint32_t> sequence(node_edges const& after, node_edges const& served,
                                    std::span<std::uint32_t const> keys, step_context const* step = nullptr);

/// Returns the number of the strongly connected component of each node, for the union of these edges. Nodes on a common
/// cycle have the same number.
std::vector<std::uint32_t> cycle_numbers(std::vector<node_edges const*> const& along);

#if RILL_RUNTIME

RILL_INLINE bool serves(meeting const& giver, meeting const& waiter) {
  if (giver.place != waiter.place || !waiter.waits) return false;
  using enum rendezvous_kind;
  switch (waiter.role) {
    case takes:
    case frees:
      return giver.role == gives || giver.role == meets;
    case gives:
      return giver.role == frees || giver.role == meets;
    case meets:
      return giver.role == gives || giver.role == frees || giver.role == meets;
    case locks:
      return giver.role == unlocks;
    case unlocks:
      return false;
  }
  return false;
}

RILL_INLINE meetings::meetings(subgraph const& sub) : of_(sub.size()) {
  for (std::uint32_t i = 0; i < sub.size(); ++i) {
    add(sub[i], of_[i]);
    if (!of_[i].empty()) nodes_.push_back(i);
  }
}

RILL_INLINE void meetings::add(node const& n, std::vector<meeting>& all) {
  auto const once = [&](meeting const& m) {
    if (std::find(all.begin(), all.end(), m) == all.end()) all.push_back(m);
  };
  if (!n.op->rendezvous.empty() && n.op->effect == effect::writes) {
    auto const& name = detail::attribute_as<std::string>(n.attributes, n.op->rendezvous);
    auto const place = static_cast<std::uint32_t>(places_.size());
    once({places_.try_emplace({n.op->rendezvous, name}, place).first->second, n.op->rendezvous_role, n.op->waits});
  }
  for_each_body(n, [&](subgraph const& body) {
    for (auto const& each : body.nodes) add(each, all);
  });
  if (auto const* const f = called_by(n); f && f->body)
    for (auto const& m : of_function(*f)) once(m);
}

// The meetings of a recursive function come from its other nodes.
RILL_INLINE std::vector<meeting> const& meetings::of_function(function_definition const& f) {
  auto const [known, fresh] = functions_.try_emplace(&f);
  if (fresh) {
    std::vector<meeting> all;
    for (auto const& each : f.body->nodes) add(each, all);
    known->second = std::move(all);
  }
  return known->second;
}

RILL_INLINE meetings meetings::without_locks() const {
  auto others = *this;
  others.nodes_.clear();
  for (auto i : nodes_) {
    std::erase_if(others.of_[i], [](meeting const& m) {
      return m.role == rendezvous_kind::locks || m.role == rendezvous_kind::unlocks;
    });
    if (!others.of_[i].empty()) others.nodes_.push_back(i);
  }
  return others;
}

RILL_INLINE node_edges edges_of(subgraph const& sub) {
  node_edges after(sub.size());
  for (std::uint32_t i = 0; i < sub.size(); ++i) {
    for (auto e : sub[i].inputs) after[e.node].push_back(i);
    for (auto c : sub[i].controls) after[c].push_back(i);
  }
  return after;
}

namespace detail {

/// Finds strongly connected components, without recursion (Tarjan 1972).
class components {
 public:
  explicit components(std::vector<node_edges const*> along)
      : along_(std::move(along)), size_(largest(along_)), seen_(size_), low_(size_), of_(size_, none) {}

  std::vector<std::uint32_t> run() {
    for (std::uint32_t i = 0; i < size_; ++i)
      if (seen_[i] == 0) visit(i);
    return std::move(of_);
  }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  struct step {
    std::uint32_t node;
    std::size_t list, next;
  };

  static std::size_t largest(std::vector<node_edges const*> const& all) {
    std::size_t size = 0;
    for (auto const* each : all) size = std::max(size, each->size());
    return size;
  }
  void enter(std::uint32_t i) {
    seen_[i] = low_[i] = ++count_;
    open_.push_back(i);
    way_.push_back({i, 0, 0});
  }
  void visit(std::uint32_t root) {
    enter(root);
    while (!way_.empty()) {
      auto& [i, list, next] = way_.back();
      if (list < along_.size() && next == list_of(i, list).size()) ++list, next = 0;
      else if (list == along_.size()) leave(i);
      else follow(i, list_of(i, list)[next++]);
    }
  }
  std::vector<std::uint32_t> const& list_of(std::uint32_t i, std::size_t list) const {
    static std::vector<std::uint32_t> const no_edges;
    return i < along_[list]->size() ? (*along_[list])[i] : no_edges;
  }
  void follow(std::uint32_t i, std::uint32_t to) {
    if (seen_[to] == 0) enter(to);
    else if (of_[to] == none) low_[i] = std::min(low_[i], seen_[to]);
  }
  void leave(std::uint32_t i) {
    way_.pop_back();
    if (!way_.empty()) low_[way_.back().node] = std::min(low_[way_.back().node], low_[i]);
    if (low_[i] != seen_[i]) return;
    for (std::uint32_t last = none; last != i;) {
      last = open_.back();
      open_.pop_back();
      of_[last] = found_;
    }
    ++found_;
  }

  std::vector<node_edges const*> along_;
  std::size_t size_;
  std::vector<std::uint32_t> seen_, low_, of_, open_;
  std::vector<step> way_;
  std::uint32_t count_ = 0, found_ = 0;
};

/// Searches hidden waits for 64 waiters at a time, with a bit for each.
class hidden_waits_search {
 public:
  hidden_waits_search(subgraph const& sub, meetings const& met, node_edges const& after, meeting_scope scope)
      : met_(met), after_(after), scope_(scope), behind_(sub.size()), whole_(sub.size()) {
    for (auto i : met_.nodes()) {
      if (std::any_of(met_[i].begin(), met_[i].end(), [](meeting const& m) { return m.waits; })) waiters_.push_back(i);
      if (std::any_of(met_[i].begin(), met_[i].end(), [&](meeting const& m) { return gives(m); })) givers_.push_back(i);
      for (auto const& m : met_[i])
        if (gives(m)) givers_at_[m.place].push_back(i);
    }
    auto const first_place = [&](std::uint32_t i) { return std::pair(met_[i][0].place, met_[i][0].role); };
    std::sort(waiters_.begin(), waiters_.end(),
              [&](auto a, auto b) { return std::pair(first_place(a), a) < std::pair(first_place(b), b); });
  }

  hidden_waits run() {
    if (waiters_.empty() || givers_.empty() || (givers_.size() == 1 && givers_ == waiters_)) return {};
    set_order();
    for (std::size_t first = 0; first < waiters_.size(); first += 64)
      find(first / 64, std::span(waiters_).subspan(first, std::min<std::size_t>(64, waiters_.size() - first)));
    for (auto giver : givers_)
      for (auto b : whole_[giver]) {
        auto const to = block_of_blocks(b);  // which may move the edges
        edges(giver).push_back(to);
      }
    return std::move(found_);
  }

 private:
  using bits = std::uint64_t;
  using block_number = std::pair<std::uint32_t, std::size_t>;  // the level, 0: 64 waiters, and which one
  static bool gives(meeting const& m) { return m.role != rendezvous_kind::takes && m.role != rendezvous_kind::locks; }

  // Finds a topological order; edges need not lead from smaller numbers to larger ones.
  void set_order() {
    std::vector<std::uint32_t> waits(after_.size());
    for (auto const& list : after_)
      for (auto n : list) ++waits[n];
    for (std::uint32_t i = 0; i < after_.size(); ++i)
      if (waits[i] == 0) order_.push_back(i);
    for (std::size_t k = 0; k < order_.size(); ++k)
      for (auto n : after_[order_[k]])
        if (--waits[n] == 0) order_.push_back(n);
  }
  // Adds the edges to the waiters `some`. A node serves the waiters that it does not come after.
  void find(std::size_t number, std::span<std::uint32_t const> some) {
    std::fill(behind_.begin(), behind_.end(), 0);
    for (std::size_t w = 0; w < some.size(); ++w) behind_[some[w]] |= bits{1} << w;
    for (auto i : order_)
      if (behind_[i] != 0)
        for (auto n : after_[i]) behind_[n] |= behind_[i];
    hubs_.clear();
    known_ = number;
    served_by_.clear();
    waiting_.clear();
    for (std::size_t w = 0; w < some.size(); ++w)
      for (auto const& m : met_[some[w]])
        if (m.waits) waiting_[m.place].emplace_back(m, bits{1} << w);
    for (auto g : givers_for_them())
      if (auto const served = ~behind_[g] & served_by(g, some); served == all_of(some)) add_whole(g, number, some);
      else if (served != 0) cover(g, some, served, 0, 64);
  }
  static bits all_of(std::span<std::uint32_t const> some) {
    return some.size() == 64 ? ~bits{0} : (bits{1} << some.size()) - 1;
  }
  // Notes that a giver serves all of a block of 64 waiters. Two neighbouring blocks become one block of the next level.
  void add_whole(std::uint32_t giver, std::size_t number, std::span<std::uint32_t const> some) {
    if (known_ == number) blocks_[{0, number}] = block(some, 0, 64), ++known_;
    auto& mine = whole_[giver];
    mine.push_back({0, number});
    while (mine.size() > 1) {
      auto const [level, last] = mine.back();
      if (last % 2 == 0 || mine[mine.size() - 2] != block_number{level, last - 1}) return;
      mine.pop_back();
      mine.back() = {level + 1, last / 2};
    }
  }
  std::uint32_t block_of_blocks(block_number b) {
    if (auto const known = blocks_.find(b); known != blocks_.end()) return known->second;
    auto const [level, number] = b;
    std::vector<std::uint32_t> to{block_of_blocks({level - 1, 2 * number}),
                                  block_of_blocks({level - 1, 2 * number + 1})};
    return blocks_[b] = add_hub(std::move(to));
  }
  std::vector<std::uint32_t> givers_for_them() const {
    if (scope_ == meeting_scope::elsewhere) return givers_;
    std::vector<std::uint32_t> all;
    for (auto const& [place, _] : waiting_)
      if (auto const at = givers_at_.find(place); at != givers_at_.end())
        all.insert(all.end(), at->second.begin(), at->second.end());
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }
  // Returns the waiters at the places where a node gives, or all waiters.
  bits served_by(std::uint32_t giver, std::span<std::uint32_t const> some) {
    if (scope_ == meeting_scope::elsewhere) return all_of(some);
    bits served = 0;
    for (auto const& g : met_[giver]) {
      auto const here = waiting_.find(g.place);
      if (here == waiting_.end()) continue;
      auto const [known, fresh] = served_by_.try_emplace({g.place, g.role}, 0);
      if (fresh)
        for (auto const& [m, bit] : here->second)
          if (serves(g, m)) known->second |= bit;
      served |= known->second;
    }
    return served;
  }
  // Adds edges to the waiters whose bits are set, by way of the largest possible blocks.
  void cover(std::uint32_t giver, std::span<std::uint32_t const> some, bits served, std::size_t first,
             std::size_t count) {
    if (first >= some.size()) return;
    auto const last = std::min(first + count, some.size());
    auto const mask = (last - first == 64 ? ~bits{0} : (bits{1} << (last - first)) - 1) << first;
    if ((served & mask) == 0) return;
    if ((served & mask) == mask) {
      auto const to = block(some, first, count);  // which may move the edges
      edges(giver).push_back(to);
      return;
    }
    cover(giver, some, served, first, count / 2);
    cover(giver, some, served, first + count / 2, count / 2);
  }
  // Returns a hub with edges to a block of waiters, or the waiter if the block has only one.
  std::uint32_t block(std::span<std::uint32_t const> some, std::size_t first, std::size_t count) {
    if (count == 1 || first + 1 == some.size()) return some[first];
    auto const [known, fresh] = hubs_.try_emplace({first, count}, 0);
    if (!fresh) return known->second;
    std::vector<std::uint32_t> to{block(some, first, count / 2)};
    if (auto const half = first + count / 2; half < some.size()) to.push_back(block(some, half, count / 2));
    return hubs_[{first, count}] = add_hub(std::move(to));
  }
  std::uint32_t add_hub(std::vector<std::uint32_t> to) {
    if (found_.after.size() < after_.size()) found_.after.resize(after_.size());
    found_.after.push_back(std::move(to));
    return static_cast<std::uint32_t>(found_.after.size() - 1);
  }
  std::vector<std::uint32_t>& edges(std::uint32_t giver) {
    if (found_.after.size() < after_.size()) found_.after.resize(after_.size());
    return found_.after[giver];
  }

  meetings const& met_;
  node_edges const& after_;
  meeting_scope scope_;
  std::vector<bits> behind_;
  std::vector<std::uint32_t> waiters_, givers_, order_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> givers_at_;           // by place
  std::map<std::uint32_t, std::vector<std::pair<meeting, bits>>> waiting_;  // of the current 64 waiters, by place
  std::map<std::pair<std::size_t, std::size_t>, std::uint32_t> hubs_;  // of the current 64 waiters, by first and number
  std::map<std::pair<std::uint32_t, rendezvous_kind>, bits> served_by_;  // by place and role
  std::vector<std::vector<block_number>> whole_;  // of each giver, the blocks whose waiters it all serves
  std::size_t known_ = 0;                         // the number of the current 64 until they have a hub
  std::map<block_number, std::uint32_t> blocks_;  // their hubs
  hidden_waits found_;
};

}  // namespace detail

RILL_INLINE hidden_waits find_hidden_waits(subgraph const& sub, meetings const& met, node_edges const& after,
                                           meeting_scope scope) {
  return detail::hidden_waits_search(sub, met, after, scope).run();
}

RILL_INLINE node_edges hidden_waits::gifts(meetings const& met) const {
  auto all = after;
  for (auto i : met.nodes())
    if (!all.empty() && std::none_of(met[i].begin(), met[i].end(), [](meeting const& m) {
          return m.role == rendezvous_kind::gives || m.role == rendezvous_kind::meets ||
                 m.role == rendezvous_kind::unlocks;
        }))
      all[i].clear();
  return all;
}

RILL_INLINE std::vector<std::uint32_t> sequence(node_edges const& after, node_edges const& served,
                                                std::span<std::uint32_t const> keys, step_context const* step) {
  using entry = std::pair<std::uint32_t, std::uint32_t>;  // key, node
  std::priority_queue<entry, std::vector<entry>, std::greater<>> ready, postponed;
  auto const nodes = static_cast<std::uint32_t>(after.size());
  std::vector<std::uint32_t> order, waits(nodes), awaits(std::max(after.size(), served.size())), done;
  std::vector<bool> placed(nodes);
  for (auto const& list : after)
    for (auto n : list) ++waits[n];
  for (auto const& list : served)
    for (auto n : list) ++awaits[n];
  auto const add = [&](std::uint32_t n) { (awaits[n] == 0 ? ready : postponed).emplace(keys[n], n); };
  for (std::uint32_t i = 0; i < nodes; ++i)
    if (waits[i] == 0) add(i);
  while (!ready.empty() || !postponed.empty()) {
    auto& from = ready.empty() ? postponed : ready;
    auto const i = from.top().second;
    from.pop();
    if (placed[i]) continue;
    placed[i] = true;
    if (order.size() % checked_each == 0) check(step);
    order.push_back(i);
    for (auto n : after[i])
      if (--waits[n] == 0) add(n);
    if (served.empty()) continue;
    for (done.assign(1, i); !done.empty();) {
      auto const giver = done.back();
      done.pop_back();
      for (auto n : served[giver]) {
        if (--awaits[n] != 0) continue;
        if (n >= nodes) done.push_back(n);
        else if (waits[n] == 0) add(n);
      }
    }
  }
  return order;
}

RILL_INLINE std::vector<std::uint32_t> cycle_numbers(std::vector<node_edges const*> const& along) {
  return detail::components(along).run();
}

#endif

}  // namespace rill
