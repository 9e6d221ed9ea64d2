// Copies of the host's ordinary memory to a GPU. The GPU can only read page-locked memory, so they pass through some.
#pragma once
#include <cstddef>
#include <mutex>

#include "rill/cuda/card.hpp"

namespace rill::cuda {

/// A pair of page-locked buffers: the host fills one while the GPU reads the other. They are made when they are first
/// needed.
class staging {
 public:
  explicit staging(card const& on) : on_(on), read_{event_owner(on), event_owner(on)} {}
  staging(staging const&) = delete;
  staging& operator=(staging const&) = delete;
  ~staging();

  /// Whether a copy is better made by `write`: it is large, and the memory is not page-locked. The card's context must
  /// be current.
  bool takes(void const* from, std::size_t bytes) const;
  /// Puts copies to the GPU on a stream, and returns when `from` has been read. Returns false, and does nothing, if
  /// there is no page-locked memory. The card's context must be current.
  bool write(void* to, void const* from, std::size_t bytes, stream_handle on);

 private:
  bool prepare();

  card const& on_;
  std::mutex mutex_;  // guards the buffers
  std::byte* buffers_ = nullptr;
  event_owner read_[2];  // when the GPU has read each
};

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <algorithm>
#include <bit>
#include <cstring>

namespace rill::cuda {

namespace detail {
// The bytes of a buffer: at 10 GB/s the host fills it in 0.1 ms, many times what it takes to put a copy on a stream.
inline constexpr std::size_t staged_at_once = std::size_t{1} << 20;
// The driver copies up to 64 KiB aside itself, and returns without waiting for the stream (CUDA C++ Programming Guide,
// "Asynchronous Concurrent Execution").
inline constexpr std::size_t least_staged = std::size_t{64} << 10;
}  // namespace detail

RILL_CUDA_INLINE staging::~staging() {
  if (buffers_) on_.within([&] { return on_.driver().call().deallocate_host(buffers_); });
}

RILL_CUDA_INLINE bool staging::takes(void const* from, std::size_t bytes) const {
  address unused = 0;
  return bytes > detail::least_staged &&
         on_.driver().call().address_of_host(&unused, const_cast<void*>(from), 0) != status::success;
}

RILL_CUDA_INLINE bool staging::prepare() {
  void* made = nullptr;
  if (!buffers_ && on_.driver().call().allocate_host(&made, 2 * detail::staged_at_once, 0) == status::success)
    buffers_ = static_cast<std::byte*>(made);
  return buffers_ != nullptr;
}

RILL_CUDA_INLINE bool staging::write(void* to, void const* from, std::size_t bytes, stream_handle on) {
  std::lock_guard const lock(mutex_);
  if (!prepare()) return false;
  auto const& driver = on_.driver();
  auto const target = std::bit_cast<address>(to);
  auto const* const source = static_cast<std::byte const*>(from);
  unsigned which = 0;
  for (std::size_t at = 0; at < bytes; at += detail::staged_at_once, which ^= 1) {
    auto const n = std::min(detail::staged_at_once, bytes - at);
    auto* const buffer = buffers_ + which * detail::staged_at_once;
    driver(driver.call().wait_for_event, read_[which].get());  // also for an earlier call, which may have failed
    std::memcpy(buffer, source + at, n);
    driver(driver.call().copy_in, target + at, static_cast<void const*>(buffer), n, on);
    read_[which].record(on);
  }
  return true;
}

}  // namespace rill::cuda
#endif
