// Lays out an arena: gives each value of a step an offset, so that a step allocates nothing.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rill/base/config.hpp"
#include "rill/run/plan/arrivals.hpp"
#include "rill/run/plan/costs.hpp"
#include "rill/tensor/allocator.hpp"

namespace rill {

/// A block of memory in use from instruction `first` to instruction `last`, both included.
struct memory_block {
  std::size_t bytes = 0;
  plan_ids::instruction_id first = {}, last = {};
  std::size_t offset = 0;
};

/// Gives each block an offset so that blocks alive at the same time don't overlap. Returns the size of the arena in
/// bytes. Places the largest blocks first; with more than `costs::many_blocks` blocks, in the order of the step.
std::size_t plan_memory(std::vector<memory_block>& blocks);

#if RILL_RUNTIME
namespace detail {

inline std::size_t aligned_bytes(memory_block const& b) { return aligned_bytes(b.bytes); }

// Places the largest blocks first, each at the lowest offset that is free for its whole life: tight, but quadratic.
// `together(a, b)` returns whether two blocks may be alive at the same time.
template <class Together> std::size_t place_by_size(std::vector<memory_block>& blocks, Together const& together) {
  std::vector<std::uint32_t> order(blocks.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](auto a, auto b) {
    return blocks[a].bytes != blocks[b].bytes ? blocks[a].bytes > blocks[b].bytes : a < b;
  });
  std::size_t size = 0;
  std::vector<std::uint32_t> placed;  // by offset
  for (auto b : order) {
    auto& block = blocks[b];
    auto const bytes = aligned_bytes(block);
    std::size_t at = 0, end = bytes;
    for (auto o : placed) {
      auto const& other = blocks[o];
      if (other.offset >= end) break;
      if (!together(o, b)) continue;
      at = std::max(at, other.offset + aligned_bytes(other));
      end = add_bytes(at, bytes);
    }
    block.offset = at;
    size = std::max(size, end);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), b,
                                   [&](auto x, auto y) { return blocks[x].offset < blocks[y].offset; }),
                  b);
  }
  return size;
}

// Places blocks in the order of the step, each in the smallest gap that is large enough: n log n.
inline std::size_t place_by_time(std::vector<memory_block>& blocks) {
  std::vector<std::uint32_t> begins(blocks.size());
  for (std::uint32_t i = 0; i < begins.size(); ++i) begins[i] = i;
  auto ends = begins;
  std::sort(begins.begin(), begins.end(),
            [&](auto a, auto b) { return std::pair(blocks[a].first, a) < std::pair(blocks[b].first, b); });
  std::sort(ends.begin(), ends.end(),
            [&](auto a, auto b) { return std::pair(blocks[a].last, a) < std::pair(blocks[b].last, b); });
  std::map<std::size_t, std::size_t> gaps;              // offset -> bytes
  std::set<std::pair<std::size_t, std::size_t>> sizes;  // bytes, offset
  auto const open = [&](std::size_t offset, std::size_t bytes) {
    gaps.emplace(offset, bytes), sizes.emplace(bytes, offset);
  };
  auto const close = [&](std::map<std::size_t, std::size_t>::iterator g) {
    sizes.erase({g->second, g->first}), gaps.erase(g);
  };
  auto const release = [&](memory_block const& b) {
    auto offset = b.offset, bytes = aligned_bytes(b);
    if (bytes == 0) return;
    if (auto next = gaps.find(offset + bytes); next != gaps.end()) bytes += next->second, close(next);
    if (auto next = gaps.lower_bound(offset); next != gaps.begin())
      if (auto before = std::prev(next); before->first + before->second == offset)
        offset = before->first, bytes += before->second, close(before);
    open(offset, bytes);
  };
  std::size_t size = 0;
  auto ended = ends.begin();
  for (auto b : begins) {
    auto& block = blocks[b];
    for (; ended != ends.end() && blocks[*ended].last < block.first; ++ended) release(blocks[*ended]);
    auto const bytes = aligned_bytes(block);
    if (auto const fit = sizes.lower_bound({bytes, 0}); fit != sizes.end()) {
      auto const [room, offset] = *fit;
      close(gaps.find(offset));
      block.offset = offset;
      if (room > bytes) open(offset + bytes, room - bytes);
    } else {
      block.offset = size;
      size = add_bytes(size, bytes);
    }
  }
  return size;
}

/// The free stretches of an arena, each with the set of waits after which it is free.
class free_stretches {
 public:
  explicit free_stretches(arrivals const& all) : all_(all) {}

  void add(std::size_t offset, std::size_t bytes, arrivals::set from) {
    if (bytes == 0) return;
    if (auto const next = stretches_.find(offset + bytes); next != stretches_.end() && next->second.from == from)
      bytes += next->second.bytes, remove(next);
    if (auto const next = stretches_.lower_bound(offset); next != stretches_.begin())
      if (auto const before = std::prev(next);
          before->first + before->second.bytes == offset && before->second.from == from)
        offset = before->first, bytes += before->second.bytes, remove(before);
    stretches_.emplace(offset, stretch{bytes, from});
    auto& sizes = by_set_[from];
    if (sizes.empty()) recent_.push_back(from);
    sizes.emplace(bytes, offset);
  }
  /// Takes bytes that are free when the waits in `when` are over: from the smallest stretch that is large enough, or
  /// from the end of the arena, which grows. Returns their offset.
  std::size_t take(std::size_t bytes, arrivals::set when, std::size_t& end) {
    auto best = stretches_.end();
    std::size_t tried = 0;
    for (auto i = recent_.size(); i-- > 0 && tried < costs::most_sets_tried;) {
      auto const& sizes = by_set_[recent_[i]];
      if (sizes.empty()) {
        recent_.erase(recent_.begin() + static_cast<std::ptrdiff_t>(i));
        continue;
      }
      ++tried;
      if (!all_.within(recent_[i], when)) continue;
      auto const fit = sizes.lower_bound({bytes, 0});
      if (fit != sizes.end() && (best == stretches_.end() || fit->first < best->second.bytes))
        best = stretches_.find(fit->second);
    }
    if (best == stretches_.end() && !stretches_.empty()) {
      auto const last = std::prev(stretches_.end());
      if (last->first + last->second.bytes == end && all_.within(last->second.from, when)) best = last;
    }
    if (best == stretches_.end()) return std::exchange(end, add_bytes(end, bytes));
    auto const offset = best->first;
    auto const [room, from] = best->second;
    remove(best);
    if (room > bytes) add(offset + bytes, room - bytes, from);
    else end = std::max(end, add_bytes(offset, bytes));
    return offset;
  }

 private:
  struct stretch {
    std::size_t bytes;
    arrivals::set from;
  };
  void remove(std::map<std::size_t, stretch>::iterator s) {
    by_set_[s->second.from].erase({s->second.bytes, s->first});
    stretches_.erase(s);
  }

  arrivals const& all_;
  std::map<std::size_t, stretch> stretches_;                                                 // by offset
  std::unordered_map<arrivals::set, std::set<std::pair<std::size_t, std::size_t>>> by_set_;  // bytes, offset
  std::vector<arrivals::set> recent_;  // the sets that have or had stretches, the most recent last
};

// Places blocks in the order of the step where instructions wait: memory is free again when the waits of all its users
// are over.
inline std::size_t place_by_arrival(std::vector<memory_block>& blocks, std::vector<arrivals::set> const& ends,
                                    arrivals const& all) {
  std::vector<std::uint32_t> begins(blocks.size());
  for (std::uint32_t i = 0; i < begins.size(); ++i) begins[i] = i;
  auto ended = begins;
  std::sort(begins.begin(), begins.end(),
            [&](auto a, auto b) { return std::pair(blocks[a].first, a) < std::pair(blocks[b].first, b); });
  std::sort(ended.begin(), ended.end(),
            [&](auto a, auto b) { return std::pair(blocks[a].last, a) < std::pair(blocks[b].last, b); });
  free_stretches free(all);
  std::size_t size = 0;
  auto next = ended.begin();
  for (auto b : begins) {
    auto& block = blocks[b];
    for (; next != ended.end() && blocks[*next].last < block.first; ++next)
      if (ends[*next] != arrivals::unknown) free.add(blocks[*next].offset, aligned_bytes(blocks[*next]), ends[*next]);
    block.offset = free.take(aligned_bytes(block), all.before_begin(block.first), size);
  }
  return size;
}

}  // namespace detail

/// Lays out an arena where instructions may run later than in the plan's order, because they wait. `ends` has for each
/// block the set of waits that are over when it is not used any more.
inline std::size_t plan_memory(std::vector<memory_block>& blocks, std::vector<arrivals::set> const& ends,
                               arrivals const& all) {
  if (blocks.size() > costs::many_blocks) return detail::place_by_arrival(blocks, ends, all);
  auto const done_before = [&](auto a, auto b) {
    return blocks[a].last < blocks[b].first && all.within(ends[a], all.before_begin(blocks[b].first));
  };
  return detail::place_by_size(blocks, [&](auto a, auto b) { return !done_before(a, b) && !done_before(b, a); });
}

RILL_INLINE std::size_t plan_memory(std::vector<memory_block>& blocks) {
  if (blocks.size() > costs::many_blocks) return detail::place_by_time(blocks);
  return detail::place_by_size(
      blocks, [&](auto a, auto b) { return blocks[a].first <= blocks[b].last && blocks[b].first <= blocks[a].last; });
}
#endif

}  // namespace rill
