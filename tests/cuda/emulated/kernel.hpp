// Kernels of the emulated driver: objects that the host's compiler made of texts, and launches of what they hold.
#pragma once
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "failure.hpp"
#include "memory.hpp"
#include "text/interface.hpp"

namespace rill::emulated {

/// A loaded object, until its last user is gone.
class kernel_object {
 public:
  /// Throws failure{invalid_image}.
  explicit kernel_object(std::string const& path);
  kernel_object(kernel_object const&) = delete;
  ~kernel_object();

  /// Returns the kernel of that name, or null.
  kernel_entry const* find(std::string const& name) const;
  thread_state& state() const { return *interface_->state; }
  /// While it is locked, no other launch runs kernels of the object.
  std::mutex& running() const { return *running_; }
  /// The shared memory of its kernels.
  std::span<std::byte> shared_memory() const { return shared_memory_; }

 private:
  void* library_;
  object_interface const* interface_;
  std::shared_ptr<std::mutex> running_;
  std::span<std::byte> shared_memory_;
};

/// A launch with copies of its arguments.
class kernel_launch {
 public:
  /// Throws failure if the extents are not those that a device runs.
  kernel_launch(std::shared_ptr<kernel_object const> object, kernel_entry const& kernel, extent blocks, extent threads,
                std::size_t shared_bytes, void* const* arguments);

  /// Runs all threads in the order of `seed`. Throws kernel_fault.
  void run(device_memory const& memory, unsigned long long seed) const;
  char const* name() const { return kernel_.name; }

 private:
  void run_loop(kernel_thread& now, unsigned long long seed) const;
  /// Where threads may wait for each other.
  void run_fibers(kernel_thread& now, unsigned long long seed) const;

  struct alignas(64) piece {
    std::byte bytes[64];
  };

  std::shared_ptr<kernel_object const> object_;
  kernel_entry const& kernel_;
  extent blocks_, threads_;
  std::vector<piece> values_;
  std::vector<void*> arguments_;
};

/// The seed of the order of blocks and threads: 0 ascending, 1 descending, else random.
unsigned long long order_seed();
void set_order_seed(unsigned long long seed);

}  // namespace rill::emulated
