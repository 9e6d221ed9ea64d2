// Copies between a GPU and the host's ordinary memory. Of the host's memory a GPU reaches only what is page-locked, so
// these copies pass through buffers of that.
#pragma once
#include <cstddef>
#include <mutex>

#include "rill/cuda/card.hpp"

namespace rill::cuda {

/// A pair of page-locked buffers for copies one way: the host works on one while the GPU works on the other. They are
/// made when they are first needed.
class staging {
 public:
  explicit staging(card const& on) : on_(on), copied_{event_owner(on), event_owner(on)} {}
  staging(staging const&) = delete;
  staging& operator=(staging const&) = delete;
  ~staging();

  /// Whether a copy from or to memory of the host is better made here: it is large, and the memory is not page-locked.
  /// The card's context must be current.
  bool takes(void const* memory, std::size_t bytes) const;
  /// Puts copies to the GPU on a stream, and returns when `from` has been read. Returns false, and does nothing, if
  /// there is no page-locked memory. The card's context must be current.
  bool write(void* to, void const* from, std::size_t bytes, stream_handle on);
  /// Copies to the host in the same way, and returns when `to` has all bytes.
  bool read(void* to, void const* from, std::size_t bytes, stream_handle on);

 private:
  bool prepare();
  std::byte* buffer(unsigned which) const;
  void wait_for(unsigned which) const;

  card const& on_;
  std::mutex mutex_;  // guards the buffers
  std::byte* buffers_ = nullptr;
  event_owner copied_[2];  // when the GPU is done with each
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
// Smaller copies are left to the driver, which stages up to 64 KiB to the GPU itself, without waiting for the stream
// (CUDA C++ Programming Guide, "Asynchronous Concurrent Execution").
inline constexpr std::size_t least_staged = std::size_t{64} << 10;
}  // namespace detail

RILL_CUDA_INLINE staging::~staging() {
  if (buffers_) on_.within([&] { return on_.driver().call().deallocate_host(buffers_); });
}

RILL_CUDA_INLINE bool staging::takes(void const* memory, std::size_t bytes) const {
  address unused = 0;
  return bytes > detail::least_staged &&
         on_.driver().call().address_of_host(&unused, const_cast<void*>(memory), 0) != status::success;
}

RILL_CUDA_INLINE bool staging::prepare() {
  void* made = nullptr;
  if (!buffers_ && on_.driver().call().allocate_host(&made, 2 * detail::staged_at_once, 0) == status::success)
    buffers_ = static_cast<std::byte*>(made);
  return buffers_ != nullptr;
}

RILL_CUDA_INLINE std::byte* staging::buffer(unsigned which) const { return buffers_ + which * detail::staged_at_once; }
// Waits until the GPU is done with a buffer. An earlier call may have failed with copies still running.
RILL_CUDA_INLINE void staging::wait_for(unsigned which) const {
  on_.driver()(on_.driver().call().wait_for_event, copied_[which].get());
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
    wait_for(which);
    std::memcpy(buffer(which), source + at, n);
    driver(driver.call().copy_in, target + at, static_cast<void const*>(buffer(which)), n, on);
    copied_[which].record(on);
  }
  return true;
}

RILL_CUDA_INLINE bool staging::read(void* to, void const* from, std::size_t bytes, stream_handle on) {
  std::lock_guard const lock(mutex_);
  if (!prepare()) return false;
  auto const& driver = on_.driver();
  auto const source = std::bit_cast<address>(from);
  auto const take = [&](unsigned which, std::size_t at) {
    wait_for(which);
    std::memcpy(static_cast<std::byte*>(to) + at, buffer(which), std::min(detail::staged_at_once, bytes - at));
  };
  unsigned which = 0;
  std::size_t at = 0;
  for (; at < bytes; at += detail::staged_at_once, which ^= 1) {
    wait_for(which);
    driver(driver.call().copy_out, static_cast<void*>(buffer(which)), source + at,
           std::min(detail::staged_at_once, bytes - at), on);
    copied_[which].record(on);
    if (at != 0) take(which ^ 1, at - detail::staged_at_once);
  }
  take(which ^ 1, at - detail::staged_at_once);
  return true;
}

}  // namespace rill::cuda
#endif
