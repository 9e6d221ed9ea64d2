// The memory of a device as an allocator with a limit.
#pragma once
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "rill/tensor/allocator.hpp"
#include "rill/tensor/range_pool.hpp"

namespace rill {

/// Hands out a stretch of memory from `base` on, which it never touches. When no room is left, its error lists the
/// largest tensors that live in it, and the nodes that they were made for.
class pooled_memory final : public allocator {
 public:
  /// `space`: the memory that the bytes lie in, null: the host's.
  pooled_memory(void* base, std::size_t bytes, memory_space* space) : allocator(space), base_(base), pool_(bytes) {}

  std::size_t limit() const noexcept { return pool_.bytes(); }
  /// What of the memory is free, in how large a range, and how scattered it is.
  struct free_room {
    std::size_t bytes, largest;
    double fragmentation;  ///< see range_pool::fragmentation
  };
  free_room free() const;
  /// Returns the largest tensors that live in it, at most `most`, the largest first.
  std::vector<range_pool::taken_range> largest(std::size_t most) const;
  /// Lets the n-th request from now on fail, 1 the next, as if no room were left; 0: none.
  void fail_at(std::uint64_t n);
  /// Is called with each range that is given back, for memory that is to be overwritten.
  using on_release = void (*)(void* p, std::size_t bytes) noexcept;
  void set_on_release(on_release f) noexcept { released_ = f; }

 private:
  void* acquire(std::size_t bytes) noexcept override;
  void release(void* p, std::size_t bytes) noexcept override;
  std::string refusal(std::size_t bytes) const override;

  void* base_;
  on_release released_ = nullptr;
  mutable std::mutex mutex_;
  range_pool pool_;
  std::uint64_t fails_at_ = 0;
};

#if RILL_RUNTIME

RILL_INLINE pooled_memory::free_room pooled_memory::free() const {
  std::lock_guard lock(mutex_);
  return {pool_.free_bytes(), pool_.largest_free(), pool_.fragmentation()};
}
RILL_INLINE std::vector<range_pool::taken_range> pooled_memory::largest(std::size_t most) const {
  std::lock_guard lock(mutex_);
  return pool_.largest_taken(most);
}
RILL_INLINE void pooled_memory::fail_at(std::uint64_t n) {
  std::lock_guard lock(mutex_);
  fails_at_ = n;
}

RILL_INLINE void* pooled_memory::acquire(std::size_t bytes) noexcept try {
  std::lock_guard lock(mutex_);
  if (fails_at_ != 0 && --fails_at_ == 0) return nullptr;
  auto const at = pool_.take(bytes, allocation_scope::node());
  return at ? static_cast<std::byte*>(base_) + *at : nullptr;
} catch (std::bad_alloc const&) {
  return nullptr;
}

RILL_INLINE void pooled_memory::release(void* p, std::size_t bytes) noexcept {
  if (released_) released_(p, bytes);
  std::lock_guard lock(mutex_);
  pool_.give_back(static_cast<std::size_t>(static_cast<std::byte*>(p) - static_cast<std::byte*>(base_)));
}

RILL_INLINE std::string pooled_memory::refusal(std::size_t bytes) const {
  std::lock_guard lock(mutex_);
  auto text = "no room for a buffer of " + std::to_string(bytes) + " bytes in the memory of '" +
              (space() ? std::string(space()->name()) : "the host") + "': " + std::to_string(pool_.free_bytes()) +
              " of " + std::to_string(pool_.bytes()) + " bytes are free, the largest range has " +
              std::to_string(pool_.largest_free());
  auto const most = pool_.largest_taken(5);
  for (std::size_t i = 0; i < most.size(); ++i)
    text += (i == 0 ? "; the largest tensors are " : ", ") +
            (most[i].node.empty() ? "one" : "that of '" + most[i].node + "'") + " with " +
            std::to_string(most[i].bytes) + " bytes";
  return text;
}

#endif

}  // namespace rill
