// Allocators of memory for tensors.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "rill/base/error.hpp"
#include "rill/tensor/memory_space.hpp"

namespace rill {

/// The alignment of buffers in bytes: a cache line, and the widest vector register.
inline constexpr std::size_t buffer_alignment = 64;

namespace detail {

/// Rounds a number of bytes up to a multiple of `buffer_alignment`.
constexpr std::size_t aligned_bytes(std::size_t bytes) {
  return (bytes + buffer_alignment - 1) / buffer_alignment * buffer_alignment;
}
/// Returns a + b; throws error(resource_exhausted) on overflow.
constexpr std::size_t add_bytes(std::size_t a, std::size_t b) {
  if (b > SIZE_MAX - a)
    throw error(code::resource_exhausted, "a step needs more bytes of memory than 64 bits can count");
  return a + b;
}

}  // namespace detail

/// The memory that an allocator has handed out, in bytes and buffers.
struct memory_usage {
  std::int64_t current = 0;  ///< bytes in use now
  std::int64_t peak = 0;     ///< the most bytes in use at once since the start or the last `reset_peak`
  std::int64_t count = 0;    ///< buffers in use now
  std::int64_t total = 0;    ///< buffers handed out since the start
};

/// While it lives, what the calling thread allocates is for that node: an allocator that keeps a record says so when
/// there is no room left. The name must outlive it.
class allocation_scope {
 public:
  explicit allocation_scope(std::string_view node) noexcept;
  ~allocation_scope();
  allocation_scope(allocation_scope const&) = delete;
  allocation_scope& operator=(allocation_scope const&) = delete;
  /// Returns the node for which the calling thread allocates; empty: unknown.
  static std::string_view node() noexcept;

 private:
  std::string_view outer_;
};

/// The memory of a device; derive from it to let rill use your program's own memory. An allocator counts what it hands
/// out, so that tests can check peaks and leaks.
class allocator {
 public:
  /// Returns `bytes` bytes (never 0), aligned to `buffer_alignment`; throws error(resource_exhausted).
  void* allocate(std::size_t bytes);
  void deallocate(void* p, std::size_t bytes) noexcept;
  memory_usage usage() const { return {current_.load(), peak_.load(), count_.load(), total_.load()}; }
  void reset_peak() { peak_.store(current_.load()); }
  /// Returns the memory in which a loop saves values that only its derivative reads (EuroSys'18 §5.3): this allocator,
  /// or a larger one, such as the host's memory for an accelerator. The other allocator must also outlive all tensors.
  virtual allocator& saved() noexcept { return *this; }
  /// Returns the memory that its bytes lie in; null: the host's.
  memory_space* space() const noexcept { return space_; }

 protected:
  constexpr allocator() = default;
  /// `space`: the memory that its bytes lie in; null: the host's.
  constexpr explicit allocator(memory_space* space) : space_(space) {}
  allocator(allocator const&) = delete;
  allocator& operator=(allocator const&) = delete;
  ~allocator() = default;  // never deleted through this class: the owner must outlive every buffer

 private:
  virtual void* acquire(std::size_t bytes) noexcept = 0;
  virtual void release(void*, std::size_t bytes) noexcept = 0;
  /// Returns what the error says when `acquire` returned null.
  virtual std::string refusal(std::size_t bytes) const {
    return "no memory for a buffer of " + std::to_string(bytes) + " bytes";
  }
  memory_space* const space_ = nullptr;
  std::atomic<std::int64_t> current_{0}, peak_{0}, count_{0}, total_{0};
};

/// Aligned memory of the host. The byte before a buffer holds the distance to the start of its block: the C library
/// caches small blocks only for unaligned requests, and takes four times as long for aligned ones.
class host_memory final : public allocator {
  void* acquire(std::size_t bytes) noexcept override;
  void release(void* p, std::size_t) noexcept override;
};

/// Returns the default allocator of tensors. It allocates nothing before the first request, and needs no destruction at
/// the program's end.
inline allocator& host_allocator() {
  static constinit host_memory memory;
  return memory;
}

#if RILL_RUNTIME

namespace detail {
inline std::string_view& allocating_node() noexcept {
  static thread_local constinit std::string_view node;
  return node;
}
}  // namespace detail

RILL_INLINE allocation_scope::allocation_scope(std::string_view node) noexcept
    : outer_(std::exchange(detail::allocating_node(), node)) {}
RILL_INLINE allocation_scope::~allocation_scope() { detail::allocating_node() = outer_; }
RILL_INLINE std::string_view allocation_scope::node() noexcept { return detail::allocating_node(); }

RILL_INLINE void* allocator::allocate(std::size_t bytes) try {
  void* p = acquire(bytes);
  if (p == nullptr) throw error(code::resource_exhausted, refusal(bytes));
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
