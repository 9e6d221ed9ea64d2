// Room in a stretch of memory that is never touched: who has which bytes of it.
#pragma once
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/tensor/allocator.hpp"

namespace rill {

/// Hands out ranges of a stretch of bytes: the smallest free range that is large enough (best fit). Neighbours that are
/// free become one range, so what is free is in as few ranges as can be. Not for several threads at a time.
class range_pool {
 public:
  /// A range that was taken.
  struct taken_range {
    std::size_t offset, bytes;
    std::string node;  ///< for which it was taken; empty: unknown
  };

  explicit range_pool(std::size_t bytes) : bytes_(bytes) {
    if (bytes != 0) ranges_.emplace(0, range{bytes}), free_.emplace(bytes, 0);
  }

  /// Takes `bytes` bytes, rounded up to `buffer_alignment`, and returns their offset; nothing if no free range is large
  /// enough. Throws std::bad_alloc if the host has no memory to remember it by.
  std::optional<std::size_t> take(std::size_t bytes, std::string_view node = {});
  /// Gives back what was taken at an offset.
  void give_back(std::size_t offset) noexcept;

  std::size_t bytes() const noexcept { return bytes_; }
  std::size_t free_bytes() const noexcept { return bytes_ - taken_; }
  /// Returns the bytes of the largest free range: no more can be taken at once.
  std::size_t largest_free() const noexcept { return free_.empty() ? 0 : free_.rbegin()->first; }
  /// Returns which part of what is free lies outside of the largest free range: 0 for one range, nearly 1 for many.
  double fragmentation() const noexcept {
    return free_bytes() == 0 ? 0 : 1 - static_cast<double>(largest_free()) / static_cast<double>(free_bytes());
  }
  /// Returns the largest ranges that are taken, at most `most` of them, the largest first.
  std::vector<taken_range> largest_taken(std::size_t most) const;

 private:
  using by_size = std::set<std::pair<std::size_t, std::size_t>>;  // bytes and offset
  struct range {
    std::size_t bytes;
    by_size::node_type entry = {};  // of a taken range, kept so that it can be given back without memory
    std::string node = {};
    bool taken = false;
  };
  using by_offset = std::map<std::size_t, range>;

  std::size_t bytes_, taken_ = 0;
  by_offset ranges_;
  by_size free_;
};

#if RILL_RUNTIME

RILL_INLINE std::optional<std::size_t> range_pool::take(std::size_t bytes, std::string_view node) {
  if (bytes > bytes_) return std::nullopt;
  bytes = std::max(detail::aligned_bytes(bytes), buffer_alignment);
  auto const found = free_.lower_bound({bytes, 0});
  if (found == free_.end()) return std::nullopt;
  auto const at = ranges_.find(found->second);
  std::string name(node);
  if (auto const rest = at->second.bytes - bytes; rest != 0) {
    auto const behind = ranges_.emplace(at->first + bytes, range{rest}).first;
    try {
      free_.emplace(rest, behind->first);
    } catch (...) {
      ranges_.erase(behind);
      throw;
    }
  }
  auto& r = at->second;
  r.entry = free_.extract(found);
  r.bytes = bytes;
  r.node = std::move(name);
  r.taken = true;
  taken_ += bytes;
  return at->first;
}

RILL_INLINE void range_pool::give_back(std::size_t offset) noexcept {
  auto at = ranges_.find(offset);
  taken_ -= at->second.bytes;
  at->second.taken = false;
  at->second.node.clear();
  if (auto const behind = std::next(at); behind != ranges_.end() && !behind->second.taken) {
    free_.erase({behind->second.bytes, behind->first});
    at->second.bytes += behind->second.bytes;
    ranges_.erase(behind);
  }
  if (at != ranges_.begin())
    if (auto const before = std::prev(at); !before->second.taken) {
      free_.erase({before->second.bytes, before->first});
      before->second.bytes += at->second.bytes;
      before->second.entry = std::move(at->second.entry);
      ranges_.erase(at);
      at = before;
    }
  auto entry = std::move(at->second.entry);
  entry.value() = {at->second.bytes, at->first};
  free_.insert(std::move(entry));
}

RILL_INLINE std::vector<range_pool::taken_range> range_pool::largest_taken(std::size_t most) const {
  std::vector<taken_range> all;
  for (auto const& [offset, r] : ranges_)
    if (r.taken) all.push_back({offset, r.bytes, r.node});
  auto const shown = std::min(most, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(shown), all.end(),
                    [](auto const& a, auto const& b) { return a.bytes > b.bytes; });
  all.resize(shown);
  return all;
}

#endif

}  // namespace rill
