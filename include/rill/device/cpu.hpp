// The processor as devices: several in one process, each with threads of its own, as for the nodes of a NUMA machine.
#pragma once
#include <memory>
#include <string>
#include <utility>

#include "rill/base/pool.hpp"
#include "rill/device/device.hpp"
#include "rill/device/thread_stream.hpp"

namespace rill {

/// Threads of this machine as a device. Its values lie in the host's memory, so nothing is copied. A session's own
/// host is cpu:0; others run their nodes on a thread of their own and with a pool of their own.
class cpu_device final : public device {
 public:
  cpu_device(int threads, std::string name)
      : name_(std::move(name)),
        pool_(std::make_shared<rill::pool>(threads)),
        compute_(std::make_unique<thread_stream>()) {}

  std::string const& name() const noexcept override { return name_; }
  /// Returns its allocator, which counts what its nodes have.
  allocator& memory() noexcept override { return memory_; }
  rill::parallel threads() noexcept override { return pool_->parallel(); }
  stream& compute() noexcept override { return *compute_; }
  std::shared_ptr<rill::pool> const& pool() const noexcept { return pool_; }

 private:
  std::string name_;
  std::shared_ptr<rill::pool> pool_;
  host_memory memory_;
  std::unique_ptr<thread_stream> compute_;
};

/// Returns a device of `threads` threads, the caller's included: `rill::cpu(2)` is the session's host, `rill::cpu(2,
/// 1)` another device cpu:1.
inline std::shared_ptr<cpu_device> cpu(int threads, unsigned number = 0) {
  return std::make_shared<cpu_device>(threads, "cpu:" + std::to_string(number));
}

}  // namespace rill
