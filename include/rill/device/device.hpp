// What nodes run on: a memory, and streams of work on it (docs/architecture/devices.md).
#pragma once
#include <cstddef>
#include <string>
#include <unordered_map>

#include "rill/base/parallel.hpp"
#include "rill/device/stream.hpp"
#include "rill/tensor/allocator.hpp"

namespace rill {

class kernel;
struct kernel_request;
struct op_def;

/// How fast a device is; 0: not known, and placement takes it for as fast as the host.
struct device_speed {
  double flops = 0;         ///< operations in a second
  double memory_bytes = 0;  ///< bytes that it reads and writes in a second
  double link_bytes = 0;    ///< bytes in a second between the host's memory and its own
};

/// Makes the kernel of a node.
using kernel_factory = kernel (*)(kernel_request const&);

/// The kernels of a device type, by operation: a device of your own has one.
class kernel_table {
 public:
  /// Sets the kernel of an operation.
  void add(op_def const& op, kernel_factory make) { all_[&op] = make; }
  /// Returns the kernel of an operation; null: there is none.
  kernel_factory find(op_def const& op) const {
    auto const at = all_.find(&op);
    return at == all_.end() ? nullptr : at->second;
  }

 private:
  std::unordered_map<op_def const*, kernel_factory> all_;
};

/// A device of this process. Derive from it to let rill use other hardware; a session shares it. Kernels are called
/// within `stream_work::run` of its stream, with addresses in its memory.
class device {
 public:
  virtual ~device() = default;
  /// Returns type and number, "gpu:0".
  virtual std::string const& name() const noexcept = 0;
  /// Returns the memory of its values. An allocator whose `space` is null is the host's: then nothing is copied.
  virtual allocator& memory() noexcept = 0;
  /// Returns the bytes of its memory; 0: no limit is known.
  virtual std::size_t memory_limit() const noexcept { return 0; }
  virtual device_speed speed() const noexcept { return {}; }
  /// Returns the kernels of this type of device; null: it runs the CPU's.
  virtual kernel_table const* kernels() const noexcept { return nullptr; }
  /// Returns the threads that a kernel may use beside the one that calls it.
  virtual rill::parallel threads() noexcept { return {}; }
  /// Returns the stream of kernels.
  virtual stream& compute() noexcept = 0;
  /// Returns the streams of copies from the host and to it, which run beside kernels if they are others.
  virtual stream& copies_in() noexcept { return compute(); }
  virtual stream& copies_out() noexcept { return compute(); }

 protected:
  device() = default;
  device(device const&) = delete;
  device& operator=(device const&) = delete;
};

}  // namespace rill
