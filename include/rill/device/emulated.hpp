// A device that is emulated on the host: all that a real accelerator does to a program, without one.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "rill/device/device.hpp"
#include "rill/device/pooled_memory.hpp"
#include "rill/device/thread_stream.hpp"

namespace rill {

/// What an emulated accelerator can do. A speed of 0 is no limit: kernels and copies take no time of its clock.
struct emulated_options {
  double flops = 0;                           ///< operations in a second
  double memory_bandwidth = 0;                ///< bytes in a second between kernels and its memory
  double bandwidth = 0;                       ///< bytes in a second between the host and it, each way
  std::size_t memory = std::size_t{1} << 30;  ///< bytes
  bool paced = false;                         ///< work takes its time of the host's clock as well, or longer
  bool peers = false;                         ///< copies between devices with `peers` don't pass through the host
};

/// The seconds that the work of each stream has taken at the set speeds.
struct emulated_seconds {
  double compute = 0, copies_in = 0, copies_out = 0;
};

/// An accelerator that runs the CPU's kernels on a thread of its own, and copies on two more. Its memory has addresses
/// that no other thread can touch. Time is counted by a clock of its own, from the work and the set speeds, so that it
/// is the same on each machine. Bytes that are given back become 0xff, which is NaN for floating-point numbers, so that
/// a value that is read too late shows.
class emulated_accelerator final : public device {
 public:
  emulated_accelerator(std::string name, emulated_options const& options);
  ~emulated_accelerator() override;

  std::string const& name() const noexcept override { return name_; }
  pooled_memory& memory() noexcept override { return *memory_; }
  std::size_t memory_limit() const noexcept override { return options_.memory; }
  device_speed speed() const noexcept override {
    return {options_.flops, options_.memory_bandwidth, options_.bandwidth};
  }
  thread_stream& compute() noexcept override { return *compute_; }
  thread_stream& copies_in() noexcept override { return *in_; }
  thread_stream& copies_out() noexcept override { return *out_; }

  /// Returns its clocks: what the steps that have ended took of them.
  emulated_seconds seconds() const noexcept { return {compute_->seconds(), in_->seconds(), out_->seconds()}; }

  /// Loses the device: its work fails with error(unavailable) until `recover`.
  void lose();
  /// Loses it when the n-th piece of work from now on, 1 the next, begins on one of its streams: that stream.
  void lose_at(thread_stream& which, std::uint64_t n) { which.fail_at(n, lost(), true); }
  void recover();

 private:
  class space;
  failure lost() const { return failed({code::unavailable, cause::lost}, {"the device '", name_, "' was lost"}); }

  std::string name_;
  emulated_options options_;
  std::unique_ptr<space> space_;
  std::unique_ptr<pooled_memory> memory_;
  std::unique_ptr<thread_stream> compute_, in_, out_;
};

/// Returns an emulated accelerator: `rill::emulated("accelerator:0", {.memory = 256 << 20})`. Throws
/// error(resource_exhausted) if the host has no addresses for its memory.
inline std::shared_ptr<emulated_accelerator> emulated(std::string name, emulated_options const& options = {}) {
  return std::make_shared<emulated_accelerator>(std::move(name), options);
}

}  // namespace rill

#if RILL_RUNTIME
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace rill {

class emulated_accelerator::space final : public memory_space {
 public:
  space(std::string const& name, emulated_options const& options)
      : name_(name), bytes_(std::max<std::size_t>(options.memory, 1)), peers_(options.peers) {
    memory_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory_ == MAP_FAILED)
      throw error(code::resource_exhausted, "the host has no addresses for the " + std::to_string(bytes_) +
                                                " bytes of memory of the emulated device '" + name + "'");
  }
  ~space() { ::munmap(memory_, bytes_); }

  std::string_view name() const noexcept override { return name_; }
  void write(void* to, void const* from, std::size_t n) override { std::memcpy(valid(to), from, n); }
  void read(void* to, void const* from, std::size_t n) override { std::memcpy(to, valid(from), n); }
  void copy(void* to, void const* from, std::size_t n) override { std::memcpy(valid(to), valid(from), n); }
  bool is_peer(memory_space const& other) const noexcept override {
    auto const* const one = dynamic_cast<space const*>(&other);
    return one && peers_ && one->peers_;
  }
  void copy_from(memory_space& other, void* to, void const* from, std::size_t n) override {
    if (!is_peer(other)) return memory_space::copy_from(other, to, from, n);
    if (static_cast<space&>(other).is_lost_)
      throw error({code::unavailable, cause::lost}, "the device '" + std::string(other.name()) + "' was lost");
    copy(to, from, n);
  }
  void set_lost(bool lost) noexcept { is_lost_ = lost; }

  void* base() const noexcept {
    return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(memory_) | detail::untouchable);
  }
  detail::touchable_range range() const noexcept {
    auto const begin = reinterpret_cast<std::uintptr_t>(memory_);
    return {begin, begin + bytes_};
  }
  static void* valid(void const* p) noexcept {
    return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(p) & ~detail::untouchable);
  }

 private:
  std::string const& name_;
  std::size_t bytes_;
  bool peers_;
  std::atomic<bool> is_lost_{false};  // to peers
  void* memory_;
};

RILL_INLINE emulated_accelerator::emulated_accelerator(std::string name, emulated_options const& options) try
    : name_(std::move(name)),
      options_(options),
      space_(std::make_unique<space>(name_, options)),
      memory_(std::make_unique<pooled_memory>(space_->base(), options.memory, space_.get())),
      compute_(std::make_unique<thread_stream>(space_->range(), options.paced)),
      in_(std::make_unique<thread_stream>(space_->range(), options.paced)),
      out_(std::make_unique<thread_stream>(space_->range(), options.paced)) {
  memory_->set_on_release([](void* p, std::size_t bytes) noexcept { std::memset(space::valid(p), 0xff, bytes); });
} catch (...) {
  rethrow_as_error();
}
RILL_INLINE emulated_accelerator::~emulated_accelerator() = default;

RILL_INLINE void emulated_accelerator::lose() {
  space_->set_lost(true);
  for (auto* each : {compute_.get(), in_.get(), out_.get()}) each->fail(lost());
}
RILL_INLINE void emulated_accelerator::recover() {
  space_->set_lost(false);
  for (auto* each : {compute_.get(), in_.get(), out_.get()}) each->fail(nullptr);
}

}  // namespace rill
#endif
