// What nodes run on: a memory, and streams of work on it (docs/architecture/devices.md).
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <unordered_map>

#include "rill/base/error.hpp"
#include "rill/base/parallel.hpp"
#include "rill/device/stream.hpp"
#include "rill/tensor/allocator.hpp"

namespace rill {

class kernel;
struct kernel_request;
struct node;
struct op_def;
struct type;

/// How fast a device is; 0: not known, and placement takes it for as fast as the host.
struct device_speed {
  double flops = 0;         ///< operations in a second
  double memory_bytes = 0;  ///< bytes that it reads and writes in a second
  double link_bytes = 0;    ///< bytes in a second between the host's memory and its own
};

/// Makes the kernel of a node.
using kernel_factory = kernel (*)(kernel_request const&);

/// Returns the factory of the kernel for a node with these input types; null: the device has no such kernel.
using kernel_rule = kernel_factory (*)(node const&, std::span<type const> inputs);

/// The kernels of a device type, by operation: a device of your own has one.
class kernel_table {
 public:
  kernel_table() = default;
  /// A table whose kernels depend on more than the operation: a rule chooses them, and `add` lists the operations
  /// that fusion may create.
  explicit kernel_table(kernel_rule chooses) : rule_(chooses) {}
  /// Sets the kernel of an operation.
  void add(op_def const& op, kernel_factory make) { all_[&op] = make; }
  /// Returns the kernel of an operation; null: there is none.
  kernel_factory find(op_def const& op) const {
    auto const at = all_.find(&op);
    return at == all_.end() ? nullptr : at->second;
  }
  /// Returns the rule; null: the operation alone decides.
  kernel_rule rule() const noexcept { return rule_; }

 private:
  kernel_rule rule_ = nullptr;
  std::unordered_map<op_def const*, kernel_factory> all_;
};

/// A device of this process. Derive from it to let rill use other hardware; a session shares it. Kernels are called
/// within `stream_work::run` of its stream, with addresses in its memory.
class device {
 public:
  virtual ~device() = default;
  /// Returns type and number, "gpu:0".
  virtual std::string const& name() const noexcept = 0;
  /// Returns why the device can't be used on this machine; null: it can. A session with soft placement does without it.
  virtual failure absence() const noexcept { return nullptr; }
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
