// Where the memory of tensors comes from.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>

#include "rill/base/error.hpp"

namespace rill {

/// Buffers start at multiples of this many bytes: a cache line, and the widest vector register.
inline constexpr std::size_t buffer_alignment = 64;

namespace detail {

/// What a buffer of so many bytes takes where others lie behind it.
constexpr std::size_t aligned_bytes(std::size_t bytes) {
  return (bytes + buffer_alignment - 1) / buffer_alignment * buffer_alignment;
}
/// a + b; error(resource_exhausted) rather than a wrapped number.
constexpr std::size_t add_bytes(std::size_t a, std::size_t b) {
  if (b > SIZE_MAX - a) throw error(code::resource_exhausted, "a step needs more bytes than can be counted");
  return a + b;
}

}  // namespace detail

/// What an allocator has given out, in bytes.
struct memory_usage {
  std::int64_t current = 0;  ///< alive now
  std::int64_t peak = 0;     ///< the most that was alive since the start or the last `reset_peak`
  std::int64_t count = 0;    ///< buffers alive now
  std::int64_t total = 0;    ///< buffers ever given out
};

/// The memory of a device; derive from it to lend rill the memory of your program. It counts, so that a test can ask
/// for the peak and for leaks.
class allocator {
 public:
  /// `bytes` (never 0) aligned to `buffer_alignment`; throws error(resource_exhausted).
  void* allocate(std::size_t bytes);
  void deallocate(void* p, std::size_t bytes) noexcept;
  memory_usage usage() const { return {current_.load(), peak_.load(), count_.load(), total_.load()}; }
  void reset_peak() { peak_.store(current_.load()); }
  /// Where a loop keeps what its derivative will read and nobody else does (EuroSys'18 §5.3): this memory, or another
  /// that is larger, as the host's is where this is an accelerator's. It must outlive all tensors too.
  virtual allocator& saved() noexcept { return *this; }

 protected:
  constexpr allocator() = default;
  allocator(allocator const&) = delete;
  allocator& operator=(allocator const&) = delete;
  ~allocator() = default;  // never deleted through this class: its owner outlives every buffer

 private:
  virtual void* acquire(std::size_t bytes) noexcept = 0;
  virtual void release(void*, std::size_t bytes) noexcept = 0;
  std::atomic<std::int64_t> current_{0}, peak_{0}, count_{0}, total_{0};
};

/// Plain aligned memory of the host. The byte before a buffer says how far before it its memory begins: the C library
/// keeps small blocks at hand for whoever asks without an alignment, and takes four times as long for who names one.
class host_memory final : public allocator {
  void* acquire(std::size_t bytes) noexcept override;
  void release(void* p, std::size_t) noexcept override;
};

/// The allocator of tensors that are made without naming one. Nothing is allocated before somebody asks, and nothing
/// needs to be destroyed at the program's end.
inline allocator& host_allocator() {
  static constinit host_memory memory;
  return memory;
}

#if RILL_RUNTIME

RILL_INLINE void* allocator::allocate(std::size_t bytes) try {
  void* p = acquire(bytes);
  if (p == nullptr)
    throw error(code::resource_exhausted, "no memory for a buffer of " + std::to_string(bytes) + " bytes");
  auto const now = current_.fetch_add(static_cast<std::int64_t>(bytes), std::memory_order_relaxed) +
                   static_cast<std::int64_t>(bytes);
  for (auto peak = peak_.load(std::memory_order_relaxed); now > peak && !peak_.compare_exchange_weak(peak, now);) {
  }
  count_.fetch_add(1, std::memory_order_relaxed);
  total_.fetch_add(1, std::memory_order_relaxed);
  return p;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void allocator::deallocate(void* p, std::size_t bytes) noexcept {
  current_.fetch_sub(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
  count_.fetch_sub(1, std::memory_order_relaxed);
  release(p, bytes);
}

RILL_INLINE void* host_memory::acquire(std::size_t bytes) noexcept {
  if (bytes > PTRDIFF_MAX - buffer_alignment) return nullptr;
  auto* const memory = static_cast<std::byte*>(::operator new(bytes + buffer_alignment, std::nothrow));
  if (memory == nullptr) return nullptr;
  auto const before = buffer_alignment - reinterpret_cast<std::uintptr_t>(memory) % buffer_alignment;
  memory[before - 1] = static_cast<std::byte>(before);
  return memory + before;
}

RILL_INLINE void host_memory::release(void* p, std::size_t) noexcept {
  auto* const buffer = static_cast<std::byte*>(p);
  ::operator delete(buffer - static_cast<std::size_t>(buffer[-1]));
}

#endif

}  // namespace rill
