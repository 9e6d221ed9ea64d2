// A topological order that is kept up while edges are added: Pearce and Kelly, "A dynamic topological sort algorithm
// for directed acyclic graphs" (2006).
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "rill/base/config.hpp"

namespace rill {

/// The edges among nodes, and a position for each node, larger than the positions of its predecessors.
class growing_order {
 public:
  /// Begins without edges.
  explicit growing_order(std::size_t nodes) : after_(nodes), before_(nodes), position_(nodes), mark_(nodes) {}
  /// Adds an edge without a check; before `number_nodes`, or where the positions already agree with it.
  void put(std::uint32_t before, std::uint32_t after) {
    after_[before].push_back(after);
    before_[after].push_back(before);
  }
  /// Gives all nodes positions: their numbers, if no edge leads backwards. Returns false if the edges have a cycle.
  bool number_nodes();

  /// Adds an edge from each node of `before` to `after`, except where that would close a cycle. Returns whether all
  /// were added.
  bool add(std::span<std::uint32_t const> before, std::uint32_t after);
  bool add(std::uint32_t before, std::uint32_t after) { return add(std::span(&before, 1), after); }
  /// Whether a path leads from one node to another.
  bool reaches(std::uint32_t from, std::uint32_t to) {
    if (from == to || position_[to] < position_[from]) return false;
    for_each_after(from, position_[to], [](std::uint32_t) { return true; });
    return was_met(to);
  }

  std::vector<std::uint32_t> const& after(std::uint32_t node) const { return after_[node]; }
  std::vector<std::uint32_t> const& before(std::uint32_t node) const { return before_[node]; }
  std::vector<std::vector<std::uint32_t>> const& all() const { return after_; }
  std::uint32_t position(std::uint32_t node) const { return position_[node]; }
  std::vector<std::vector<std::uint32_t>> take_edges() && { return std::move(after_); }

  /// Calls `found` once for each successor of `from`, direct or not, up to position `last`. The search does not go
  /// beyond a node for which `found` returns false.
  template <class Found> void for_each_after(std::uint32_t from, std::uint32_t last, Found const& found) {
    search(from, after_, [&](std::uint32_t n) { return position_[n] <= last && found(n); });
  }
  /// Does the same for the predecessors, down to position `first`.
  template <class Found> void for_each_before(std::uint32_t from, std::uint32_t first, Found const& found) {
    search(from, before_, [&](std::uint32_t n) { return position_[n] >= first && found(n); });
  }
  /// Whether the last search met a node.
  bool was_met(std::uint32_t node) const { return mark_[node] == marks_; }

 private:
  using edges = std::vector<std::vector<std::uint32_t>>;

  template <class Enter> void search(std::uint32_t from, edges const& along, Enter const& enter) {
    ++marks_;
    go_on(from, along, enter);
  }
  // Continues the last search from one more node.
  template <class Enter> void go_on(std::uint32_t from, edges const& along, Enter const& enter) {
    todo_.assign(1, from);
    while (!todo_.empty()) {
      auto const i = todo_.back();
      todo_.pop_back();
      for (auto n : along[i])
        if (std::exchange(mark_[n], marks_) != marks_ && enter(n)) todo_.push_back(n);
    }
  }
  void reorder(std::span<std::uint32_t const> before, std::uint32_t after, std::uint32_t last);

  edges after_, before_;
  std::vector<std::uint32_t> position_;
  std::vector<std::uint32_t> mark_;  // of each node the number of the last search that met it
  std::vector<std::uint32_t> todo_;
  std::uint32_t marks_ = 0;  // the number of the last search
};

#if RILL_RUNTIME
RILL_INLINE bool growing_order::number_nodes() {
  auto const count = static_cast<std::uint32_t>(after_.size());
  bool in_order = true;
  for (std::uint32_t i = 0; i < count; ++i) {
    position_[i] = i;
    in_order = in_order && std::all_of(after_[i].begin(), after_[i].end(), [&](auto n) { return n > i; });
  }
  if (in_order) return true;
  std::vector<std::uint32_t> waits(count), ready;
  for (std::uint32_t i = 0; i < count; ++i)
    if ((waits[i] = static_cast<std::uint32_t>(before_[i].size())) == 0) ready.push_back(i);
  for (std::uint32_t at = 0; at < ready.size(); ++at) {
    position_[ready[at]] = at;
    for (auto n : after_[ready[at]])
      if (--waits[n] == 0) ready.push_back(n);
  }
  return ready.size() == count;
}

RILL_INLINE bool growing_order::add(std::span<std::uint32_t const> before, std::uint32_t after) {
  auto last = position_[after];
  for (auto b : before) last = std::max(last, position_[b]);
  bool const searched = last > position_[after];
  if (searched) for_each_after(after, last, [](std::uint32_t) { return true; });
  std::vector<std::uint32_t> fresh, later;
  for (auto b : before) {
    if (b == after || (searched && was_met(b))) continue;
    fresh.push_back(b);
    if (position_[b] > position_[after]) later.push_back(b);
  }
  if (!later.empty()) reorder(later, after, last);
  for (auto b : fresh) put(b, after);
  return fresh.size() == before.size();
}

// Moves the successors of `after` behind the predecessors of `before`; together they keep the positions that they had.
RILL_INLINE void growing_order::reorder(std::span<std::uint32_t const> before, std::uint32_t after,
                                        std::uint32_t last) {
  std::vector<std::uint32_t> moved, behind{after}, places;
  for_each_after(after, last, [&](std::uint32_t n) { return behind.push_back(n), true; });
  ++marks_;
  auto const take = [&](std::uint32_t n) { return position_[n] > position_[after] && (moved.push_back(n), true); };
  for (auto b : before)
    if (std::exchange(mark_[b], marks_) != marks_) take(b), go_on(b, before_, take);
  auto const by_position = [&](auto a, auto b) { return position_[a] < position_[b]; };
  std::sort(moved.begin(), moved.end(), by_position);
  std::sort(behind.begin(), behind.end(), by_position);
  moved.insert(moved.end(), behind.begin(), behind.end());
  for (auto n : moved) places.push_back(position_[n]);
  std::sort(places.begin(), places.end());
  for (std::size_t i = 0; i < moved.size(); ++i) position_[moved[i]] = places[i];
}
#endif

}  // namespace rill
