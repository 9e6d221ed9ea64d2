// Memories other than the host's.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "rill/base/config.hpp"
#include "rill/base/error.hpp"

namespace rill {

/// A memory that host code can't touch, such as a GPU's. Bytes come and go by its copies, which return when the bytes
/// are there. It must outlive all tensors in it.
class memory_space {
 public:
  /// Returns what errors call it: the name of its device.
  virtual std::string_view name() const noexcept = 0;
  /// Copies bytes from the host's memory to this one.
  virtual void write(void* to, void const* from, std::size_t bytes) = 0;
  /// Copies bytes from this memory to the host's.
  virtual void read(void* to, void const* from, std::size_t bytes) = 0;
  /// Copies bytes within this memory; the ranges don't overlap.
  virtual void copy(void* to, void const* from, std::size_t bytes) = 0;
  /// Whether `copy_from(other, …)` copies without passing through the host's memory.
  virtual bool is_peer(memory_space const& /*other*/) const noexcept { return false; }
  /// Copies bytes from another device's memory to this one. By default they pass through the host's memory.
  virtual void copy_from(memory_space& from_space, void* to, void const* from, std::size_t bytes);

 protected:
  memory_space() = default;
  memory_space(memory_space const&) = delete;
  memory_space& operator=(memory_space const&) = delete;
  ~memory_space() = default;  // never deleted through this class
};

/// The host's memory, as the place to which tensors are copied: `t.to(rill::host)`.
struct host_memory_tag {};
/// The host's memory: `t.to(rill::host)`.
inline constexpr host_memory_tag host;

/// Copies bytes from one memory to another, and returns when they are there; null: the host's memory. This is the one
/// copy between tensors.
void copy_bytes(memory_space* to_space, void* to, memory_space* from_space, void const* from, std::size_t bytes);

namespace detail {

/// Memory that is emulated hands out addresses with this bit set: no such address is valid, so a thread that touches
/// one ends the program. (AArch64 ignores the eight bits above it.)
inline constexpr std::uintptr_t untouchable = std::uintptr_t{1} << 55;

/// Emulated memory that a thread may touch, as valid addresses.
struct touchable_range {
  std::uintptr_t begin = 0, end = 0;
};
/// Lets the calling thread touch a range, the memory of the device whose kernels it runs, and no other. Returns the
/// range before.
touchable_range touch(touchable_range range) noexcept;
/// Returns the valid address for an untouchable one in the calling thread's range, or else p.
void* reached_in_range(void* p) noexcept;

/// Returns the address at which the calling thread reaches p. Addresses of other devices stay untouchable.
inline void* reached(void* p) noexcept {
  if ((reinterpret_cast<std::uintptr_t>(p) & untouchable) == 0) [[likely]]
    return p;
  return reached_in_range(p);
}
inline void const* reached(void const* p) noexcept { return reached(const_cast<void*>(p)); }

/// While it lives, the calling thread touches no emulated memory: a device's thread that works for the host.
class touches_nothing {
 public:
  touches_nothing() noexcept : before_(touch({})) {}
  touches_nothing(touches_nothing const&) = delete;
  touches_nothing& operator=(touches_nothing const&) = delete;
  ~touches_nothing() { touch(before_); }

 private:
  touchable_range before_;
};

}  // namespace detail

#if RILL_RUNTIME

namespace detail {

inline touchable_range& range_of_thread() noexcept {
  static thread_local constinit touchable_range range;
  return range;
}
RILL_INLINE touchable_range touch(touchable_range range) noexcept { return std::exchange(range_of_thread(), range); }
RILL_INLINE void* reached_in_range(void* p) noexcept {
  auto const valid = reinterpret_cast<std::uintptr_t>(p) & ~untouchable;
  auto const& mine = range_of_thread();
  return valid >= mine.begin && valid < mine.end ? reinterpret_cast<void*>(valid) : p;
}

}  // namespace detail

RILL_INLINE void memory_space::copy_from(memory_space& from_space, void* to, void const* from, std::size_t bytes) {
  auto const between = std::make_unique<std::byte[]>(bytes);
  from_space.read(between.get(), from, bytes);
  write(to, between.get(), bytes);
}

RILL_INLINE void copy_bytes(memory_space* to_space, void* to, memory_space* from_space, void const* from,
                            std::size_t bytes) try {
  if (bytes == 0) return;
  if (auto* const there = detail::reached(to); there != to) to_space = nullptr, to = there;
  if (auto const* const there = detail::reached(from); there != from) from_space = nullptr, from = there;
  if (!to_space && !from_space) std::memcpy(to, from, bytes);
  else if (!from_space) to_space->write(to, from, bytes);
  else if (!to_space) from_space->read(to, from, bytes);
  else if (to_space == from_space) to_space->copy(to, from, bytes);
  else to_space->copy_from(*from_space, to, from, bytes);
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill
