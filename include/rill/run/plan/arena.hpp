// The memory plan: where in one arena each value of a step lies, so that a step allocates nothing.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "rill/base/config.hpp"
#include "rill/tensor/allocator.hpp"

namespace rill {

/// A stretch of memory that is in use from instruction `first` to instruction `last`, both included.
struct memory_block {
  std::size_t bytes = 0;
  std::uint32_t first = 0, last = 0;
  std::size_t offset = 0;
};

/// Gives every block an offset so that blocks alive at the same time don't overlap; returns the arena's size. By size
/// and life time, tightly; plans of thousands of blocks in the order of the step.
std::size_t plan_memory(std::vector<memory_block>& blocks);

#if RILL_RUNTIME
namespace detail {

inline std::size_t aligned_bytes(memory_block const& b) { return aligned_bytes(b.bytes); }

// Large blocks first, each at the lowest place that is free for its whole life: tight, but quadratic. `together(a, b)`
// tells which blocks may be alive at the same time.
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

// In the order of the step, each block in the smallest gap that holds it: for plans of many thousands of blocks.
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

}  // namespace detail

RILL_INLINE std::size_t plan_memory(std::vector<memory_block>& blocks) {
  constexpr std::size_t many = 3000;
  if (blocks.size() > many) return detail::place_by_time(blocks);
  return detail::place_by_size(
      blocks, [&](auto a, auto b) { return blocks[a].first <= blocks[b].last && blocks[b].first <= blocks[a].last; });
}
#endif

}  // namespace rill
