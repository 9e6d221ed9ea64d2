// Page-locked memory of the host, which a GPU reads and writes without the driver's help.
#pragma once
#include <cstddef>
#include <functional>
#include <list>
#include <mutex>
#include <string>

#include "rill/cuda/card.hpp"
#include "rill/tensor/allocator.hpp"
#include "rill/tensor/range_pool.hpp"

namespace rill::cuda {

/// Page-locked memory. To lock pages takes 0.4 ms a MiB, so it asks the driver for large blocks, and keeps them.
class page_locked_memory final : public allocator {
 public:
  explicit page_locked_memory(card const& on) : on_(on) {}

  /// Returns the bytes of its blocks, in use or not.
  std::size_t locked() const;
  /// Gives blocks that no tensor uses back to the driver.
  void trim();

 private:
  struct block {
    card const& on;
    range_pool ranges;
    void* begin = nullptr;

    block(card const& c, std::size_t bytes);
    block(block const&) = delete;
    block& operator=(block const&) = delete;
    ~block();
    std::byte* at(std::size_t offset) const { return static_cast<std::byte*>(begin) + offset; }
    bool holds(std::byte const* p) const { return !std::less<>()(p, at(0)) && std::less<>()(p, at(ranges.bytes())); }
  };

  void* acquire(std::size_t bytes) noexcept override;
  void release(void* p, std::size_t bytes) noexcept override;
  std::string refusal(std::size_t bytes) const override;

  card const& on_;
  mutable std::mutex mutex_;
  std::list<block> blocks_;
};

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <algorithm>
#include <cstdint>
#include <new>

namespace rill::cuda {

// Without memory there is no address.
RILL_CUDA_INLINE page_locked_memory::block::block(card const& c, std::size_t bytes) : on(c), ranges(bytes) {
  auto const result = on.within([&] { return on.driver().call().allocate_host(&begin, bytes, host_portable); });
  if (result != status::success) begin = nullptr;
}
RILL_CUDA_INLINE page_locked_memory::block::~block() {
  if (begin) on.within([&] { return on.driver().call().deallocate_host(begin); });
}

RILL_CUDA_INLINE std::size_t page_locked_memory::locked() const {
  std::lock_guard const lock(mutex_);
  std::size_t sum = 0;
  for (auto const& b : blocks_) sum += b.ranges.bytes();
  return sum;
}

RILL_CUDA_INLINE void page_locked_memory::trim() {
  std::lock_guard const lock(mutex_);
  blocks_.remove_if([](block const& b) { return b.ranges.free_bytes() == b.ranges.bytes(); });
}

RILL_CUDA_INLINE void* page_locked_memory::acquire(std::size_t bytes) noexcept try {
  if (on_.is_of_parent() || bytes > PTRDIFF_MAX) return nullptr;
  constexpr std::size_t usual = std::size_t{16} << 20;
  std::lock_guard const lock(mutex_);
  for (auto& b : blocks_)
    if (auto const offset = b.ranges.take(bytes, allocation_scope::node())) return b.at(*offset);
  auto& made = blocks_.emplace_back(on_, std::max(usual, rill::detail::aligned_bytes(bytes)));
  if (made.begin) return made.at(made.ranges.take(bytes, allocation_scope::node()).value());
  blocks_.pop_back();
  return nullptr;
} catch (std::bad_alloc const&) {
  return nullptr;
}

RILL_CUDA_INLINE void page_locked_memory::release(void* p, std::size_t) noexcept {
  auto const* const at = static_cast<std::byte*>(p);
  std::lock_guard const lock(mutex_);
  for (auto& b : blocks_)
    if (b.holds(at)) return b.ranges.give_back(static_cast<std::size_t>(at - b.at(0)));
}

RILL_CUDA_INLINE std::string page_locked_memory::refusal(std::size_t bytes) const {
  on_.expect_own_process();
  return "no page-locked memory for a buffer of " + std::to_string(bytes) + " bytes; " + std::to_string(locked()) +
         " bytes are locked already (ulimit -l may limit them)";
}

}  // namespace rill::cuda
#endif
