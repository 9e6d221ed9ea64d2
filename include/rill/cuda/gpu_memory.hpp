// The memory of a GPU: a pool of the driver's as an allocator with a limit, and the copies from and to it.
#pragma once
#include <atomic>
#include <cstddef>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "rill/cuda/card.hpp"
#include "rill/cuda/staging.hpp"
#include "rill/tensor/allocator.hpp"

namespace rill::cuda {

/// Copies between a GPU's memory and that of the host or of other GPUs. Each returns when the bytes are there.
class gpu_space final : public memory_space {
 public:
  /// `name`: of the device, for errors; it must outlive this. `compute`: the stream of kernels.
  gpu_space(card const& on, std::string const& name, stream_handle compute)
      : on_(on),
        name_(name),
        compute_(compute),
        in_(on),
        out_(on),
        unlocked_(on),
        foreign_(on),
        staging_in_(on),
        staging_out_(on) {}

  std::string_view name() const noexcept override { return name_; }
  void write(void* to, void const* from, std::size_t bytes) override;
  void read(void* to, void const* from, std::size_t bytes) override;
  void copy(void* to, void const* from, std::size_t bytes) override;
  bool is_peer(memory_space const& other) const noexcept override;
  void copy_from(memory_space& other, void* to, void const* from, std::size_t bytes) override;

  /// Sets the pool that holds its tensors, before the first copy.
  void set_pool(pool_handle pool) noexcept { pool_ = pool; }
  card const& on() const noexcept { return on_; }
  /// Makes copies from now on wait for the kernels that have been launched: called before a variable is unlocked that
  /// they write or read. Kernels that are launched later come after them anyway. The card's context must be current.
  void order_after_kernels();
  /// Called when all kernels have ended: later copies need not wait.
  void kernels_are_done() noexcept { waits_.store(false, std::memory_order_release); }
  /// Makes a stream of another library wait for the kernels that have been launched.
  void order_after_kernels(stream_handle other);
  /// Makes kernels from now on, and copies, wait for what has been put on a stream of another library.
  void order_kernels_after(stream_handle other);
  /// Waits for the kernels that have been launched, unless the GPU is lost.
  void wait_for_kernels() noexcept;

 private:
  template <class F> void copy_on(stream_owner const& stream, F const& enqueue);
  void open_to(card const& other);

  card const& on_;
  std::string const& name_;
  stream_handle compute_;
  stream_owner in_, out_;
  event_owner unlocked_;
  event_owner foreign_;  // behind what other libraries' streams write here
  staging staging_in_, staging_out_;
  std::atomic<bool> waits_{false}, has_foreign_{false};
  pool_handle pool_ = nullptr;
  std::mutex mutex_;
  std::set<device_id> opened_to_;
};

/// A pool of the driver's with a limit. What is given back stays in the pool.
class gpu_memory final : public allocator {
 public:
  /// `compute`: the stream of kernels. Freed memory is reused only after the kernels already enqueued on it. `limit`:
  /// of the bytes that are asked for; the pool may hold more.
  gpu_memory(card const& on, gpu_space& space, stream_handle compute, std::size_t limit);
  ~gpu_memory();

  std::size_t limit() const noexcept { return limit_; }
  /// Gives what is free in the pool back to the driver.
  void trim();

 private:
  void* acquire(std::size_t bytes) noexcept override;
  void release(void* p, std::size_t bytes) noexcept override;
  /// Throws the driver's error if the thread's last request failed for another reason than lack of memory.
  std::string refusal(std::size_t bytes) const override;

  card const& on_;
  stream_handle compute_;
  stream_owner order_;  // allocations are made in its order
  std::size_t limit_;
  std::atomic<std::size_t> taken_{0};
  pool_handle pool_ = nullptr;
};

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <bit>
#include <cstdint>

namespace rill::cuda {

template <class F> void gpu_space::copy_on(stream_owner const& stream, F const& enqueue) {
  auto const current = on_.use();
  if (waits_.load(std::memory_order_acquire)) unlocked_.order_before(stream.get());
  enqueue(on_.driver(), stream.get());
  stream.wait();
}
RILL_CUDA_INLINE void gpu_space::write(void* to, void const* from, std::size_t bytes) {
  copy_on(in_, [&](driver const& d, stream_handle on) {
    if (staging_in_.takes(from, bytes) && staging_in_.write(to, from, bytes, on)) return;
    d(d.call().copy_in, std::bit_cast<address>(to), from, bytes, on);
  });
}
RILL_CUDA_INLINE void gpu_space::read(void* to, void const* from, std::size_t bytes) {
  copy_on(out_, [&](driver const& d, stream_handle on) {
    if (staging_out_.takes(to, bytes) && staging_out_.read(to, from, bytes, on)) return;
    d(d.call().copy_out, to, std::bit_cast<address>(from), bytes, on);
  });
}
RILL_CUDA_INLINE void gpu_space::copy(void* to, void const* from, std::size_t bytes) {
  copy_on(in_, [&](driver const& d, stream_handle on) {
    unlocked_.record(compute_);  // kernels may just be writing what is copied
    unlocked_.order_before(on);
    d(d.call().copy_within, std::bit_cast<address>(to), std::bit_cast<address>(from), bytes, on);
  });
}
RILL_CUDA_INLINE bool gpu_space::is_peer(memory_space const& other) const noexcept {
  auto const* const one = dynamic_cast<gpu_space const*>(&other);
  return one && one->on_.driver().call().copy_between.call == on_.driver().call().copy_between.call;  // one driver
}
RILL_CUDA_INLINE void gpu_space::copy_from(memory_space& other, void* to, void const* from, std::size_t bytes) {
  if (!is_peer(other)) return memory_space::copy_from(other, to, from, bytes);
  auto& source = static_cast<gpu_space&>(other);
  try {
    copy_on(in_, [&](driver const& d, stream_handle on) {
      source.open_to(on_);
      if (source.waits_.load(std::memory_order_acquire)) source.unlocked_.order_before(on);
      if (source.has_foreign_.load(std::memory_order_acquire)) source.foreign_.order_before(on);
      d(d.call().copy_between, std::bit_cast<address>(to), on_.its_context(), std::bit_cast<address>(from),
        source.on_.its_context(), bytes, on);
    });
  } catch (error const& e) {  // either GPU may be lost
    throw error(e.kind(), e.message() + ", in a copy from '" + source.name_ + "' to '" + name_ + "'");
  }
}
// Opens the pool to another GPU, if the machine allows that, so that copies can be direct. If it fails, the driver
// copies through the host.
RILL_CUDA_INLINE void gpu_space::open_to(card const& other) {
  if (other.id() == on_.id()) return;
  std::lock_guard const lock(mutex_);
  if (!opened_to_.insert(other.id()).second) return;
  auto const& call = on_.driver().call();
  int can = 0;
  if (call.can_access_peer(&can, other.id(), on_.id()) != status::success || can == 0) return;
  pool_access const access{{1, other.id()}, 3};
  call.set_pool_access(pool_, &access, 1);
}
RILL_CUDA_INLINE void gpu_space::order_after_kernels() {
  unlocked_.record(compute_);
  waits_.store(true, std::memory_order_release);
}

RILL_CUDA_INLINE void gpu_space::order_after_kernels(stream_handle other) {
  auto const current = on_.use();
  unlocked_.record(compute_);
  unlocked_.order_before(other);
}
RILL_CUDA_INLINE void gpu_space::order_kernels_after(stream_handle other) {
  auto const current = on_.use();
  event_owner const written(on_);
  written.record(other);
  for (auto const stream : {compute_, in_.get(), out_.get()}) written.order_before(stream);
  foreign_.record(out_.get());  // which waits for all of them
  has_foreign_.store(true, std::memory_order_release);
}
RILL_CUDA_INLINE void gpu_space::wait_for_kernels() noexcept {
  on_.within([&] { return on_.driver().call().wait_for_stream(compute_); });
}

RILL_CUDA_INLINE gpu_memory::gpu_memory(card const& on, gpu_space& space, stream_handle compute, std::size_t limit)
    : allocator(&space), on_(on), compute_(compute), order_(on), limit_(limit) {
  auto const& call = on.driver().call();
  auto const current = on.use();
  pool_properties properties{};
  properties.allocation_type = 1;
  properties.location = {1, on.id()};
  on.driver()(call.create_pool, &pool_, static_cast<pool_properties const*>(&properties));
  std::uint64_t kept = UINT64_MAX;
  if (auto const result = call.set_pool_attribute(pool_, pool_attribute::release_threshold, &kept);
      result != status::success) {
    call.destroy_pool(pool_);
    on.driver().check(result, call.set_pool_attribute.symbol);
  }
  space.set_pool(pool_);
}
RILL_CUDA_INLINE gpu_memory::~gpu_memory() {
  if (!on_.is_of_parent()) on_.driver().call().destroy_pool(pool_);  // a pool is of the GPU, not of the context
}

RILL_CUDA_INLINE void gpu_memory::trim() {
  auto const current = on_.use();
  on_.driver()(on_.driver().call().wait_for_stream, compute_);  // what is given back is freed in its order
  on_.driver()(on_.driver().call().trim_pool, pool_, std::size_t{0});
}

namespace detail {
// What the driver said to the request of this thread that failed last.
inline status& last_refusal() noexcept {
  static thread_local constinit status last = status::success;
  return last;
}
}  // namespace detail

// The host waits for the request, so every stream may use the bytes at once. The request waits for the kernels before a
// release whose bytes it gets; it waits for nothing if the pool has others.
RILL_CUDA_INLINE void* gpu_memory::acquire(std::size_t bytes) noexcept {
  auto const& call = on_.driver().call();
  auto& last = detail::last_refusal();
  last = status::success;
  if (auto const before = taken_.fetch_add(bytes); bytes > limit_ || before > limit_ - bytes) {
    taken_ -= bytes;
    return nullptr;
  }
  address made = 0;
  last = on_.within([&] {
    auto const take = [&] { return call.allocate(&made, bytes, pool_, order_.get()); };
    auto result = take();
    if (result == status::out_of_memory && call.wait_for_stream(compute_) == status::success &&
        call.trim_pool(pool_, 0) == status::success)
      result = take();
    if (result != status::success) return result;
    result = call.wait_for_stream(order_.get());
    if (result != status::success) call.deallocate(made, order_.get());
    return result;
  });
  if (last == status::success) return std::bit_cast<void*>(made);
  taken_ -= bytes;
  return nullptr;
}

RILL_CUDA_INLINE void gpu_memory::release(void* p, std::size_t bytes) noexcept {
  on_.within([&] { return on_.driver().call().deallocate(std::bit_cast<address>(p), compute_); });
  taken_ -= bytes;
}

RILL_CUDA_INLINE std::string gpu_memory::refusal(std::size_t bytes) const {
  on_.expect_own_process();
  auto const last = detail::last_refusal();
  if (last != status::success && last != status::out_of_memory)
    on_.driver().check(last, on_.driver().call().allocate.symbol);
  return "no room for a buffer of " + std::to_string(bytes) + " bytes in the memory of '" +
         std::string(space()->name()) + "': " + std::to_string(usage().current) + " of " + std::to_string(limit_) +
         " bytes are in use" +
         (last == status::success ? "" : ", and the GPU is out of memory: other processes may be using it");
}

}  // namespace rill::cuda
#endif
