// The memory plan: where in one arena each value of a step lies, so that a step allocates nothing.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
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

/// Gives every block an offset so that blocks alive at the same time don't overlap; returns the arena's size. Large
/// blocks first, each at the lowest place that is free for its whole life.
std::size_t plan_memory(std::vector<memory_block>& blocks);

#if RILL_RUNTIME
RILL_INLINE std::size_t plan_memory(std::vector<memory_block>& blocks) {
  std::vector<std::uint32_t> order(blocks.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](auto a, auto b) {
    return blocks[a].bytes != blocks[b].bytes ? blocks[a].bytes > blocks[b].bytes : a < b;
  });
  constexpr std::uint32_t span = 256;  // instructions a bucket: who lives at the same time is found by neighbourhood
  std::map<std::uint32_t, std::vector<std::uint32_t>> placed;  // bucket -> blocks that live in it
  std::size_t size = 0;
  std::vector<std::pair<std::size_t, std::size_t>> taken;
  for (auto b : order) {
    auto& block = blocks[b];
    auto const bytes = (block.bytes + buffer_alignment - 1) / buffer_alignment * buffer_alignment;
    taken.clear();
    for (auto bucket = block.first / span; bucket <= block.last / span; ++bucket)
      for (auto other : placed[bucket])
        if (blocks[other].first <= block.last && block.first <= blocks[other].last)
          taken.emplace_back(blocks[other].offset, blocks[other].offset + (blocks[other].bytes + buffer_alignment - 1) /
                                                                              buffer_alignment * buffer_alignment);
    std::sort(taken.begin(), taken.end());
    std::size_t at = 0;
    for (auto const& [from, to] : taken) {
      if (from >= at + bytes) break;
      at = std::max(at, to);
    }
    block.offset = at;
    size = std::max(size, at + bytes);
    for (auto bucket = block.first / span; bucket <= block.last / span; ++bucket) placed[bucket].push_back(b);
  }
  return size;
}
#endif

}  // namespace rill
